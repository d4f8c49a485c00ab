"""The artefact: it round-trips to the bit, needs no jax, and refuses what is not a constraint."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from small_data import box_task, discrete_task

import oracles
from icrl.config import Activation
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import Layer, init_params
from icrl.constraint.saved import CARD, TENSORS
from icrl.errors import InputError


def make(
    activation: Activation = Activation.tanh, names: tuple[str, ...] | None = ("y", "push")
) -> LearnedConstraint:
    features = select_features(box_task(("x", "y"), ("push",), bound=0.3), names, 20.0)
    return LearnedConstraint(
        features=features,
        params=init_params(np.random.default_rng(3), features.num_features, (5, 4)),
        activation=activation,
        threshold=0.4,
        card={"method": "icrl", "task": "point", "seed": 3, "versions": {"icrl": "0.1.0"}},
    )


OBSERVATIONS = np.random.default_rng(0).normal(0, 5, (7, 2))
ACTIONS = np.random.default_rng(1).uniform(-1, 1, (7, 1))


def test_feasibility_equals_the_slow_twin() -> None:
    constraint = make()
    pairs = zip(OBSERVATIONS, ACTIONS, strict=True)
    inputs = [oracles.extract(constraint.features, s, a) for s, a in pairs]
    slow = np.exp(
        [oracles.log_sigmoid(oracles.logit(constraint.params, x, Activation.tanh)) for x in inputs]
    )
    zeta = constraint.feasibility(OBSERVATIONS, ACTIONS)
    np.testing.assert_allclose(zeta, slow, rtol=1e-5)
    np.testing.assert_allclose(constraint.cost(OBSERVATIONS, ACTIONS), 1 - zeta)
    np.testing.assert_array_equal(constraint.is_feasible(OBSERVATIONS, ACTIONS), zeta >= 0.4)


def test_feasibility_stays_strictly_between_zero_and_one() -> None:
    flat = Layer(np.zeros((2, 1), np.float32), np.array([0.0], np.float32))
    for bias, side in ((5000.0, 1.0), (-5000.0, 0.0)):
        steep = replace(make(), params=(flat._replace(bias=np.array([bias], np.float32)),))
        zeta = steep.feasibility(OBSERVATIONS, ACTIONS)
        assert np.all((zeta > 0) & (zeta < 1))
        np.testing.assert_allclose(zeta, side, atol=1e-15)


@pytest.mark.parametrize("activation", list(Activation))
def test_round_trip_to_the_bit(tmp_path: Path, activation: Activation) -> None:
    constraint = make(activation)
    constraint.save(tmp_path / "deep" / "constraint")
    loaded = load_constraint(tmp_path / "deep" / "constraint")
    for mine, theirs in zip(constraint.params, loaded.params, strict=True):
        assert mine.weight.tobytes() == theirs.weight.tobytes()
        assert mine.bias.tobytes() == theirs.bias.tobytes()
    assert loaded.features == constraint.features
    assert (loaded.activation, loaded.threshold, loaded.card) == (activation, 0.4, constraint.card)
    np.testing.assert_array_equal(
        loaded.logits(OBSERVATIONS, ACTIONS), constraint.logits(OBSERVATIONS, ACTIONS)
    )
    loaded.save(tmp_path / "again")
    for name in (TENSORS, CARD):
        assert (tmp_path / "again" / name).read_bytes() == (
            tmp_path / "deep" / "constraint" / name
        ).read_bytes()
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == [CARD, TENSORS]


def test_saving_over_an_older_constraint_replaces_it(tmp_path: Path) -> None:
    make().save(tmp_path)
    replace(make(), threshold=0.6).save(tmp_path)
    assert load_constraint(tmp_path).threshold == 0.6


def test_neither_loading_nor_calling_imports_jax(tmp_path: Path) -> None:
    make().save(tmp_path)
    code = (
        "import sys; import numpy as np; from icrl.constraint.learned import load_constraint\n"
        f"zeta = load_constraint({str(tmp_path)!r}).feasibility(np.ones((3, 2)), np.zeros((3, "
        "1)))\n"
        "assert zeta.shape == (3,)\n"
        "heavy = {'jax', 'jaxlib', 'optax', 'mujoco', 'matplotlib', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_saved_constraint_is_used_where_no_simulator_is_installed(tmp_path: Path) -> None:
    constraint = make()
    constraint.save(tmp_path)
    code = (
        "import sys\n"
        "for name in ('gymnasium', 'jax', 'mujoco'): sys.modules[name] = None  # importing one of "
        "them raises\n"
        "import numpy as np, icrl\n"
        f"constraint = icrl.load_constraint({str(tmp_path)!r})\n"
        "observations, actions = np.ones((3, 2)), np.zeros((3, 1))\n"
        "zeta, cost = constraint.feasibility(observations, actions), constraint.cost(observations, "
        "actions)\n"
        "assert np.array_equal(cost, 1 - zeta) and constraint.is_feasible(observations, "
        "actions).shape == (3,)\n"
        "icrl.Shield(constraint=constraint).first_feasible(observations[0], actions)\n"
        "print(float(zeta[0]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == constraint.feasibility(np.ones(2), np.zeros(1))


def test_where_it_cannot_be_saved_is_said(tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("in the way")
    for place in ("afile", "afile/x"):
        with pytest.raises(InputError, match=r"cannot create the folder .*afile.*: .+"):
            make().save(tmp_path / place)


def test_for_task_judges_the_same_features_elsewhere() -> None:
    constraint = make(names=("y", "x"))
    other = constraint.for_task(discrete_task(("speed", "x", "y"), ("left", "right")))
    moved = np.concatenate([np.full((7, 1), 99.0), OBSERVATIONS], axis=1)
    np.testing.assert_array_equal(
        other.feasibility(moved, np.zeros(7, int)), constraint.feasibility(OBSERVATIONS, ACTIONS)
    )
    with pytest.raises(InputError, match="looks at y, which task 'flat' does not have"):
        constraint.for_task(box_task(("x",), ("push",), name="flat"))


def test_wrong_calls_are_refused_with_the_numbers() -> None:
    constraint = make()
    with pytest.raises(
        InputError,
        match=r"observations \[..., 2\] and actions \[..., 1\].* got \[7, 3\] and \[7, 1\]",
    ):
        constraint.feasibility(np.zeros((7, 3)), ACTIONS)
    with pytest.raises(InputError, match=r"got \[7, 2\] and \[6, 1\]"):
        constraint.feasibility(OBSERVATIONS, ACTIONS[:6])
    with pytest.raises(InputError, match="cannot judge NaN: found it in y"):
        constraint.feasibility(np.array([np.nan, np.nan]), np.zeros(1))
    features = select_features(discrete_task(("x",), ("left", "right")), None, 20.0)
    chooser = replace(
        constraint, features=features, params=init_params(np.random.default_rng(0), 3, (2,))
    )
    with pytest.raises(InputError, match=r"actions in 0..1, got 0..2"):
        chooser.feasibility(np.zeros((2, 1)), np.array([0, 2]))
    with pytest.raises(InputError, match=r"integer actions in 0..1, got dtype float64"):
        chooser.feasibility(np.zeros((2, 1)), np.zeros(2))


def test_inconsistent_constraints_cannot_be_built() -> None:
    constraint = make()
    first, second, last = constraint.params
    with pytest.raises(InputError, match=r"layer 0 .* weight \[5, 4\] .* expected \[2, n\]"):
        replace(constraint, params=(second, last))
    with pytest.raises(InputError, match="must end in 1 logit, got 4"):
        replace(constraint, params=(first, second))
    with pytest.raises(InputError, match=r"layer 1 .* not finite"):
        replace(
            constraint, params=(first, second._replace(bias=np.full(4, np.nan, np.float32)), last)
        )
    with pytest.raises(InputError, match="float32"):
        replace(constraint, params=(first, second, last._replace(bias=np.zeros(1))))
    with pytest.raises(InputError, match=r"threshold must be in \(0, 1\), got 1.0"):
        replace(constraint, threshold=1.0)
    with pytest.raises(InputError, match="holds what JSON cannot"):
        replace(constraint, card={"seed": object()}).save("never-written")
    assert not Path("never-written").exists()


@pytest.mark.parametrize("name", [TENSORS, CARD])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    make().save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=rf"cannot read .*{name}"):
        load_constraint(tmp_path)


@pytest.mark.parametrize("name", [TENSORS, CARD])
@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1, 2]", b"PK\x03\x04 a zip", b"\xff" * 100, b'{"definition": 3}']
)
def test_foreign_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    make().save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        load_constraint(tmp_path)


def test_a_card_of_another_format_or_other_sizes_is_refused(tmp_path: Path) -> None:
    make().save(tmp_path)
    text = (tmp_path / CARD).read_text()
    card = json.loads(text)
    card["definition"]["format"] = "other-9"
    (tmp_path / CARD).write_text(json.dumps(card))
    with pytest.raises(InputError, match="expected format 'icrl-constraint-1', got 'other-9'"):
        load_constraint(tmp_path)
    card = json.loads(text)
    card["definition"]["layer_sizes"] = [2, 6, 4, 1]
    (tmp_path / CARD).write_text(json.dumps(card))
    with pytest.raises(
        InputError, match=r"sizes \[2, 6, 4, 1\], the file holds weights of shapes \[\[2, 5\]"
    ):
        load_constraint(tmp_path)


def test_files_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    make().save(tmp_path)
    tensors = load_file(tmp_path / TENSORS)
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, tmp_path / TENSORS)
    with pytest.raises(InputError, match="do not belong together"):
        load_constraint(tmp_path)


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    make().save(tmp_path)
    tensors = load_file(tmp_path / TENSORS)
    tensors["layer1.bias"][0] = np.inf
    save_file(tensors, tmp_path / TENSORS)
    with pytest.raises(
        InputError, match="layer 1 of the constraint holds values that are not finite"
    ):
        load_constraint(tmp_path)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_damage_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """One flipped bit or a cut anywhere in either file:
    an `InputError`, or the same function as before."""
    directory = tmp_path_factory.mktemp("damaged")
    constraint = make()
    constraint.save(directory)
    path = directory / data.draw(st.sampled_from([TENSORS, CARD]))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del content[place:]
    path.write_bytes(bytes(content))
    try:
        loaded = load_constraint(directory)
    except InputError:
        return
    assert loaded.features == constraint.features
    assert loaded.threshold == constraint.threshold
    np.testing.assert_array_equal(
        loaded.logits(OBSERVATIONS, ACTIONS), constraint.logits(OBSERVATIONS, ACTIONS)
    )
