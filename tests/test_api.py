"""`icrl.run`, `evaluate`, `explain`, `suite`:
what the command line does, with results, progress and callbacks."""

import json
import subprocess
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import icrl
from icrl.experiment.suite.suite import Entry, Suite
from icrl.experiment.suite.suite_file import read_suite
from small_runs import TINY


class Corridor(gym.Env):
    """Walk right or left; x pays."""

    observation_space = gym.spaces.Box(-10, 10, (1,))
    action_space = gym.spaces.Box(-1, 1, (1,))
    feature_names = ("x",)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-0.1, 0.1))
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x = float(np.clip(self.x + float(action[0]), -10, 10))
        return np.array([self.x], np.float32), self.x, False, False, {}


def beyond_two(observations, actions):
    return observations[:, 0] > 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on an environment of one's own, from a table with columns of one's own."""
    folder = tmp_path_factory.mktemp("api")
    rows = ["flight,pos,push,gain"]
    for flight in range(4):
        rows += [
            f"{flight},{min(0.2 * step, 1.9)},0.2,{min(0.2 * step, 1.9)}" for step in range(20)
        ]
    (folder / "logs.csv").write_text("\n".join(rows) + "\n")
    task = icrl.task_from_env(Corridor, name="my-corridor", horizon=20, feature_names=("x",))
    columns = icrl.ColumnMapping(
        observations=("pos",), actions=("push",), episode="flight", reward="gain"
    )
    result = icrl.run(
        task,
        folder / "run",
        demos=folder / "logs.csv",
        columns=columns,
        config=TINY,
        episodes=3,
        progress=False,
    )
    return folder, result


def test_a_run_of_ones_own_environment_returns_agent_constraint_scores(made):
    folder, result = made
    assert result.scores.true_return is None
    assert result.scores.expert_return == pytest.approx(
        np.minimum(0.2 * np.arange(20), 1.9).sum(), rel=1e-5
    )
    assert result.constraint.features.names == ("x", "action[0]")
    assert result.policy is not None
    assert [line["round"] for line in result.metrics] == [0, 1, 2]
    config = json.loads((folder / "run" / "config.json").read_text())
    assert (config["task"], config["columns"]["episode"]) == ("my-corridor", "flight")
    assert (folder / "run" / "constraint.png").exists()
    assert "<html" in (folder / "run" / "report.html").read_text()


def test_progress_is_shown_unless_it_is_not_wanted(tmp_path, capsys):
    icrl.run(
        "lap-grid", tmp_path / "quiet", method="nominal", config=TINY, episodes=3, progress=False
    )
    assert capsys.readouterr().out == ""
    icrl.run("lap-grid", tmp_path / "shown", method="nominal", config=TINY, episodes=3)
    shown = capsys.readouterr().out
    assert "nominal on lap-grid, seed 0" in shown
    assert "round 2/2" in shown


def test_evaluate_takes_the_result_itself_and_a_truth_as_a_function(made, capsys):
    folder, result = made
    told = []
    found = icrl.evaluate(
        result,
        episodes=4,
        truth=beyond_two,
        progress=False,
        on_progress=lambda *words: told.append(words),
    )
    assert capsys.readouterr().out == ""
    assert found.verdict.text in ("trust it", "with care", "do not trust it")
    assert found.played.num_trajectories == 4
    assert found.truth.violation_rate == pytest.approx(beyond_two_share(found.played))
    # read with the columns that the run remembers
    assert found.demos.trajectories.num_trajectories == 4
    assert found.details["trust"]["verdict"] == found.verdict.text
    assert (
        json.loads((folder / "run" / "evaluation.json").read_text())["violation_rate"]
        == found.truth.violation_rate
    )
    assert ("playing 4 episodes", 1, 1) in told


def beyond_two_share(played):
    steps = np.arange(played.observations.shape[1]) < played.lengths[:, None]
    return float((played.observations[..., 0] > 2)[steps].mean())


def test_explain_reads_a_run_by_its_path_with_the_columns_it_remembers(made, tmp_path):
    folder, result = made
    reading = icrl.explain(result, progress=False, picture=tmp_path / "slices.png")
    assert (tmp_path / "slices.png").read_bytes().startswith(b"\x89PNG")
    assert reading.judged.names == ("x", "action[0]")
    (folder / "explain.json").unlink(missing_ok=True)
    # the environment is gone: read as they are
    by_path = icrl.explain(folder / "run", progress=False)
    assert str(by_path.rule) == str(reading.rule)
    assert (folder / "run" / "explain.json").exists()
    more = folder / "more.csv"
    more.write_text((folder / "logs.csv").read_text())
    assert icrl.explain(folder / "run", demos=more, progress=False).judged.names == (
        "x",
        "action[0]",
    )


def test_explain_with_demonstrations_of_the_usual_names_where_the_run_had_others(made, tmp_path):
    folder, _ = made
    text = (
        (folder / "logs.csv")
        .read_text()
        .replace("flight,pos,push,gain", "episode,obs_0,action_0,reward")
    )
    (tmp_path / "usual.csv").write_text(text)
    assert (
        icrl.explain(folder / "run", demos=tmp_path / "usual.csv", progress=False).judged.names[0]
        == "x"
    )
    (tmp_path / "strange.csv").write_text(text.replace("obs_0", "altitude"))
    with pytest.raises(icrl.InputError, match="unknown column 'flight'"):
        icrl.explain(folder / "run", demos=tmp_path / "strange.csv", progress=False)


def test_explain_refuses_what_is_no_picture_before_it_reads(made):
    _, result = made
    with pytest.raises(icrl.InputError, match=r"\.png"):
        icrl.explain(result, picture="slices.txt", progress=False)


def test_rooms_with_the_name_of_a_function_do_not_hide_it():
    code = """
