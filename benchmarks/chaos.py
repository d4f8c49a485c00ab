"""Runs and suites that are killed at random moments, gone on with,
and compared with undisturbed ones.

Run `python benchmarks/chaos.py --kind lap-grid --kills 1000 --seed 0 --out
results/reliability/chaos-lap-grid.json` (kinds: lap-grid, half-cheetah, suite, ray). A life of a
run is a process: `icrl learn TASK ... --out DIR`, then `icrl learn --resume DIR` until it ends by
itself.

It is sent SIGKILL, SIGTERM or SIGINT, half of the times at any moment, else soon after it has
finished a round; of a suite (`chaos-suite.toml`), the suite itself or one of its workers. With
`--kind ray` (extra `ray`) the same suite runs on a cluster of three nodes on this machine, and up
to two of them are removed at such moments: it must end by itself, with the bytes of processes.

After every life the directory must be readable; in the end every byte of constraint, policy,
metrics and scores (but for seconds) must be that of the undisturbed run. With `--fork` a life
begins after Python's imports, in a fork of this process (which has never started JAX): the same
command, and several times as many kills in an hour.

With `--worker` lives are those of a suite's worker, which draws no pictures:
`python -m icrl.experiment.engine.worker DIR`, always the same. The file is brought up to date after
every run; with `--go-on` its counts are added to, until there are so many kills. A file is of one
commit: kills of another one go into another file (`chaos-lap-grid-COMMIT.json`).
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

import icrl
from icrl.agent.policy_file import load_policy
from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.run_directory import RunDirectory, without_times
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.engine.engine import Job
from icrl.experiment.engine.ray_engine import import_ray, run_jobs_on_ray
from icrl.experiment.suite.making import run_suite
from icrl.experiment.suite.suite import expand
from icrl.experiment.suite.suites import find_suite
from icrl.json_files import to_json
from icrl.runtime import configure_jax
from icrl.tasks.registry import make_scenario

SMALL = (
    "--num-samples=2", "--episodes=3", "--forward.steps=512", "--forward.num-envs=4",
    "--forward.rollout-steps=64", "--forward.epochs=2", "--forward.hidden=16",
)  # fmt: skip
RUNS: dict[str, list[tuple[str, ...]]] = {
    "lap-grid": [
        ("learn", "lap-grid", "--scouts=1", "--steps=40000", *SMALL),
        (
            "learn",
            "lap-grid",
            "--scouts=0",
            "--steps=18240",
            "--backward.updates=5",
            "--backward.hidden=8",
            *SMALL,
        ),
        (
            "learn",
            "lap-grid",
            "--method=gail-constraint",
            "--steps=18240",
            "--backward.updates=5",
            *SMALL,
        ),
        ("learn", "lap-grid", "--method=nominal", "--steps=18240", *SMALL),
    ],
    "half-cheetah": [
        (
            "learn",
            "half-cheetah-wall",
            "--scouts=1",
            "--steps=120000",
            "--num-samples=2",
            "--episodes=2",
            "--forward.steps=8192",
        ),
    ],
}
SUITE = ("suite", str(Path(__file__).with_name("chaos-suite.toml")), "--jobs=2")
SUITES = ("suite", "ray")
"""Kinds that are suites: `SUITE` as processes, and on a Ray cluster."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
MOST_LIVES = 60
"""A run that does not end in so many lives makes no headway."""
PATIENCE = 7200.0
"""Seconds that one life may take: others may keep the cores busy."""
_WAIT = 0.03


