"""A run that was interrupted goes on, and ends with the same bytes as one that never was."""

import errno
import json
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

from icrl.config import Train
from icrl.constraint.learned import load_constraint
from icrl.errors import InputError, InputWarning
from icrl.experiment.directory.checkpoint import FOLDER, checkpoints
from icrl.experiment.directory.run_directory import RunDirectory, without_times
from icrl.experiment.run import keeping
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.loggers import CsvLogger
from icrl.experiment.run.one_run import run_learning
from icrl.interrupts import remembered_interrupts
from icrl.tasks.lap_grid import lap_grid
from small_runs import FORWARD, ROUND, TINY, Counter, lap_demos, tiny_spec

SCENARIO = lap_grid()
ROUNDS = 5


@pytest.fixture(autouse=True)
def every_round(monkeypatch):
    """A checkpoint after every round, whatever it costs: when they are written must not matter."""
    monkeypatch.setattr(keeping, "_SHARE", 1e9)


class Stop(BaseException):
    """As Ctrl-C: comes at any moment, and is nobody's error."""


class StopAt(Callback):
    """Stops a run within a round."""

    def __init__(self, round_index, update=1):
        self.round_index, self.update = round_index, update
        self.rounds, self.updates = 0, 0

    def on_start(self, started):
        self.rounds = len(started.before)

    def on_update(self, progress):
        self.updates += 1
        if self.rounds == self.round_index and self.updates > self.update:
            raise Stop

    def on_round(self, snapshot, metrics):
        self.rounds += 1
        self.updates = 0


def spec_of(method):
    config = replace(TINY, steps=ROUNDS * ROUND, scouts=0)
    if method == "icrl-by-search":
        # scouts are back after a round or two, so that every phase is met
        return tiny_spec(
            config=replace(config, scouts=1, steps=12 * ROUND, train=Train.all_steps), method="icrl"
        )
    return tiny_spec(config=config, method=method)


def make(spec, directory, callback=None, resume=False, constraint=None):
    demos = lap_demos()
    return run_learning(
        spec, SCENARIO, demos, directory, callback or Callback(), constraint, resume
    )


