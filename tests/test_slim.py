"""`icrl` without the extra 'learn': a constraint is used and read;
whatever needs more names the extra.

The packages of the extra are hidden from a process of its own, as if they had never been installed.
The built wheel in really clean environments: `make test-wheels`.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from icrl.demos.dataset import shipped_demos
from icrl.errors import LEARN, MissingExtra, naming_the_extra
from icrl.experiment.run.one_run import run_learning
from icrl.tasks.lap_grid import lap_grid
from small_runs import Quiet, lap_demos, tiny_spec

HIDE = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(LEARN)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def slim(code, *words, folder):
    command = [sys.executable, "-c", HIDE + code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def icrl(*words, folder):
    return slim("from icrl.cli import main; main()", *words, folder=folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("slim") / "run"
    run_learning(tiny_spec(), lap_grid(), lap_demos(), directory, Quiet())
    return directory


def test_the_hidden_packages_are_those_of_the_extra():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

    def names(requirements):
        return {text.split(">")[0].split("[")[0] for text in requirements}

    learn = names(project["optional-dependencies"]["learn"])
    assert learn - names(project["dependencies"]) == set(LEARN.values())


def test_a_constraint_is_used_without_the_extra(run):
    code = """
import gymnasium as gym, numpy as np, icrl
constraint = icrl.load_constraint(sys.argv[1])

class World(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)
    feature_names = ("cell", "clockwise", "anticlockwise")
    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}
    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, False, {}

env = icrl.CostInInfo(World(), constraint)
env.reset()
print(env.step(1)[-1]["cost"] == constraint.cost(np.zeros(1, np.float32), 1))
shield = icrl.Shield(constraint=constraint)
cell = np.zeros(1, np.float32)
best = max((0, 1), key=lambda action: constraint.feasibility(cell, action))
print(shield.most_feasible(cell, [0, 1]).action == best, icrl.make_task("lap-grid").name)
"""
    done = slim(code, run / "constraint", folder=run)
    assert done.stderr == ""
    assert done.stdout.split() == ["True", "True", "lap-grid"]


@pytest.mark.parametrize("name", ["learn_constraint", "run"])
def test_python_names_the_extra(name, tmp_path):
    code = f"""
import icrl
try:
    icrl.{name}
except ImportError as error:
    print(error)
"""
    assert "pip install 'icrl[learn]'" in slim(code, folder=tmp_path).stdout


@pytest.mark.parametrize(
    "words",
    [
        ["learn", "lap-grid"],
        ["learn", "half-cheetah-wall"],
        ["suite", "lap-grid"],
        ["sweep", "lap-grid", "--space", "space.toml"],
        ["collect", "lap-grid", "--out", "demos.npz"],
    ],
)
def test_a_verb_names_the_extra_and_leaves_nothing(words, tmp_path):
    done = icrl(*words, folder=tmp_path)
    assert done.returncode == 2
    assert "pip install 'icrl[learn]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_verbs_that_only_read_work(run, tmp_path):
    assert icrl("--help", folder=tmp_path).returncode == 0
    assert icrl("learn", "--help", folder=tmp_path).returncode == 0
    checked = icrl(
        "demos", "check", shipped_demos("lap-grid.npz"), "--task", "lap-grid", folder=tmp_path
    )
    assert checked.returncode == 0, checked.stderr
    exported = icrl("export", run, "--out", tmp_path / "constraint.onnx", folder=tmp_path)
    assert "icrl[learn]" not in exported.stderr  # it may ask for the extra 'onnx', for no other
    explained = icrl("explain", run, folder=tmp_path)
    assert explained.returncode == 0, explained.stderr
    assert "There is no picture" in " ".join(explained.stdout.split())
    assert (run / "explain.json").exists()


def test_what_is_no_extra_of_ours_stays_what_it_is():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), naming_the_extra():
        raise ModuleNotFoundError("No module named 'no_such_module'", name="no_such_module")
    with pytest.raises(MissingExtra, match="this needs pillow"), naming_the_extra():
        raise ModuleNotFoundError("No module named 'PIL.Image'", name="PIL.Image")