class Life:
    """One process of a run: forked, or started from nothing."""

    def __init__(self, words: Sequence[str], errors: Path, fork: bool) -> None:
        self.errors = errors
        self.code: int | None = None
        self.process: subprocess.Popen[bytes] | None = None
        if fork:
            self.pid = os.fork()
            if self.pid == 0:
                self._leave_as(words)
        else:
            with errors.open("wb") as stream:
                self.process = self.start(words, stream)
            self.pid = self.process.pid

    def start(self, words: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """A process from nothing."""
        return subprocess.Popen(
            [sys.executable, "-m", "icrl", *words], stdout=subprocess.DEVNULL, stderr=errors
        )

    def become(self, words: Sequence[str]) -> None:
        """In a fork: be the command."""
        sys.argv = ["icrl", *words]
        from icrl.cli import main

        main()

    def _leave_as(self, words: Sequence[str]) -> None:
        code = 70
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            self.become(words)
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def poll(self) -> int | None:
        if self.code is None and self.process is not None:
            self.code = self.process.poll()
        elif self.code is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise SystemExit(f"{self.errors}: the process did not end within {PATIENCE} s.")
            time.sleep(_WAIT)
        return code


class WorkerLife(Life):
    """A run as a suite makes it: no pictures, no page."""

    def __init__(self, words: Sequence[str], out: Path, errors: Path, fork: bool) -> None:
        self.message = json.dumps(to_json(spec_of(words))) + "\n"
        self.out = out
        super().__init__(words, errors, fork)

    def start(self, words: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "icrl.experiment.engine.worker", str(self.out)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
        )
        assert process.stdin is not None
        process.stdin.write(self.message.encode())
        process.stdin.flush()
        return process

    def become(self, words: Sequence[str]) -> None:
        reading, writing = os.pipe()
        os.write(writing, self.message.encode())  # and stays open: the lifeline
        os.dup2(reading, 0)
        sys.stdin = os.fdopen(0)
        sys.argv = ["worker", str(self.out)]
        from icrl.experiment.engine.worker import main

        main()


def spec_of(words: Sequence[str]) -> RunSpec:
    """The run that `icrl learn` would make of these words."""
    from icrl.verbs.learn import parse

    args = parse(list(words[1:]))
    demos = f"shipped:{make_scenario(args.task).demos}"
    return RunSpec(
        task=args.task,
        method=args.method,
        preset=args.preset,
        seed=args.seed,
        config=args.config,
        demos=demos,
        episodes=args.episodes,
    )


def rounds_made(directory: Path) -> int:
    """Lines of all metrics in a directory."""
    paths = [directory / "metrics.jsonl", *directory.glob("*/metrics.jsonl")]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.exists())


def digest(directory: Path) -> dict[str, Any]:
    """All that must be the same, by file."""
    found: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.name == "metrics.jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = [without_times(row) for row in rows]
        elif path.name == "scores.json":
            found[name] = _without_times(json.loads(path.read_text()))
        elif path.name == "visited.npz":
            with np.load(path) as archive:
                found[name] = {key: archive[key].tobytes() for key in archive.files}
        elif path.suffix in (".safetensors", ".json") and path.name != "evaluation.json":
            found[name] = path.read_bytes()
    return found


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return without_times(value)


def require_readable(directory: Path) -> None:
    """What a killed run left can be read: `InputError` if not."""
    for config in directory.rglob("config.json"):
        run = RunDirectory(config.parent)
        task = make_scenario(run.config()["task"]).task
        if run.metrics() and (run.path / "constraint").exists():
            load_constraint(run.path / "constraint")
        if (run.path / "policy.safetensors").exists():
            load_policy(run.path / "policy.safetensors", task)
        if run.finished:
            run.scores()


