"""The ONNX graph says what NumPy says, from the raw pair on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from icrl.cli import main
from icrl.config import Activation
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer, init_params
from icrl.constraint.region import Region, RegionAxis
from icrl.constraint.table import Table
from icrl.interop.onnx_export import export_onnx

RNG = np.random.default_rng(7)


def features(columns: tuple[int, ...], discrete: bool) -> Features:
    names = ("x", "y", "z", "left", "none", "right")
    return Features(
        names=tuple(names[c] for c in columns),
        columns=columns,
        lower=tuple(-0.5 - 0.1 * c for c in columns),
        upper=tuple(0.7 + 0.1 * c for c in columns),
        num_observations=3,
        num_actions=3,
        discrete=discrete,
    )


def network(
    columns: tuple[int, ...], discrete: bool, activation: Activation, hidden: tuple[int, ...]
) -> LearnedConstraint:
    selected = features(columns, discrete)
    params = init_params(np.random.default_rng(3), len(columns), hidden)
    # steep, so that ζ is near 0 and near 1 too
    steep = tuple(Layer(layer.weight * np.float32(6), layer.bias) for layer in params)
    return LearnedConstraint(
        features=selected, params=steep, activation=activation, card={"seed": 3}
    )


def pairs(discrete: bool, count: int = 500) -> tuple[np.ndarray, np.ndarray]:
    observations = RNG.normal(0, 2, (count, 3)).astype(np.float32)
    actions = (
        RNG.integers(0, 3, count) if discrete else RNG.normal(0, 1, (count, 3)).astype(np.float32)
    )
    return observations, actions


def run(path: Path, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (zeta,) = session.run(["feasibility"], {"observation": observations, "action": actions})
    return np.asarray(zeta)


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize(
    ("columns", "hidden"),
    [((0, 1, 2, 3, 4, 5), (20,)), ((5, 0, 3), (8, 8)), ((1,), (4,)), ((0, 1, 2), (3,))],
    ids=["everything", "a few in another order", "one observation", "no action"],
)
def test_a_network_equals_numpy(
    tmp_path: Path,
    activation: Activation,
    discrete: bool,
    columns: tuple[int, ...],
    hidden: tuple[int, ...],
) -> None:
    constraint = network(columns, discrete, activation, hidden)
    observations, actions = pairs(discrete)
    zeta = run(export_onnx(constraint, tmp_path / "c.onnx"), observations, actions)
    expected = constraint.feasibility(observations, actions)
    assert np.ptp(expected) > 0.2
    np.testing.assert_allclose(zeta, expected, atol=1e-5)
    one = run(tmp_path / "c.onnx", observations[:1], actions[:1])
    np.testing.assert_allclose(one, expected[:1], atol=1e-5)


def test_values_far_outside_are_clipped_as_in_numpy(tmp_path: Path) -> None:
    constraint = network((0, 1, 2, 3), False, Activation.tanh, (5,))
    observations = np.array([[np.inf, -np.inf, 3e38], [-1e30, 0.0, -3e38]], np.float32)
    actions = np.array([[1e20, 0, 0], [-np.inf, 0, 0]], np.float32)
    zeta = run(export_onnx(constraint, tmp_path / "c.onnx"), observations, actions)
    np.testing.assert_allclose(zeta, constraint.feasibility(observations, actions), atol=1e-5)


@pytest.mark.parametrize(
    "columns", [(0, 2, 3, 4, 5), (1, 0)], ids=["with the action", "places alone"]
)
def test_a_table_equals_numpy(tmp_path: Path, columns: tuple[int, ...]) -> None:
    num_actions = 3 if len(columns) == 5 else 1
    table = Table(
        rows=RNG.uniform(-0.6, 0.8, (11, 2)).astype(np.float32),
        feasibility=RNG.uniform(0.01, 0.99, (11, num_actions)).astype(np.float32),
    )
    wide = replace(
        features(columns, True), lower=(-1.0,) * len(columns), upper=(1.0,) * len(columns)
    )
    constraint = LearnedConstraint(features=wide, table=table)
    observations, actions = pairs(True)
    zeta = run(export_onnx(constraint, tmp_path / "c.onnx"), observations, actions)
    np.testing.assert_allclose(zeta, constraint.feasibility(observations, actions), atol=1e-5)
    assert len(np.unique(zeta)) > 5


def test_the_verb_writes_a_model_that_says_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    constraint = network((0, 1), True, Activation.tanh, (4,))
    constraint.save(tmp_path / "run" / "constraint")
    main(["export", str(tmp_path / "run"), "--out", str(tmp_path / "made" / "c.onnx")])
    assert "c.onnx" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["c.onnx"]
    main(["export", str(tmp_path / "run")])  # where other verbs write: into the run
    assert (tmp_path / "run" / "constraint.onnx").read_bytes() == (
        tmp_path / "made" / "c.onnx"
    ).read_bytes()
    model = onnx.load(tmp_path / "made" / "c.onnx")
    props = {prop.key: prop.value for prop in model.metadata_props}
    assert json.loads(props["features"]) == ["x", "y"]
    assert json.loads(props["provenance"]) == {"seed": 3}
    assert float(props["threshold"]) == 0.5
    observations, actions = pairs(True, 20)
    expected = constraint.feasibility(observations, actions)
    np.testing.assert_allclose(
        run(tmp_path / "made" / "c.onnx", observations, actions), expected, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["one", "two", "three", "choices"])
def test_a_region_says_what_numpy_says(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(5)
    columns = {"one": (1,), "two": (0, 2), "three": (0, 1, 2), "choices": (0, 3, 4, 5)}[kind]
    axes = [
        RegionAxis(columns=(i,), nodes=np.cumsum(rng.uniform(0.1, 1.0, 7)) - 2)
        for i in range(len(columns))
    ]
    if kind == "choices":  # a number, and one of three choices of a discrete action
        axes = [axes[0], RegionAxis(columns=(1, 2, 3), nodes=np.arange(3.0))]
    shape = tuple(len(axis.nodes) for axis in axes)
    region = Region(
        axes=tuple(axes), depth=rng.uniform(0, 2, shape).astype(np.float32), evidence_depth=2.0
    )
    wide = replace(
        features(columns, kind == "choices"),
        lower=(-1e6,) * len(columns),
        upper=(1e6,) * len(columns),
    )
    constraint = LearnedConstraint(features=wide, region=region)
    path = export_onnx(constraint, tmp_path / "region.onnx")
    observations, actions = pairs(kind == "choices")
    expected = constraint.feasibility(observations, actions)
    np.testing.assert_allclose(run(path, observations, actions), expected, atol=2e-4)
