"""Sweeps on Optuna: killed and resumed, pruned, several at once; the page of one in a browser."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import optuna
import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.directory.lock import require_unlocked
from icrl.experiment.suite.sweep_study import num_done, open_study
from icrl.verbs.learn import parse

SPACE = """
steps = 2000
scouts = 0
num_samples = 2
[forward]
steps = 512
num_envs = 4
rollout_steps = 64
epochs = {low = 1, high = 4}
learning_rate = {low = 1e-5, high = 1e-2, log = true}
hidden = [16]
minibatch = {choices = [64, 100]}
[backward]
updates = {choices = [5, 20]}
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep of 20 trials on LapGridWorld that is killed after a few and goes on."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "space.toml").write_text(SPACE)
    words = [
        "sweep",
        "lap-grid",
        "--space",
        str(folder / "space.toml"),
        "--trials",
        "20",
        "--jobs",
        "2",
        "--episodes",
        "2",
        "--out",
        str(folder / "out"),
    ]
    process = subprocess.Popen([sys.executable, "-m", "icrl", *words], start_new_session=True)
    deadline = time.monotonic() + 300
    while not (folder / "out" / "sweep.db").exists() or num_done(open_study(folder / "out")) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = num_done(open_study(folder / "out"))
    main(words)
    return folder / "out", before, words