import icrl.evaluate, icrl.explain.reading, icrl
from icrl.evaluate import judge
print(icrl.evaluate.__module__, icrl.explain.__module__, judge.__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["icrl.api.evaluating", "icrl.api.explaining", "icrl.evaluate"]


SUITE = """
name = "mine"
purpose = "two rows"
seeds = 2
episodes = 3

[[entries]]
label = "nominal"
task = "lap-grid"
method = "nominal"
[entries.settings]
scouts = 0
steps = 912
num_samples = 2
forward = {steps = 512, num_envs = 4, rollout_steps = 64, minibatch = 64}

[[entries]]
label = "ours"
task = "lap-grid"
seeds = 1
episodes = 7
settings = {scouts = 0, steps = 912}
"""


def test_a_suite_is_a_file(tmp_path):
    (tmp_path / "mine.toml").write_text(SUITE)
    suite = read_suite(tmp_path / "mine.toml")
    assert (suite.name, suite.purpose) == ("mine", "two rows")
    first, second = suite.entries
    assert (first.label, first.method, first.seeds, first.episodes) == ("nominal", "nominal", 2, 3)
    assert (second.seeds, second.episodes) == (1, 7)
    before = icrl.preset("default", "lap-grid")
    wanted = replace(before.forward, steps=512, num_envs=4, rollout_steps=64, minibatch=64)
    assert first.change(before) == replace(
        before, scouts=0, steps=912, num_samples=2, forward=wanted
    )


def test_a_suite_of_logs_whose_files_are_episodes(tmp_path):
    columns = 'columns = {observations = ["a"], actions = ["c"], episode = "none"}'
    (tmp_path / "mine.toml").write_text(f"[[entries]]\nlabel='x'\ntask='lap-grid'\n{columns}\n")
    (entry,) = read_suite(tmp_path / "mine.toml").entries
    assert entry.columns == icrl.ColumnMapping(observations=("a",), actions=("c",), episode=None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("purpose", "purpos", "did you mean 'purpose'"),
        ('label = "ours"', 'labell = "ours"', "did you mean 'label'"),
        ("num_samples", "num_sample", "did you mean 'num_samples'"),
        ('task = "lap-grid"\nseeds', "seeds", "entry 2 has no task"),
        ("episodes = 7", "episodes = 0", "entry 2: episodes is 0"),
        ("seeds = 2", 'seeds = "two"', "seeds is 'two'"),
        ('label = "ours"', 'label = "nominal"', "different labels"),
        ("[[entries]]", "[[rows]]", "did you mean"),
        ("name =", "name", "cannot be read as TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path, old, new, message):
    (tmp_path / "mine.toml").write_text(SUITE.replace(old, new))
    with pytest.raises(icrl.InputError, match=r"mine\.toml") as caught:
        read_suite(tmp_path / "mine.toml")
    assert message in str(caught.value)
    with pytest.raises(icrl.InputError, match="there is no such file: expected a suite"):
        icrl.suite(tmp_path / "none.toml", tmp_path / "out")


class Stops(icrl.SuiteCallback):
    """Looks on, and ends the suite after the first run."""

    def __init__(self):
        self.seen = []

    def on_start(self, directories):
        self.seen.append(("start", [path.name for path in directories]))

    def on_run_start(self, directory):
        self.seen.append(("run start", directory.name))

    def on_run_end(self, directory, scores):
        self.seen.append(("run end", directory.name, scores["true_return"]))
        raise icrl.StopRun

    def on_end(self, result):
        self.seen.append(("end", result.finished))


def test_a_suite_returns_scores_and_takes_callbacks(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SUITE)
    stops = Stops()
    first = icrl.suite(
        tmp_path / "mine.toml", tmp_path / "out", only=["nominal"], jobs=1, callbacks=[stops]
    )
    assert first.finished == ["nominal-seed0"]
    assert stops.seen == [
        ("start", ["nominal-seed0", "nominal-seed1"]),
        ("run start", "nominal-seed0"),
        ("run end", "nominal-seed0", first.scores[0]["true_return"]),
        ("end", ["nominal-seed0"]),
    ]
    assert "finished  nominal-seed0" in capsys.readouterr().out
    entry = Entry(label="nominal", task="lap-grid", method="nominal", seeds=1, episodes=3)
    suite = Suite(
        name="mine",
        purpose="two rows",
        entries=(replace(entry, change=lambda _: config_of(first)),),
    )
    again = icrl.suite(suite, tmp_path / "out", progress=False)
    assert (again.skipped, again.finished, again.failed) == (["nominal-seed0"], [], [])
    assert [scores["seed"] for scores in again.scores] == [0]
    assert capsys.readouterr().out == ""


def config_of(result):
    """The settings of the runs of a suite."""
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.experiment.directory.spec import spec_from_json

    return spec_from_json(RunDirectory(result.directory / "nominal-seed0").config()).config
