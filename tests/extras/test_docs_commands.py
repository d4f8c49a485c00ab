"""Every `icrl` command on the pages of the documentation runs, made small:
fewer steps, episodes and trials.

What stands as `runs/...` or RUN is filled in, what stands in brackets is left out. The files that
the pages speak of lie in the folder: logs, a module, a space, a suite. The pages' own examples of
such files are read too.
"""

import csv
import re
import shlex
import shutil
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from icrl.cli import main
from icrl.experiment.directory.config_file import read_config
from icrl.experiment.suite.suite_file import read_suite
from icrl.experiment.suite.sweep_space import read_space
from small_runs import TINY_FLAGS

ROOT = Path(__file__).parents[2]
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
STEPS = 3200
"""Two rounds of training and two sampled episodes of 500 steps."""
MODULE = """
import gymnasium as gym
import numpy as np

class Corridor(gym.Env):
    feature_names = ("x",)
    observation_space = gym.spaces.Box(-10, 10, (1,))
    action_space = gym.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-0.5, 0.5))
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.3 * float(action[0]), -10, 10))
        return np.array([self.x], np.float32), self.x, False, False, {}

def make_env():
    return gym.wrappers.TimeLimit(Corridor(), 30)
"""
RULES = "def forbidden(observations, actions):\n    return observations[:, 0] > 2\n"
SPACE = """
scouts = 0
steps = 3200
num_samples = 2
[forward]
steps = 512
num_envs = 4
rollout_steps = 64
minibatch = 64
learning_rate = {low = 1e-5, high = 1e-3, log = true}
"""
SUITE = """
name = "my-suite"
seeds = 1
episodes = 3
[[entries]]
label = "nominal"
task = "lap-grid"
method = "nominal"
[entries.settings]
scouts = 0
steps = 3200
num_samples = 2
forward = {steps = 512, num_envs = 4, rollout_steps = 64, minibatch = 64}
"""


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL
    )