def content(directory):
    """Every file of a run, with the seconds left out."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_dir():
            continue
        if name == "metrics.jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = [without_times(row) for row in rows]
        elif name == "scores.json":
            scores = json.loads(path.read_text())
            found[name] = without_times(scores)
        elif name == "visited.npz":
            with np.load(path) as archive:
                found[name] = {key: archive[key].tobytes() for key in archive.files}
        else:
            found[name] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """Runs that were never interrupted, made when they are first asked for."""
    made = {}

    def get(method):
        if method not in made:
            directory = tmp_path_factory.mktemp(method)
            make(spec_of(method), directory)
            made[method] = content(directory)
        return made[method]

    return get


@pytest.mark.parametrize(
    "method",
    [
        "icrl",
        "icrl-by-search",
        "binary-classifier",
        "gail-constraint",
        "greedy",
        "nominal",
        "expert",
    ],
)
def test_a_run_that_was_stopped_twice_ends_with_the_same_bytes(method, straight, tmp_path):
    spec = spec_of(method)
    # by search, round 3 sees a clone and trains nobody
    second = 4 if method == "icrl-by-search" else 3
    for number in (1, second):
        with pytest.raises(Stop):
            make(spec, tmp_path / "run", StopAt(number), resume=True)
        assert len(RunDirectory(tmp_path / "run").metrics()) == number
        assert checkpoints(tmp_path / "run")[0].name == f"round-{number - 1:06d}.safetensors"
    assert len(checkpoints(tmp_path / "run")) == 2
    make(spec, tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight(method)
    assert not (tmp_path / "run" / FOLDER).exists()


def test_a_transfer_goes_on_too(straight, tmp_path):
    make(spec_of("icrl"), tmp_path / "source")
    constraint = load_constraint(tmp_path / "source" / "constraint")
    spec = replace(spec_of("icrl"), constraint=str(tmp_path / "source"))
    make(spec, tmp_path / "straight", constraint=constraint)
    with pytest.raises(Stop):
        make(spec, tmp_path / "run", StopAt(2), constraint=constraint)
    make(spec, tmp_path / "run", resume=True, constraint=constraint)
    assert content(tmp_path / "run") == content(tmp_path / "straight")


@pytest.mark.parametrize("age", [1, 2])
def test_a_run_goes_on_from_a_round_that_is_long_past(age, straight, tmp_path):
    """As after SIGKILL: later rounds were logged, and their files written,
    but no checkpoint of them."""
    spec = spec_of("icrl")
    with pytest.raises(Stop):
        make(spec, tmp_path / "old", StopAt(4 - age))
    with pytest.raises(Stop):
        make(spec, tmp_path / "run", StopAt(4))
    shutil.rmtree(tmp_path / "run" / FOLDER)
    shutil.copytree(tmp_path / "old" / FOLDER, tmp_path / "run" / FOLDER)
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"round": 4, "st')  # and a line was being written
    (tmp_path / "run" / ".policy.safetensors.77.tmp").write_bytes(b"half")
    make(spec, tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight("icrl")


def test_a_run_that_was_stopped_before_its_first_round_starts_again(straight, tmp_path):
    spec = spec_of("icrl")
    with pytest.raises(Stop):
        make(spec, tmp_path / "run", StopAt(0))
    assert not checkpoints(tmp_path / "run")
    make(spec, tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight("icrl")


def test_a_run_that_was_stopped_while_it_was_scored_is_scored(straight, tmp_path, monkeypatch):
    def stop(*_):
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr("icrl.experiment.run.one_run.play_episodes", stop)
        with pytest.raises(Stop):
            make(spec_of("icrl"), tmp_path / "run")
    assert len(RunDirectory(tmp_path / "run").metrics()) == ROUNDS
    make(spec_of("icrl"), tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight("icrl")


def test_checkpoints_cost_no_more_than_their_share(tmp_path, monkeypatch):
    """With a share of nothing only the first is written,
    and the last when the run is stopped; it still goes on."""
    monkeypatch.setattr(keeping, "_SHARE", 1e-9)
    written = []
    write = keeping.write_checkpoint

    def counted(directory, number, *rest):
        written.append(number)
        return write(directory, number, *rest)

    monkeypatch.setattr(keeping, "write_checkpoint", counted)
    with pytest.raises(Stop):
        make(spec_of("nominal"), tmp_path / "run", StopAt(4))
    assert written == [0, 3]


@pytest.mark.parametrize(
    ("number", "synced", "words"),
    [
        (errno.EACCES, 2, "you may not write there"),  # before there is a configuration
        (errno.ENOSPC, 25, "the disk is full"),
        (errno.EROFS, 40, "read-only file system"),
    ],
)
def test_a_run_that_could_not_write_goes_on_when_it_can(
    number, synced, words, straight, tmp_path, monkeypatch
):
    fsync = os.fsync
    left = [synced]

    def refused(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refused)
        with pytest.raises(InputError, match=f"cannot be written: .*{words}"):
            make(spec_of("icrl"), tmp_path / "run")
    assert not list((tmp_path / "run").rglob(".*"))  # nothing half-written, and no lock
    assert bool(checkpoints(tmp_path / "run")) == (synced > 2)
    make(spec_of("icrl"), tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight("icrl")


def test_a_run_whose_environment_fails_is_kept_up_to_its_last_round(
    straight, tmp_path, monkeypatch
):
    """Where checkpoints are dear, the last round is in memory alone when it happens."""
    monkeypatch.setattr(keeping, "_SHARE", 1e-9)
    counter = Counter()

    def make_env(num_envs):
        env = counter.watch(SCENARIO.task).make_env(num_envs)
        step = env.step

        def fails(actions):
            if counter.steps > 3 * ROUND + 100:
                raise InputError(
                    "world of mine, the episode of seed 7, at step 3: the motor is hot"
                )
            return step(actions)

        env.step = fails
        return env

    broken = replace(SCENARIO, task=replace(SCENARIO.task, make_env=make_env))
    with pytest.raises(InputError, match="seed 7, at step 3: the motor is hot"):
        run_learning(spec_of("icrl"), broken, lap_demos(), tmp_path / "run", Callback())
    assert checkpoints(tmp_path / "run")[0].name == "round-000002.safetensors"
    make(spec_of("icrl"), tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == straight("icrl")


def interrupted(directory, rounds=3):
    with pytest.raises(Stop):
        make(spec_of("icrl"), directory, StopAt(rounds))
    return directory


def test_a_damaged_checkpoint_is_passed_over_with_a_word(straight, tmp_path):
    run = interrupted(tmp_path / "run")
    newest = checkpoints(run)[0]
    data = bytearray(newest.read_bytes())
    data[-100] ^= 1
    newest.write_bytes(bytes(data))
    with pytest.warns(
        InputWarning, match=r"round-000002.*checksum differs.*Going on from round-000001"
    ):
        make(spec_of("icrl"), run, resume=True)
    assert content(run) == straight("icrl")


def test_where_no_checkpoint_is_whole_nothing_is_touched(tmp_path):
    run = interrupted(tmp_path / "run")
    for path in checkpoints(run):
        path.write_bytes(path.read_bytes()[:-1])
    before = content(run)
    with pytest.raises(InputError, match=r"round-000002.*damaged.*round-000001.*damaged"):
        make(spec_of("icrl"), run, resume=True)
    assert content(run) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 7}, r"seed is 0 there, 7 here"),
        ({"method": "binary-classifier"}, r"method is 'icrl' there, 'binary-classifier' here"),
        (
            {"config": replace(spec_of("icrl").config, forward=replace(FORWARD, epochs=3))},
            r"config\.forward\.epochs",
        ),
        ({"task": "bridges"}, r"task is 'lap-grid' there, 'bridges' here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_with_what_differs(changes, said, tmp_path):
    """Both where config.json tells, and where it was copied or edited too."""
    run = interrupted(tmp_path / "run")
    other = replace(spec_of("icrl"), **changes)
    with pytest.raises(InputError, match=rf"holds a run with other settings.*{said}"):
        make(other, run, resume=True)
    if "task" in changes:
        return  # its own demonstrations would be needed
    config = json.loads((run / "config.json").read_text())
    config |= json.loads(json.dumps({name: config[name] for name in config}))
    for name, value in changes.items():
        if name == "config":
            config["config"]["forward"]["epochs"] = value.forward.epochs
        else:
            config[name] = value
    (run / "config.json").write_text(json.dumps(config))
    before = content(run)
    with pytest.raises(
        InputError, match=rf"checkpoint of another run, and nothing was touched.*{said}"
    ):
        make(other, run, resume=True)
    assert content(run) == before


def test_a_checkpoint_of_another_version_is_refused_with_what_differs(tmp_path, monkeypatch):
    run = interrupted(tmp_path / "run")
    versions = keeping.library_versions()
    monkeypatch.setattr(keeping, "library_versions", lambda: versions | {"jax": "0.0.1"})
    with pytest.raises(
        InputError, match=rf"versions\.jax is '{versions['jax']}' there, '0\.0\.1' here"
    ):
        make(spec_of("icrl"), run, resume=True)


def test_other_demonstrations_are_noticed(tmp_path):
    run = interrupted(tmp_path / "run")
    demos = lap_demos()
    fewer = replace(
        demos, trajectories=replace(demos.trajectories, rewards=demos.trajectories.rewards * 2)
    )
    with pytest.raises(InputError, match="demonstrations is"):
        run_learning(spec_of("icrl"), SCENARIO, fewer, run, Callback(), resume=True)


def test_metrics_that_lost_a_line_are_noticed(tmp_path):
    run = interrupted(tmp_path / "run")
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:1]))
    with pytest.raises(InputError, match=r"metrics\.jsonl lacks some of the 3 rounds"):
        make(spec_of("icrl"), run, resume=True)


def test_without_a_word_nothing_goes_on(tmp_path):
    run = interrupted(tmp_path / "run")
    with pytest.raises(
        InputError, match=r"already holds a run: nothing was.*To go on with it: icrl learn --resume"
    ):
        make(spec_of("icrl"), run)


def test_a_finished_run_is_left_alone(tmp_path):
    make(spec_of("nominal"), tmp_path / "run")
    with pytest.raises(InputError, match="already holds a run: nothing was overwritten"):
        make(spec_of("nominal"), tmp_path / "run", resume=True)


def test_a_csv_of_a_run_that_goes_on_has_all_rounds(tmp_path):
    run = interrupted(tmp_path / "run", rounds=2)
    make(spec_of("icrl"), run, CsvLogger(), resume=True)
    lines = (run / "metrics.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [str(number) for number in range(ROUNDS)]


def test_free_memory_goes_back_to_the_system_with_every_checkpoint(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(keeping, "give_back", lambda: given.append(True))
    make(spec_of("nominal"), tmp_path / "run")
    assert len(given) == ROUNDS


def test_a_second_signal_does_not_lose_the_last_round(tmp_path, monkeypatch):
    """Both come while the second round is in memory alone."""
    write = keeping.Keeper.write
    monkeypatch.setattr(keeping.Keeper, "keep", lambda keeper, saved: remember(keeper, saved))

    def remember(keeper, saved):
        keeper.pending = saved
        if saved.carried.number == 1:
            signal.raise_signal(signal.SIGTERM)

    def write_and_be_asked_again(keeper):
        signal.raise_signal(signal.SIGTERM)
        write(keeper)

    monkeypatch.setattr(keeping.Keeper, "write", write_and_be_asked_again)
    with remembered_interrupts(), pytest.raises(KeyboardInterrupt):
        make(spec_of("nominal"), tmp_path / "run")
    assert [path.name for path in checkpoints(tmp_path / "run")] == ["round-000001.safetensors"]
