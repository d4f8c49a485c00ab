"""The spaces that ship: what the paper leaves open, and as much of the others."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from icrl.experiment.suite.sweep import trial_runs
from icrl.experiment.suite.sweep_space import read_space
from icrl.methods.registry import preset
from icrl.report.paper.printed import TABLE_1
from icrl.rounds import num_rounds
from icrl.tasks.registry import make_scenario

SPACES = Path(__file__).parents[3] / "benchmarks" / "spaces"
USES = [
    ("paper-lap-grid", "lap-grid", "icrl", "paper"),
    ("paper-half-cheetah", "half-cheetah-wall", "icrl", "paper"),
    ("baselines-lap-grid", "lap-grid", "binary-classifier", "default"),
    ("baselines-lap-grid", "lap-grid", "gail-constraint", "default"),
    ("baselines-half-cheetah", "half-cheetah-wall", "binary-classifier", "default"),
    ("baselines-half-cheetah", "half-cheetah-wall", "gail-constraint", "default"),
    ("ours-lap-grid", "lap-grid", "icrl", "default"),
]


@pytest.mark.parametrize(("name", "task", "method", "settings"), USES)
def test_every_choice_fits_its_preset(name, task, method, settings):
    space = read_space(SPACES / f"{name}.toml")
    base = preset(settings, task, method)
    for dimension in space.dimensions:
        for choice in dimension.choices:
            config = space.config_of(base, {dimension.name: choice})
            assert num_rounds(make_scenario(task).task, config) >= 5


@pytest.mark.parametrize(("name", "task", "method", "settings"), USES)
def test_every_space_holds_what_its_preset_has(name, task, method, settings):
    base = preset(settings, task, method)
    for dimension in read_space(SPACES / f"{name}.toml").dimensions:
        assert dimension.holding(base) is not None, (dimension.name, dimension.value_of(base))


def test_the_budgets_of_choices_are_alike():
    sizes = {path.stem: len(read_space(path).dimensions) for path in SPACES.glob("*.toml")}
    assert sizes == dict.fromkeys({use[0] for use in USES}, 9)


@pytest.mark.parametrize("name", ["paper", "baselines"])
def test_a_body_has_the_choices_of_lap_grid_with_rounds_of_its_own(name):
    grid = read_space(SPACES / f"{name}-lap-grid.toml").settings()
    body = read_space(SPACES / f"{name}-half-cheetah.toml").settings()
    assert list(grid) == list(body)
    assert {setting for setting in grid if grid[setting] != body[setting]} == {"forward.steps"}
    assert body["forward.steps"] == [51_200, 102_400, 204_800]


@pytest.mark.parametrize("name", ["paper-lap-grid", "paper-half-cheetah"])
def test_what_the_papers_table_says_is_not_swept(name):
    swept = {dimension.name for dimension in read_space(SPACES / f"{name}.toml").dimensions}
    said = {path for path, _ in TABLE_1.values()}
    # of the limit only whether 2.5 nats can be of a step
    assert swept & said == {"backward.max_kl_new_old"}


def test_runs_of_a_trial_begin_with_the_first_seed():
    sweep = SimpleNamespace(directory=Path("out"), first_seed=100, seeds=2)
    assert trial_runs(sweep, 7) == {
        100: Path("out/trial-0007/seed-100"),
        101: Path("out/trial-0007/seed-101"),
    }