def test_a_killed_sweep_goes_on_where_it_was(swept):
    out, before, _ = swept
    study = open_study(out)
    assert 3 <= before < 20
    assert num_done(study) == 20
    finished = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    assert len(finished) >= 3
    # what was tried before is not tried again, but for trials that were killed
    kept = study.get_trials(
        states=(optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    )
    rates = [trial.params["forward.learning_rate"] for trial in kept]
    assert len(set(rates)) == len(rates)


FEW = """
steps = 2000
scouts = 0
num_samples = 2
[forward]
steps = 512
num_envs = 4
rollout_steps = 64
target_kl = {choices = ["none", %s, 0.5]}
learning_rate = {low = 1e-5, high = 1e-2, log = true}
hidden = {choices = [[16], [64, 64]]}
respect = {choices = ["terminate", "lagrangian"]}
"""
AS_IT_STANDS = {
    "forward.target_kl": 0.03,
    "forward.learning_rate": 3e-4,
    "forward.hidden": "[64, 64]",
    "forward.respect": "terminate",
}


def sweep_few(tmp_path, present, trials):
    """A sweep of the default, whose forward.target_kl is 0.03."""
    (tmp_path / "space.toml").write_text(FEW % present)
    words = ["sweep", "lap-grid", "--space", str(tmp_path / "space.toml"), "--episodes", "2"]
    main([*words, "--trials", str(trials), "--out", str(tmp_path / "out")])
    return open_study(tmp_path / "out").get_trials()


def test_the_first_trial_is_the_preset_as_it_is_and_only_once(tmp_path):
    (first,) = sweep_few(tmp_path, 0.03, trials=1)
    assert first.params == AS_IT_STANDS
    assert first.state == optuna.trial.TrialState.COMPLETE
    config = json.loads((tmp_path / "out/trial-0000/seed-0/config.json").read_text())["config"]
    assert config["forward"]["target_kl"] == 0.03
    # a sweep that goes on does not begin with it again
    _, second = sweep_few(tmp_path, 0.03, trials=2)
    assert second.params != AS_IT_STANDS


def test_a_preset_that_does_not_lie_in_the_space_is_no_trial_and_that_is_said(tmp_path, capsys):
    (first,) = sweep_few(tmp_path, 0.02, trials=1)
    assert first.params["forward.target_kl"] != 0.03
    said = " ".join(capsys.readouterr().out.split())
    assert "(preset default) are no trial: forward.target_kl = 0.03 is not in the space" in said


LONG = (
    SPACE.replace("steps = 2000", "steps = 20000")
    .replace("[64, 100]", "[32, 64]")
    .replace("512", "1024")
)


def wait_until_unlocked(run, deadline):
    """Until nobody writes it. A worker that had to be killed leaves the file of its lock."""
    while True:
        try:
            return require_unlocked(run)
        except InputError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_trial_that_was_stopped_goes_on_from_its_checkpoint(tmp_path, monkeypatch, number):
    from icrl.experiment.directory.checkpoint import checkpoints
    from icrl.experiment.suite import sweep_study

    (tmp_path / "space.toml").write_text(LONG)
    out = tmp_path / "out"
    words = [
        "sweep",
        "lap-grid",
        "--space",
        str(tmp_path / "space.toml"),
        "--trials",
        "1",
        "--episodes",
        "2",
        "--out",
        str(out),
    ]
    process = subprocess.Popen([sys.executable, "-m", "icrl", *words], start_new_session=True)
    metrics = out / "trial-0000" / "seed-0" / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    process.wait()
    wait_until_unlocked(metrics.parent, deadline)  # its worker ends by itself
    number_kept = int(re.search(r"\d+", checkpoints(metrics.parent)[0].name).group())
    made = metrics.read_text().splitlines()[: number_kept + 1]
    rate = open_study(out).get_trials()[0].params["forward.learning_rate"]
    monkeypatch.setattr(sweep_study, "_HEARTBEAT", 1)
    monkeypatch.setattr(sweep_study, "_GRACE", 2)
    time.sleep(3)
    main(words)
    (done,) = open_study(out).get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    assert done.params["forward.learning_rate"] == rate
    after = (out / f"trial-{done.number:04d}" / "seed-0" / "metrics.jsonl").read_text().splitlines()
    assert len(made) >= 3  # a worker that is killed may not have saved its fourth round
    assert len(after) > len(made)
    assert after[: len(made)] == made  # to the second: these rounds were not made again
    assert not metrics.exists()


def test_settings_that_do_not_fit_together_end_a_trial_and_not_the_sweep(swept):
    trials = open_study(swept[0]).get_trials()
    wrong = [trial for trial in trials if trial.params.get("forward.minibatch") == 100]
    assert wrong
    assert all("a divisor of num_envs" in trial.user_attrs["error"] for trial in wrong)
    assert all(trial.state == optuna.trial.TrialState.PRUNED for trial in wrong)


def test_the_best_settings_are_a_file_that_learn_takes(swept):
    out = swept[0]
    best = open_study(out).best_trial
    text = (out / "best.toml").read_text()
    assert tomllib.loads(text)["forward"]["learning_rate"] == best.params["forward.learning_rate"]
    config = parse(["--config", str(out / "best.toml")]).config
    assert (config.forward.epochs, config.steps) == (best.params["forward.epochs"], 2000)
    assert "truth" not in text


def test_the_table_has_every_trial_with_the_best_first(swept):
    out = swept[0]
    with (out / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    study = open_study(out)
    assert len(rows) == len([trial for trial in study.get_trials() if trial.state.is_finished()])
    assert int(rows[0]["trial"]) == study.best_trial.number
    assert float(rows[0]["objective"]) == pytest.approx(study.best_value, abs=1e-4)
    assert "demonstrations allowed" in rows[0]


def test_no_trial_looked_at_the_truth(swept):
    for trial in open_study(swept[0]).get_trials():
        assert "judged_by" not in trial.user_attrs


def test_another_sweep_in_the_same_folder_is_refused(swept, capsys):
    with pytest.raises(SystemExit):
        main([*swept[2], "--objective", "truth"])
    assert "holds another sweep (it differs in objective)" in capsys.readouterr().err


def test_a_sweep_by_the_truth_marks_what_it_touches(swept, tmp_path):
    space = swept[0].parent / "space.toml"
    main(
        [
            "sweep",
            "lap-grid",
            "--space",
            str(space),
            "--trials",
            "2",
            "--episodes",
            "2",
            "--objective",
            "truth",
            "--out",
            str(tmp_path / "out"),
        ]
    )
    for name in ("best.toml", "table.md", "index.html"):
        path = tmp_path / "out" / name
        if path.exists():
            assert "Judged by the truth" in path.read_text()
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["objective"] == "truth"


@pytest.mark.parametrize("prune", [True, False])
def test_hopeless_trials_are_pruned_unless_all_are_to_run_to_their_end(tmp_path, prune):
    from icrl.experiment.suite import sweep

    study = optuna.create_study(
        direction="maximize", pruner=optuna.pruners.MedianPruner(n_startup_trials=2)
    )
    for value in (0.9, 0.8, 0.1):
        trial = study.ask()
        run = tmp_path / f"run-{trial.number}"
        run.mkdir()
        line = {"round": 3, "agent/return": 60 * value, "constraint/cost_demos": 1 - value}
        (run / "metrics.jsonl").write_text(json.dumps(line) + "\n")
        watcher = sweep._Watcher(trial, [run], 6, 60.0, sweep.threading.Event(), prune=prune)
        if value == 0.1 and prune:
            with pytest.raises(optuna.TrialPruned):
                watcher.waiting()
        else:
            watcher.waiting()
            study.tell(trial, value)


def test_the_page_shows_every_trial_as_a_line(swept):
    import shutil

    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = Options()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.get((swept[0] / "index.html").as_uri())
        lines = browser.find_elements(By.CSS_SELECTOR, "polyline.trial")
        finished = open_study(swept[0]).get_trials(states=(optuna.trial.TrialState.COMPLETE,))
        assert len(lines) == len(finished)
        browser.execute_script("arguments[0].focus()", lines[-1])
        said = browser.find_element(By.ID, "parallel-readout").text
        # the last line drawn lies on top: it is the best
        number = int(re.match(r"Trial (\d+): ", said).group(1))
        study = open_study(swept[0])
        assert study.get_trials()[number].value == study.best_value
        assert browser.get_log("browser") == []
        folder = os.environ.get("ICRL_SCREENSHOTS")
        if folder is not None:
            browser.save_screenshot(f"{folder}/report-sweep.png")
    finally:
        browser.quit()