def commands(page):
    """The words of every `icrl` command of a page; `> FILE` stays as two words."""
    lines = [
        line
        for language in ("", "bash")
        for block in blocks(page, language)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    written = [
        re.sub(r"\[--[^\]]*\]", "", line.strip())
        for line in lines
        if line.strip().startswith("icrl ")
    ]
    return [shlex.split(line, comments=True)[1:] for line in written]


FOUND = {page.relative_to(ROOT / "docs").as_posix(): commands(page) for page in PAGES}


def record(env_id, target, episodes=3):
    """Logs of somebody who acts by chance."""
    env = gym.make(env_id)
    rows = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        env.action_space.seed(episode)
        over = False
        while not over:
            action = env.action_space.sample()
            following, reward, terminated, truncated, _ = env.step(action)
            rows.append([episode, *observation.tolist(), *action.tolist(), float(reward)])
            observation = following
            over = terminated or truncated
    width = len(rows[0]) - 3
    with target.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["episode", *(f"obs_{i}" for i in range(width)), "action_0", "reward"], *rows]
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a reader works: what the pages speak of is there, and one finished run."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "my_package").mkdir()
    (folder / "my_package" / "__init__.py").touch()
    (folder / "my_package" / "my_module.py").write_text(MODULE)
    (folder / "my_package" / "rules.py").write_text(RULES)
    (folder / "logs").mkdir()
    rows = [
        [episode, min(0.2 * step, 1.9), 0.2, min(0.2 * step, 1.9)]
        for episode in range(4)
        for step in range(30)
    ]
    with (folder / "logs" / "all.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["episode", "obs_x", "action_0", "reward"], *rows])
    record("Pendulum-v1", folder / "logs.csv")
    (folder / "space.toml").write_text(SPACE)
    (folder / "my-suite.toml").write_text(SUITE)
    shutil.copytree(ROOT / "examples" / "data", folder / "examples" / "data")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.setattr(sys, "path", [place for place in sys.path if place])
    main(
        small(["learn", "my_package.my_module:make_env", "--demos", "logs/", "--out", "runs/mine"])
    )
    main(small(["learn", "lap-grid"]))
    shutil.copytree(
        folder / "runs" / "lap-grid-icrl-default-seed0", folder / "runs" / "lap-grid" / "icrl-seed0"
    )
    yield folder
    patch.undo()
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        sys.modules.pop(name)


def without(words, flag):
    """The words without a flag and its value."""
    if flag not in words:
        return words
    place = words.index(flag)
    return [*words[:place], *words[place + 2 :]]


def small(words):
    """The same command with less to do."""
    verb = words[0]
    if verb == "learn":
        return [*without(words, "--steps"), *TINY_FLAGS, "--steps", str(STEPS)]
    if verb == "transfer":
        own = [flag for flag in TINY_FLAGS if not flag.startswith(("--backward", "--scouts"))]
        return [*words, *own, "--steps", str(STEPS)]
    if verb == "evaluate":
        return [*words, "--episodes", "3"]
    if verb == "sweep":
        return [*without(without(words, "--trials"), "--seeds"), "--trials", "1", "--episodes", "2"]
    if verb == "suite":
        return [*words, "--seeds", "1"]
    return words


def filled_in(words):
    """What a page leaves to the reader."""
    mine = "runs/mine"
    words = [mine if word in ("runs/...", "RUN") else word for word in words]
    if mine in words and words[0] == "evaluate" and "--task" not in words:
        words = [*words, "--task", "my_package.my_module:make_env"]
    return words


@pytest.mark.parametrize("page", [page for page, found in FOUND.items() if found])
def test_the_commands_of_a_page_run(page, folder, capsys):
    shutil.rmtree(folder / "runs" / "lap-grid-icrl-default-seed1", ignore_errors=True)
    for number, words in enumerate(FOUND[page]):
        if (
            words[0] in ("bench", "paper")
            or "--engine" in words
            or any(word.startswith("benchmarks/spaces") for word in words)
            or (words[0] == "suite" and not words[1].endswith(".toml"))
        ):
            # minutes of measuring, which has tests of its own; a cluster; a hundred runs;
            # spaces and results of this repository, which have tests of their own
            continue
        target = None
        if ">" in words:
            target = folder / words[-1]
            words = words[: words.index(">")]
        ready = small(filled_in(words))
        if (
            words[0] in ("learn", "transfer")
            and "--out" not in words
            and "--print-config" not in words
        ):
            name = {"learn": "learned", "transfer": "point-transfer-icrl-default-seed0"}[words[0]]
            shutil.rmtree(folder / "runs" / name, ignore_errors=True)
            if "Pendulum-v1" in words:
                name = "Pendulum-v1-icrl-default-seed0"
            ready += ["--out", f"runs/{name}"]
        capsys.readouterr()
        ended = None
        try:
            main(ready)
        except SystemExit as end:
            ended = end
        told = f"{page}, command {number + 1}: icrl {shlex.join(words)}\n"
        said = capsys.readouterr()
        assert ended is None, f"{told}{ended!r} {said.err}"
        if target is not None:
            target.write_text(said.out)


def test_commands_are_found():
    assert sum(len(found) for found in FOUND.values()) > 25
    assert ["explain", "RUN"] in FOUND["explain.md"]


def test_the_files_that_pages_show_are_read(tmp_path):
    (tmp_path / "my-suite.toml").write_text(blocks(ROOT / "docs" / "suites.md", "toml")[0])
    suite = read_suite(tmp_path / "my-suite.toml")
    assert [(entry.label, entry.seeds) for entry in suite.entries] == [
        ("ours", 5),
        ("ours-long", 3),
        ("classifier", 5),
    ]
    (tmp_path / "space.toml").write_text(blocks(ROOT / "docs" / "sweep.md", "toml")[0])
    assert {"forward.learning_rate", "forward.epochs", "scouts"} == {
        dimension.name for dimension in read_space(tmp_path / "space.toml").dimensions
    }
    (tmp_path / "my.toml").write_text(blocks(ROOT / "docs" / "settings.md", "toml")[0])
    assert read_config(tmp_path / "my.toml").settings["caution"] == 1.0
