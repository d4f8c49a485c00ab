"""The command line as a person meets it: instant help,
clear refusals with exit code 2, whole runs."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from icrl.cli import main
from icrl.demos.dataset import shipped_demos
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.tasks.registry import SCENARIOS
from small_runs import ROUND, TINY_FLAGS

LAP = str(shipped_demos("lap-grid.npz"))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_help_is_light():
    code = (
        "import sys; from icrl.cli import main; main(['--help']); print(sorted({'jax', "
        "'matplotlib', 'mujoco', 'tyro', 'numpy', 'rich', 'gymnasium', 'pandas', 'wandb', "
        "'tensorboard', 'optuna', 'torch', 'onnx', 'minari', 'pyarrow', 'IPython'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "icrl learn TASK" in done.stdout


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"]])
def test_help_names_every_verb(words, capsys):
    from icrl.cli import VERBS

    main(words)
    said = capsys.readouterr().out
    assert all(f"icrl {verb}" in said for verb in VERBS)


@pytest.mark.parametrize("words", [["--help"], ["learn", "--help"], ["tasks"]])
def test_whoever_reads_only_the_beginning_sees_no_traceback(words):
    # as after `| head`: nobody is left to read
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "icrl", *words]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode in (1, 128 + signal.SIGPIPE)  # 1: Rich's own answer


def test_version(capsys):
    main(["--version"])
    assert re.fullmatch(r"icrl \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_unknown_names_suggest_the_nearest(refused):
    assert "unknown verb 'lern': did you mean 'learn'" in refused("lern")
    assert "unknown task 'lap-gird': did you mean 'lap-grid'" in refused("learn", "lap-gird")
    assert "unknown task 'piont': did you mean 'point'" in refused("learn", "--seed", "1", "piont")
    assert "unknown task 'ant-wal': did you mean 'ant-wall'" in refused(
        "collect", "ant-wal", "--out", "x.npz"
    )
    assert "unknown preset 'papr': did you mean 'paper'" in refused(
        "learn", "lap-grid", "--preset", "papr"
    )
    assert "unknown method 'icl': did you mean 'icrl'" in refused(
        "learn", "lap-grid", "--method", "icl"
    )
    assert "did you mean 'cell'" in refused("learn", "lap-grid", "--features", "cel")
    assert "did you mean 'check'" in refused("demos", "chek", LAP)


def test_a_refused_run_leaves_no_directory(refused, tmp_path):
    assert "steps = 100 is too few" in refused("learn", "lap-grid", "--steps", "100")
    assert "seed = -1" in refused("learn", "lap-grid", "--seed", "-1")
    assert "episodes = 0" in refused("learn", "lap-grid", "--episodes", "0")
    assert "steps = 0" in refused("learn", "lap-grid", "--steps", "0")
    assert "forward.gamma = 2.0" in refused("learn", "lap-grid", "--forward.gamma", "2")
    assert "backward.updates = -1" in refused("learn", "lap-grid", "--backward.updates", "-1")
    assert "--bogus" in refused("learn", "lap-grid", "--bogus", "1")
    assert "no demonstrations ship with ant-broken" in refused("learn", "ant-broken")
    assert list(tmp_path.iterdir()) == []


def lap_arrays(**changes):
    arrays = {
        "observations": np.linspace(-1, 1, 40, dtype=np.float32).reshape(1, 40, 1),
        "actions": np.ones((1, 40), np.int64),
        "rewards": np.zeros((1, 40), np.float32),
        "lengths": np.array([40]),
    }
    return {**arrays, **changes}


def with_nan():
    observations = lap_arrays()["observations"].copy()
    observations[0, 7, 0] = np.nan
    return observations


BAD_DEMOS = {
    "empty": (
        {
            "observations": np.zeros((0, 40, 1), np.float32),
            "actions": np.zeros((0, 40), np.int64),
            "rewards": np.zeros((0, 40), np.float32),
            "lengths": np.zeros(0, np.int64),
        },
        "at least 1",
    ),
    "nan": ({"observations": with_nan()}, "step 7"),
    "wide": ({"observations": np.zeros((1, 40, 3), np.float32)}, "3 columns"),
    "outside": ({"actions": np.full((1, 40), 5)}, "outside the action space"),
    "floats": ({"actions": np.full((1, 40, 2), 0.5, np.float32)}, "continuous"),
    "long": (
        {
            "observations": np.zeros((1, 300, 1), np.float32),
            "actions": np.ones((1, 300), np.int64),
            "rewards": np.zeros((1, 300), np.float32),
            "lengths": np.array([300]),
        },
        "ends after 200",
    ),
}


@pytest.mark.parametrize("name", BAD_DEMOS)
def test_bad_demonstrations_are_refused_by_name(refused, tmp_path, name):
    changes, word = BAD_DEMOS[name]
    path = tmp_path / f"{name}.npz"
    np.savez(path, **lap_arrays(**changes))
    said = refused("learn", "lap-grid", "--demos", str(path))
    assert f"{name}.npz" in said
    assert word in said
    assert [p.name for p in tmp_path.iterdir()] == [f"{name}.npz"]


def test_files_that_hold_no_demonstrations_are_refused_by_name(refused, tmp_path):
    whole = shipped_demos("lap-grid.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "foreign.npz").write_text("this is no archive")
    (tmp_path / "nothing.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    (tmp_path / "notes.docx").write_text("no")
    for name in ("cut.npz", "foreign.npz", "nothing.npz", "other.npz", "notes.docx", "missing.npz"):
        assert name in refused("learn", "lap-grid", "--demos", name)
        assert name in refused("demos", "check", name)


def test_demos_check_describes_the_shipped_file(capsys):
    main(["demos", "check", LAP, "--task", "lap-grid"])
    said = capsys.readouterr().out
    assert "episodes 1, steps 200" in said
    assert "cell" in said


def test_demos_check_ends_with_1_when_the_demos_do_not_fit_the_task(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["demos", "check", LAP, "--task", "point"])
    assert caught.value.code == 1
    assert "columns" in capsys.readouterr().out


def test_tasks_lists_every_task(capsys):
    main(["tasks"])
    said = capsys.readouterr().out
    assert all(name in said for name in SCENARIOS)
    assert "shipped" in said


def test_a_name_that_must_be_typed_is_never_cut(capsys, monkeypatch):
    for width in ("60", "80"):
        monkeypatch.setenv("COLUMNS", width)
        main(["tasks"])
        said = capsys.readouterr().out
        assert all(name in said for name in SCENARIOS)
        assert max(len(line) for line in said.splitlines()) <= int(width)


def test_a_run_cut_short_says_that_its_score_may_say_little(tmp_path, capsys):
    main(["learn", "lap-grid", "--steps", "1824", "--out", str(tmp_path / "run"), *TINY_FLAGS])
    said = capsys.readouterr().out
    assert "This run had 1,824 of the 120,000 steps of its preset" in said
    assert f"Open {tmp_path / 'run' / 'report.html'} in a browser" in said
    main(["evaluate", str(tmp_path / "run"), "--episodes", "2"])
    assert "playing 2 episodes ..." in capsys.readouterr().out
    words = ["--constraint", str(tmp_path / "run"), "--out", str(tmp_path / "other")]
    flags = [flag for flag in TINY_FLAGS if flag.startswith(("--forward", "--num", "--episodes"))]
    main(["transfer", "lap-grid", "--steps", "1824", *words, *flags])
    assert "This run had 1,824 of the 120,000 steps of its preset" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_does_not_spoil_the_run(tmp_path, capsys, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("icrl.report.page.write_page", full)
    monkeypatch.setattr("icrl.report.animation.draw_frames", full)
    main(["learn", "lap-grid", "--steps", "1824", "--out", str(tmp_path / "run"), *TINY_FLAGS])
    said = capsys.readouterr().out
    assert "No report.html (OSError: [Errno 28] No space left on device)." in said
    assert "No animation of the agent (OSError" in said
    assert (tmp_path / "run" / "scores.json").exists()


def test_help_of_a_task_shows_its_own_settings(capsys):
    for words, steps in (
        (["point"], "1500000"),
        (["--seed", "1"], "120000"),
        (["--preset=paper"], "120000"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["learn", *words, "--help"])
        assert caught.value.code == 0
        assert steps in capsys.readouterr().out


def test_the_task_may_stand_anywhere_on_the_line():
    from icrl.methods.registry import preset
    from icrl.verbs.learn import parse

    for words in (
        ["point", "--seed", "3"],
        ["--seed", "3", "point"],
        ["--preset", "paper", "point"],
    ):
        args = parse(words)
        assert args.task == "point"
        assert args.config == preset(args.preset, "point")
    assert parse(["--seed", "3", "point", "--steps", "77"]).config.steps == 77


@pytest.mark.parametrize(("task", "envs"), [("Walker2d-v5", 64), ("Pendulum-v1", 32)])
def test_flags_change_the_settings_that_suit_a_task_of_the_users_own(capsys, task, envs):
    main(["learn", task, "--forward.epochs", "3", "--print-config"])
    said = capsys.readouterr().out
    assert f"num_envs = {envs}" in said
    assert "epochs = 3" in said


def test_learn_then_evaluate(capsys, refused, tmp_path):
    main(["learn", "lap-grid", "--steps", str(2 * ROUND), "--out", "run", *TINY_FLAGS])
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0] == "icrl on lap-grid, seed 0"
    assert [line.split()[1] for line in lines if line.startswith("round")] == ["1/2", "2/2"]
    assert "icrl (this run)" in said
    assert "expert (knows the constraint)" in said
    assert "nominal (no constraint)" in said
    assert (tmp_path / "run" / "constraint.png").read_bytes().startswith(b"\x89PNG")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert "already holds a run: nothing was overwritten" in refused(
        "learn", "lap-grid", "--out", "run"
    )
    assert {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    } == before

    main(["evaluate", "run", "--episodes", "5"])
    assert "this run (5 episodes)" in capsys.readouterr().out
    content = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert content["episodes"] == 5
    assert 0 <= content["violation_rate"] <= 1

    policy = tmp_path / "run" / "policy.safetensors"
    policy.write_bytes(policy.read_bytes()[:300])
    assert "policy.safetensors is not a policy" in refused("evaluate", "run")
    policy.unlink()
    assert "policy.safetensors does not exist" in refused("evaluate", "run")


def test_evaluate_wants_a_run_directory(refused, tmp_path):
    assert "nothere/config.json does not exist" in refused("evaluate", "nothere")
    (tmp_path / "config.json").write_text('{"task": 3}')
    assert "task is 3, expected str" in refused("evaluate", ".")
    (tmp_path / "config.json").write_text("{}")
    assert "names no task" in refused("evaluate", ".")
    assert "episodes = 0" in refused("evaluate", ".", "--episodes", "0")


def test_a_run_can_be_judged_after_its_demonstrations_have_moved(capsys, tmp_path):
    (tmp_path / "mine.npz").write_bytes(shipped_demos("lap-grid.npz").read_bytes())
    main(["learn", "--demos", "mine.npz", "--steps", str(ROUND), "--out", "run", *TINY_FLAGS])
    # as it is found from any folder
    assert RunDirectory(tmp_path / "run").config()["demos"] == str(tmp_path / "mine.npz")
    (tmp_path / "mine.npz").unlink()
    main(["evaluate", "run", "--episodes", "2"])
    assert "this run (2 episodes)" in capsys.readouterr().out


def test_collect_refuses_before_it_trains(refused, tmp_path):
    (tmp_path / "mine.npz").write_text("precious")
    assert "exists already: nothing was overwritten" in refused(
        "collect", "lap-grid", "--out", "mine.npz"
    )
    assert ".npz" in refused("collect", "lap-grid", "--out", "mine.txt")
    assert "episodes = 0" in refused("collect", "lap-grid", "--out", "new.npz", "--episodes", "0")
    assert "steps = -5" in refused("collect", "lap-grid", "--out", "new.npz", "--steps", "-5")
    assert "cannot create the folder" in refused("collect", "lap-grid", "--out", "mine.npz/new.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]
    assert (tmp_path / "mine.npz").read_text() == "precious"