def children_of(process_id: int) -> list[int]:
    """Processes whose parent this is."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == process_id and fields[0] != "Z":
                found.append(int(path.name))
    return found


class Chaos:
    """Kills, and counts."""

    def __init__(
        self, kind: str, rng: random.Random, fork: bool, worker: bool, folder: Path
    ) -> None:
        self.kind = kind
        self.worker = worker
        self.rng = rng
        self.fork = fork
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.start_up: list[float] = []
        """Seconds to the first round of a life."""
        self.straight: dict[tuple[str, ...], dict[str, Any]] = {}

    def reference(self, words: tuple[str, ...]) -> dict[str, Any]:
        """What the undisturbed run leaves behind."""
        if words not in self.straight:
            out = self.folder / f"straight-{len(self.straight)}"
            began = time.monotonic()
            life = self.begin(words, out)
            while life.poll() is None and not rounds_made(out):
                time.sleep(_WAIT)
            self.start_up.append(time.monotonic() - began)
            code = life.wait()
            if code != 0:
                raise SystemExit(
                    f"the undisturbed run failed ({code}): {life.errors.read_text()[-2000:]}"
                )
            self.straight[words] = digest(out)
        return self.straight[words]

    def begin(self, words: tuple[str, ...], out: Path) -> Life:
        """The next life of a run."""
        errors = self.folder / "errors.txt"
        goes_on = (out / "config.json").exists() and words[0] != "suite"
        if goes_on and not checkpoints(out):
            self.counts["lives that started again (no round was over)"] += 1
        if self.worker:
            return WorkerLife(words, out, errors, self.fork)
        if goes_on:
            return Life(["learn", "--resume", str(out)], errors, self.fork)
        return Life([*words, f"--out={out}"], errors, self.fork)

    def disturb(self, words: tuple[str, ...], kills: int) -> None:
        """One run that is killed so many times, and then left to end."""
        wanted = self.reference(words)
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(MOST_LIVES):
            life = self.begin(words, out)
            self.counts["lives"] += 1
            sent = None
            if kills > 0:
                sent = self._kill(life, out)
                kills -= sent is not None
            code = life.wait()
            self._judge(life, code, sent, out)
            if code == 0:
                break
        else:
            self.problems.append(f"{' '.join(words)}: did not end in {MOST_LIVES} lives")
            return
        self.counts["runs"] += 1
        self._compare(words, wanted, digest(out))

    def _compare(
        self, words: tuple[str, ...], wanted: dict[str, Any], found: dict[str, Any]
    ) -> None:
        other = [name for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]
        if other:
            self.counts["runs that differ"] += 1
            self.problems.append(f"{' '.join(words)}: {', '.join(other)} differ")
        if any(name.startswith("checkpoint") for name in found):
            self.counts["finished runs that kept a checkpoint"] += 1

    def _kill(self, life: Life, out: Path) -> str | None:
        """Wait for the moment, and send a signal; None: it had ended by itself."""
        self._wait_for_moment(lambda: life.poll() is not None, out)
        if life.poll() is not None:
            return None
        number = self.rng.choice(SIGNALS)
        victim = life.pid
        whom = "run"
        if self.kind == "suite":
            whom = "suite"
            workers = children_of(life.pid)
            if workers and self.rng.random() < 0.5:
                victim = self.rng.choice(workers)
                whom = "worker"
        os.kill(victim, number)
        self.counts[f"{number.name} to a {whom}"] += 1
        self.counts["kills"] += 1
        return f"{whom} {number.name}"

    def _wait_for_moment(self, ended: Callable[[], bool], out: Path) -> None:
        """Half of the times any moment, else soon after a round; no longer than until the end."""
        before = rounds_made(out)
        usual = statistics.median(self.start_up)
        began = time.monotonic()
        if self.rng.random() < 0.5:
            delay = self.rng.uniform(0.0, 1.5 * usual)
            while not ended() and time.monotonic() - began < delay:
                time.sleep(_WAIT)
        else:
            while not ended() and rounds_made(out) <= before:
                time.sleep(_WAIT)
            self.start_up.append(time.monotonic() - began)
            time.sleep(self.rng.expovariate(5.0))

    def _judge(self, life: Life, code: int, sent: str | None, out: Path) -> None:
        """The exit code, the words, and what is left."""
        said = life.errors.read_text(errors="replace")
        allowed = {0}
        if sent is not None and sent.startswith("worker"):
            allowed.add(1)  # the suite goes on, and says that a run failed
        elif sent is not None:
            allowed.add(CODES[signal.Signals[sent.split()[1]]])
            allowed.add(-int(signal.Signals[sent.split()[1]]))  # before the command has taken over
        if code not in allowed:
            self.counts["unexpected exit codes"] += 1
            self.problems.append(f"exit code {code} after {sent}: {said[-300:]}")
        if "Traceback" in said and code in (0, 1, 2, 130, 143):
            self.counts["tracebacks"] += 1
            self.problems.append(f"traceback after {sent}: {said[-600:]}")
        self._read(out, sent)

    def _read(self, out: Path, sent: str | None) -> None:
        try:
            require_readable(out)
        except InputError as error:
            self.counts["unreadable directories"] += 1
            self.problems.append(f"after {sent}: {error}")


class Nobody:
    """Is told how a suite gets on, and does not listen."""

    def started(self, job: Job, process_id: int) -> None:
        pass

    def ended(self, job: Job, exit_code: int) -> None:
        pass

    def waiting(self) -> None:
        pass


class RayChaos(Chaos):
    """Removes nodes of a Ray cluster under a suite, which goes on by itself on those that stay."""

    def disturb(self, words: tuple[str, ...], kills: int) -> None:
        """One suite on a cluster of its own that loses so many nodes, two at most."""
        from ray_nodes import three_nodes

        wanted = self.reference(words)
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        runs = expand(find_suite(words[1]), out)
        over = threading.Event()
        with three_nodes(self.folder) as cluster, ThreadPoolExecutor(1) as pool:
            removing = pool.submit(self._remove_nodes, cluster, kills, out, over)
            try:
                outcome = run_suite(runs, out, 1, Nobody(), " ".join(words), run_jobs_on_ray)
            finally:
                over.set()
            removing.result()
        self._read(out, "a Ray node was removed")
        self.counts["runs"] += 1
        if outcome.failed:
            self.problems.append(f"{' '.join(words)}: {', '.join(outcome.failed)} failed")
        self._compare(words, wanted, digest(out))

    def _remove_nodes(self, cluster: Any, kills: int, out: Path, over: threading.Event) -> None:
        for node in cluster.nodes_to_die[:kills]:
            self._wait_for_moment(over.is_set, out)
            if over.is_set():
                return
            cluster.remove_node(node, allow_graceful=False)  # as SIGKILL to all of its processes
            self.counts["removals of a Ray node"] += 1
            self.counts["kills"] += 1


def report(chaos: Chaos, seconds: float, command: str) -> dict[str, Any]:
    zero = ("runs that differ", "unreadable directories", "unexpected exit codes", "tracebacks")
    counts = {**dict.fromkeys(zero, 0), **chaos.counts}
    return {
        "command": command,
        "commit": commit(),
        "kind": chaos.kind,
        "lives are forks": chaos.fork,
        "lives are a suite's workers": chaos.worker,
        **dict(sorted(counts.items())),
        "median seconds from start to first round": round(statistics.median(chaos.start_up), 2),
        "seconds": round(seconds),
        "problems": chaos.problems,
    }


NO_COUNTS = (
    "command",
    "commit",
    "kind",
    "median seconds from start to first round",
    "seconds",
    "problems",
)


@cache
def commit() -> str:
    """The commit whose runs are killed, with a + where files differ from it."""
    source = Path(icrl.__file__).parent

    def git(*words: str) -> str:
        told = subprocess.run(["git", *words], cwd=source, capture_output=True, text=True)
        return told.stdout.strip()

    name = git("rev-parse", "--short=7", "HEAD") or "unknown"
    return name + "+" * bool(git("status", "--porcelain", "--", "."))


def go_on(chaos: Chaos, path: Path) -> float:
    """Take over what an earlier start of the same kind has counted;
    returns the seconds that it took.
    """
    if not path.exists():
        return 0.0
    before = json.loads(path.read_text())
    if before["kind"] != chaos.kind:
        raise SystemExit(f"{path} counts kills of {before['kind']}.")
    if before["commit"] != commit():
        raise SystemExit(
            f"{path} counts kills at commit {before['commit']}, this is {commit()}: give another "
            "--out."
        )
    chaos.problems += before["problems"]
    chaos.counts.update(
        {key: n for key, n in before.items() if key not in NO_COUNTS and not isinstance(n, bool)}
    )
    return float(before["seconds"])


def require_ray() -> None:
    """End with the name of the extra where Ray is not installed: before anything is made."""
    try:
        import_ray()
    except InputError as error:
        raise SystemExit(f"--kind ray runs a suite with --engine ray. {error}") from error


def preload() -> None:
    """Import what a life needs, so that forks need not."""
    reports = (
        "icrl.report.page",
        "icrl.report.summary",
        "icrl.verbs.learn",
        "icrl.experiment.engine.worker",
    )
    for name in reports:
        import_module(name)


def main(
    arguments: Sequence[str] | None = None, say: Callable[[str], None] = print
) -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=(*RUNS, *SUITES), default="lap-grid")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--each", type=int, default=5, help="kills of one run at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--worker", action="store_true")
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="begin no further run after so long"
    )
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--go-on", action="store_true", help="add to the counts in --out")
    args = parser.parse_args(arguments)
    suite = args.kind in SUITES
    made_by = Chaos
    if args.kind == "ray":
        made_by = RayChaos
        require_ray()
    # Lives compile nothing that an earlier one has compiled: most of a short life would be that.
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    if args.fork and not suite:
        if (
            "JAX_COMPILATION_CACHE_DIR" not in os.environ
        ):  # JAX reads its settings when it is imported: begin again
            configure_jax()
            os.execv(sys.executable, [sys.executable, *sys.argv])
        preload()
    command = "python benchmarks/chaos.py " + " ".join(
        sys.argv[1:] if arguments is None else arguments
    )
    began = time.monotonic()
    kinds = RUNS.get(args.kind, [SUITE])
    with tempfile.TemporaryDirectory(prefix="icrl-chaos-") as folder:
        rng = random.Random(args.seed)
        chaos = made_by(
            args.kind, rng, args.fork and not suite, args.worker and not suite, Path(folder)
        )
        earlier = 0.0
        found: dict[str, Any] = {"problems": chaos.problems}
        if args.go_on and args.out is not None:
            earlier = go_on(chaos, args.out)
            rng.seed(args.seed + 1_000_003 * chaos.counts["runs"])
        while chaos.counts["kills"] < args.kills and time.monotonic() - began < args.seconds:
            words = kinds[chaos.counts["runs"] % len(kinds)]
            chaos.disturb(words, min(rng.randint(1, args.each), args.kills - chaos.counts["kills"]))
            found = report(chaos, earlier + time.monotonic() - began, command)
            if args.out is not None:
                args.out.parent.mkdir(parents=True, exist_ok=True)
                args.out.write_text(json.dumps(found, indent=2) + "\n")
            say(
                f"{chaos.counts['kills']} kills, {chaos.counts['runs']} runs, "
                f"{len(chaos.problems)} problems"
            )
    return found


if __name__ == "__main__":
    sys.exit(bool(main()["problems"]))
