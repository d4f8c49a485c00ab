"""From a user's environment and logs to a run that can be evaluated,
pictured and read, without any truth."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_world import COLUMNS, HORIZON, write_world

from icrl.cli import main
from icrl.constraint.learned import load_constraint
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.inputs import demos_of_run, scenario_of_run
from small_runs import TINY_FLAGS

LEARN = ["--demos", "logs", "--horizon", str(HORIZON), "--steps", "1300", *COLUMNS, *TINY_FLAGS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the user works: module, logs, and one finished run, `run`."""
    folder = tmp_path_factory.mktemp("user")
    write_world(folder)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.setattr(sys, "path", [place for place in sys.path if place])
    main(["learn", "corridor:make_env", "--out", "run", *LEARN])
    patch.undo()
    yield folder
    sys.modules.pop("corridor", None)


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    return folder


def said(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_a_run_without_truth_is_whole_and_says_nothing_of_the_truth(folder):
    run = RunDirectory(folder / "run")
    files = {path.name for path in (folder / "run").iterdir()}
    assert {
        "config.json",
        "metrics.jsonl",
        "scores.json",
        "policy.safetensors",
        "constraint",
        "constraint.png",
    } <= files
    assert len(run.metrics()) == 2
    assert not [name for row in run.metrics() for name in row if name.startswith("truth/")]
    scores = run.scores()
    assert (scores["true_return"], scores["violation_rate"], scores["violating_episodes"]) == (
        None,
        None,
        None,
    )
    assert scores["scenario"] == "corridor:make_env"
    assert scores["expert_return"] > 0
    assert 0 <= scores["constraint"]["agent_steps_forbidden"] <= 1
    assert "auc" not in scores["constraint"]
    assert load_constraint(folder / "run" / "constraint").features.names == (
        "x",
        "speed",
        "action[0]",
    )


def test_the_run_remembers_how_its_environment_and_logs_were_described(here):
    config = RunDirectory(here / "run").config()
    scenario = scenario_of_run(config, allow_import=True)
    assert (scenario.task.horizon, scenario.task.observation_names) == (HORIZON, ("x", "speed"))
    demos = demos_of_run(config, scenario)
    assert demos.trajectories.observations.shape == (4, HORIZON, 2)
    assert demos.has_rewards


def test_the_summary_compares_with_the_demonstrations(here, capsys):
    main(["learn", "corridor:make_env", "--method", "nominal", "--out", "nominal", *LEARN])
    text = said(capsys)
    assert "corridor:make_env: 2 observations, 1 action, horizon 30" in text
    assert "nominal (this run)" in text
    assert "demonstrations" in text
    assert "The true constraint is not known here" in text
    assert "true return" not in text


def test_evaluate_without_and_with_a_truth(here, capsys):
    main(["evaluate", "run", "--episodes", "3", "--allow-import"])
    text = said(capsys)
    assert "this run (3 episodes)" in text
    assert "--truth module:function" in text
    assert "violation_rate" not in json.loads((here / "run" / "evaluation.json").read_text())
    main(
        [
            "evaluate",
            "run",
            "--episodes",
            "3",
            "--truth",
            "corridor:beyond_two",
            "--task",
            "corridor:make_env",
        ]
    )
    text = said(capsys)
    assert "True constraint: as corridor:beyond_two says" in text
    assert 0 <= json.loads((here / "run" / "evaluation.json").read_text())["violation_rate"] <= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["evaluate", "run", "--allow-import", "--truth", "corridor:beyond_three"],
            "unknown function of corridor",
        ),
        (
            ["evaluate", "run", "--allow-import", "--truth", "corridor:not_booleans"],
            "expected as many booleans",
        ),
        (["learn", "corridor:make_env", "--demos", "logs", *COLUMNS], "give --horizon"),
        (
            ["learn", "corridor:make_env", "--horizon", "30", *COLUMNS],
            "give some with --demos PATH",
        ),
        (
            ["learn", "corridor:make_env", "--horizon", "30", "--demos", "logs"],
            "no column is called episode",
        ),
        (
            ["learn", "corridor:make_env", "--columns.reward", "gain"],
            "needs both --columns.observations",
        ),
        (["learn", "corridor:no_such"], "unknown function of corridor 'no_such'"),
        (["learn", "lap-grid", "--horizon", "9"], "lap-grid is a task of ours"),
        (
            ["learn", "corridor:make_env", "--method", "expert", *LEARN],
            "true constraint, which is not known",
        ),
        (
            ["collect", "Pendulum-v1", "--out", "p.npz"],
            "true constraint, which is not known for Pendulum-v1",
        ),
        (
            ["demos", "converted"],
            "unknown verb of 'icrl demos' 'converted': did you mean 'convert'",
        ),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(here, capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_report_says_what_there_is_to_say_without_a_truth(here, capsys):
    main(["report", "run", "--out", "page"])
    assert "Wrote page/index.html" in said(capsys)
    table = (here / "page" / "table.md").read_text()
    assert "| demonstrated steps judged infeasible |" in table
    assert "true return" not in table
    assert "The true constraint is not known here" in table
    with (here / "page" / "corridor-make_env-seeds.csv").open() as file:
        (row,) = csv.DictReader(file)
    scores = RunDirectory(here / "run").scores()
    assert float(row["return"]) == pytest.approx(scores["nominal_return"], abs=0.06)


def test_render_where_the_environment_can_be_pictured(here, capsys):
    main(["render", "run", "--steps", "4", "--allow-import"])
    assert "Wrote run/policy.webp" in said(capsys)
    with pytest.raises(SystemExit):
        main(["render", "run", "--steps", "4", "--task", "corridor:make_plain"])
    assert "cannot be pictured: its render_mode is None" in capsys.readouterr().err


def test_demos_check_and_convert_with_columns(here, capsys):
    main(
        [
            "demos",
            "check",
            "logs",
            "--task",
            "corridor:make_env",
            "--horizon",
            str(HORIZON),
            *COLUMNS,
        ]
    )
    text = said(capsys)
    assert "episodes 4, steps 120" in text
    assert "speed" in text
    main(["demos", "convert", "logs", "all.npz", *COLUMNS])
    assert "Wrote 4 episodes, 120 steps to all.npz" in said(capsys)
    main(["demos", "check", "all.npz", "--task", "corridor:make_env", "--horizon", str(HORIZON)])
    assert "episodes 4, steps 120" in said(capsys)


def alive(folder):
    """Processes that made environments in this folder, and still run."""
    found = []
    for note in folder.glob("process-*"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(note.name.removeprefix("process-")), 0)
            found.append(note.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_environments_end_with_the_run_also_in_the_middle_of_a_step(tmp_path, number):
    write_world(tmp_path)
    # processes that take a minute for a step, and do not look at their pipe meanwhile
    with (tmp_path / "corridor.py").open("a") as file:
        file.write(STUCK)
    words = ["learn", "corridor:make_stuck", "--processes", "3", "--out", "run", *LEARN]
    process = subprocess.Popen(
        [sys.executable, "-m", "icrl", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    for _ in range(6000):
        if len(list(tmp_path.glob("stuck-*"))) == 3:
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    stuck = [int(note.name.removeprefix("stuck-")) for note in tmp_path.glob("stuck-*")]
    assert len(stuck) == 3
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (143 if number == signal.SIGTERM else -number)
    for _ in range(500):
        if not [each for each in stuck if is_alive(each)]:
            break
        time.sleep(0.02)
    assert [each for each in stuck if is_alive(each)] == []


STUCK = """
import sys

class Stuck(Corridor):
    def step(self, action):
        if "icrl.tasks.env_worker" in " ".join(sys.orig_argv):
            Path(f"stuck-{os.getpid()}").touch()
            time.sleep(60)
        return super().step(action)


def make_stuck():
    return Stuck()
"""


def is_alive(process_id):
    """Not gone, and not a process that ended and that nobody has asked about."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process_id}/status").read_text()
    except FileNotFoundError:
        return False


def test_ctrl_c_leaves_no_process_and_no_traceback(tmp_path):
    write_world(tmp_path)
    code = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from icrl.cli import main\nmain()"
    )
    words = [
        "learn",
        "corridor:make_slow",
        "--processes",
        "2",
        "--out",
        "run",
        *LEARN,
        "--steps",
        "50000000",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(6000):
        # learn tries one environment itself, and has two processes with the others
        if len(alive(tmp_path)) >= 3:
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    assert len(alive(tmp_path)) >= 3
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted after" in errors
    assert alive(tmp_path) == []
