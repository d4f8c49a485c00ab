"""Damaged files: demonstrations, constraints, policies, records, configurations, checkpoints.

What becomes of each?

Run `python benchmarks/fuzz.py --files 100000 --seed 0 --out
results/reliability/fuzz.json`. Every file must be refused with an `InputError` or read as
something whole.

Counted are those that end in another exception (a traceback for the user), those that are read and
hold a number that is not finite, and the peak of memory. Case i of a seed is always the same:
`--first i --files 1 --keep folder` makes it again.
"""

import argparse
import contextlib
import io
import json
import resource
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from icrl.agent.policy_file import load_policy
from icrl.cli import main as icrl
from icrl.constraint.learned import load_constraint
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.experiment.directory import checkpoint
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import spec_from_json
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.inputs import demos_of_run, scenario_of_run
from icrl.experiment.run.keeping import SavedRun, identity
from icrl.experiment.run.one_run import run_learning
from icrl.json_files import to_json
from icrl.report.records import read_groups
from icrl.report.table import markdown_table, notes
from icrl.tasks.lap_grid import lap_grid
from icrl.visited import load_visited

FLAGS = [
    "--steps=1824",
    "--num-samples=2",
    "--scouts=0",
    "--episodes=3",
    "--forward.steps=512",
    "--forward.num-envs=4",
    "--forward.rollout-steps=64",
    "--forward.epochs=2",
    "--forward.hidden=16",
    "--backward.updates=5",
    "--backward.hidden=8",
]
NASTY: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    0.5,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    "",
    "0",
    "\x1b[2J",
    "[/b]",
    "$x_{",
    "\ud800",
    "../..",
    "os:abort",
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    ["x"] * 3,
]
CHECKPOINT = "checkpoint.safetensors"
VERB_EVERY = 250
"""A whole verb takes a thousand times as long as one file: every so many cases."""
TASK = lap_grid().task
Check = Callable[[Path], bool]
"""Reads a damaged folder; True: all that was read is finite. `InputError`: it was refused."""


def damage_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """One to four wounds: flipped bits, other bytes, pieces cut off, cut out,
    doubled, moved, zeroed.
    """
    content = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if not content:
            return bytes(content)
        place = int(rng.integers(len(content)))
        size = int(min(2 ** rng.integers(0, 12), len(content) - place))
        match rng.integers(7):
            case 0:
                content[place] ^= 1 << int(rng.integers(8))
            case 1:
                content[place : place + size] = rng.bytes(size)
            case 2:
                del content[place:]
            case 3:
                del content[place : place + size]
            case 4:
                content[place:place] = content[place : place + size]
            case 5:
                content[place : place + size] = bytes(size)
            case 6:
                other = int(rng.integers(len(content)))
                content[other : other + size] = content[place : place + size]
    return bytes(content)


def damage_json(rng: np.random.Generator, value: Any) -> Any:
    """One entry, however deep, is replaced, renamed, removed or wrapped."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.2:
        return NASTY[rng.integers(len(NASTY))]
    if isinstance(value, list):
        changed = list(value)
        index = int(rng.integers(len(changed)))
        changed[index] = damage_json(rng, changed[index])
        return changed
    keys = list(value)
    key = keys[rng.integers(len(keys))]
    rest = {name: item for name, item in value.items() if name != key}
    match rng.integers(5):
        case 0:
            return rest
        case 1:
            return rest | {f"{key}?": value[key]}
        case 2:
            return value | {key: [value[key]]}
        case _:
            return value | {key: damage_json(rng, value[key])}


def damage_file(rng: np.random.Generator, path: Path) -> None:
    """Damage the bytes; of JSON mostly an entry, of arrays sometimes a number or a shape."""
    data = path.read_bytes()
    kind = rng.random()
    if path.suffix == ".json" and kind < 0.8:
        path.write_text(json.dumps(damage_json(rng, json.loads(data))))
    elif path.suffix == ".jsonl" and kind < 0.8:
        lines = data.decode().splitlines()
        index = int(rng.integers(len(lines)))
        lines[index] = json.dumps(damage_json(rng, json.loads(lines[index])))
        path.write_text("\n".join(lines) + "\n")
    elif path.name == CHECKPOINT and kind < 0.5:
        _forge_checkpoint(rng, path)
    elif path.suffix == ".npz" and kind < 0.5:
        _damage_arrays(rng, path)
    else:
        path.write_bytes(damage_bytes(rng, data))


def _damage_arrays(rng: np.random.Generator, path: Path) -> None:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = list(arrays)[rng.integers(len(arrays))]
    array = np.array(arrays[name])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        match rng.integers(6):
            case 0 if array.size and array.dtype.kind in "fiu":
                worst = [np.nan, np.inf, -1, 1e300, 2**62]
                array.flat[rng.integers(array.size)] = np.asarray(worst[rng.integers(5)]).astype(
                    array.dtype
                )
            case 1:
                array = array[..., None]
            case 2:
                array = array[: len(array) // 2] if array.ndim else array
            case 3 if array.dtype.kind in "fiub":
                array = array.astype(["f2", "f8", "i1", "u8", "?", "c8", "S4"][rng.integers(7)])
            case 4:
                del arrays[name]
                np.savez(path, **arrays)
                return
            case _:
                array = np.zeros((0, *array.shape[1:]), array.dtype)
    np.savez_compressed(path, **(arrays | {name: array}))


def _forge_checkpoint(rng: np.random.Generator, path: Path) -> None:
    """Other content with a checksum that is right: by somebody who means it."""
    data = path.read_bytes()
    arrays = load_tensors(data)
    body, _ = checkpoint._said(data)
    content = json.loads(body)
    if rng.random() < 0.3:
        name = list(arrays)[rng.integers(len(arrays))]
        arrays[name] = np.zeros((3, 1), ["f4", "i8", "u1", "?"][rng.integers(4)])
    else:
        content["state"] = damage_json(rng, content["state"])
    body = json.dumps(content)
    said = json.dumps({"sha256": checkpoint._checksum(body, arrays), "body": body})
    path.write_bytes(save_tensors(arrays, metadata={checkpoint._SAID: said}))


def finite(*arrays: Any) -> bool:
    return all(np.isfinite(np.asarray(array, np.float64)).all() for array in arrays)


def read_demos(path: Path) -> bool:
    t = load_demos(next(path.glob("demos*"))).trajectories
    return finite(t.observations[t.mask], t.actions[t.mask], t.rewards[t.mask])


def read_constraint(path: Path) -> bool:
    constraint = load_constraint(path / "constraint")
    features = constraint.features
    states = np.linspace(-9, 9, 5)[:, None] * np.ones(features.num_observations)
    actions: Any = np.zeros((5, features.num_actions))
    if features.discrete:
        actions = np.zeros(5, np.int64)
    return finite(constraint.feasibility(states, actions), constraint.logits(states, actions))


def read_policy(path: Path) -> bool:
    policy = load_policy(path / "policy.safetensors", TASK)
    states = np.zeros((3, len(TASK.observation_names)), np.float32)
    return finite(policy.act(np.random.default_rng(0), states))


def read_visited(path: Path) -> bool:
    visited = load_visited(path / "visited.npz")
    return finite(visited.observations, visited.actions, visited.returns)


def read_config(path: Path) -> bool:
    config = RunDirectory(path).config()
    scenario = scenario_of_run(config, directory=path)
    demos_of_run(config, scenario)
    spec_from_json(config)
    return True


def read_state(path: Path) -> bool:
    run = json.loads((path / "which-run.json").read_text())
    saved = checkpoint.read_checkpoint(path / CHECKPOINT, SavedRun, run)
    return isinstance(saved, SavedRun)


def read_evaluation(path: Path) -> bool:
    RunDirectory(path).evaluation()
    return True


def read_records(path: Path) -> bool:
    groups = read_groups([path])
    markdown_table(groups, {})
    notes(groups)
    scores = RunDirectory(path).scores()
    numbers = [value for value in scores.values() if isinstance(value, int | float)]
    return finite([float(number) for number in numbers])


KINDS: dict[str, tuple[tuple[str, ...], Check]] = {
    "demos.npz": (("demos.npz",), read_demos),
    "demos.csv": (("demos.csv",), read_demos),
    "demos.parquet": (("demos.parquet",), read_demos),
    "constraint": (("constraint/constraint.safetensors", "constraint/card.json"), read_constraint),
    "policy": (("policy.safetensors",), read_policy),
    "visited": (("visited.npz",), read_visited),
    "config": (("config.json",), read_config),
    "evaluation": (("evaluation.json",), read_evaluation),
    "checkpoint": ((CHECKPOINT,), read_state),
    "records": (("scores.json", "metrics.jsonl", "config.json"), read_records),
}
VERBS = {
    "evaluate": ["evaluate", "run", "--episodes", "1"],
    "explain": ["explain", "run"],
    "render": ["render", "run", "--steps", "2"],
    "report": ["report", "run", "--out", "page"],
}


def make_originals(folder: Path) -> None:
    """A small run, and the demonstrations of lap-grid in three formats."""
    with contextlib.redirect_stdout(io.StringIO()):
        icrl(["learn", "lap-grid", "--out", str(folder / "run"), *FLAGS])
        icrl(["evaluate", str(folder / "run"), "--episodes", "2"])
    keep_checkpoint(folder / "run")
    for suffix in ("npz", "csv", "parquet"):
        save_demos(load_demos(shipped_demos("lap-grid.npz")), folder / "run" / f"demos.{suffix}")


class _Enough(BaseException):
    pass


class _StopSoon(Callback):
    def on_round(self, snapshot: Any, metrics: Any) -> None:
        if snapshot.number == 1:
            raise _Enough


def keep_checkpoint(run: Path) -> None:
    """The checkpoint of the same run, interrupted in its second round, and which run it is of."""
    spec = spec_from_json(RunDirectory(run).config())
    demos = load_demos(shipped_demos("lap-grid.npz"))
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "run"
        with contextlib.suppress(_Enough):
            run_learning(spec, lap_grid(), demos, other, _StopSoon())
        shutil.copy(checkpoint.checkpoints(other)[0], run / CHECKPOINT)
    (run / "which-run.json").write_text(json.dumps(identity(to_json(spec), demos, None)))


def try_case(
    number: int, seed: int, originals: Path, work: Path, only: str | None = None
) -> tuple[str, str]:
    """Damage one file of a copy and read it: the kind of case, and what became of it."""
    rng = np.random.default_rng([seed, number])
    shutil.rmtree(work, ignore_errors=True)
    if number % VERB_EVERY == VERB_EVERY - 1 and only is None:
        return _try_verb(rng, originals, work)
    kind = only or list(KINDS)[rng.integers(len(KINDS))]
    files, read = KINDS[kind]
    for name in (*files, "which-run.json"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(originals / "run" / name, work / name)
    damage_file(rng, work / files[rng.integers(len(files))])
    try:
        return kind, "read" if read(work) else "NOT FINITE"
    except InputError:
        return kind, "refused"
    except Exception:
        return kind, f"TRACEBACK {traceback.format_exc()}"


def _try_verb(rng: np.random.Generator, originals: Path, work: Path) -> tuple[str, str]:
    name = list(VERBS)[rng.integers(len(VERBS))]
    shutil.copytree(originals / "run", work / "run")
    wounded = [
        path
        for files, _ in KINDS.values()
        for path in files
        if "demos" not in path and path != CHECKPOINT
    ]
    damage_file(rng, work / "run" / wounded[rng.integers(len(wounded))])
    quiet = io.StringIO()
    try:
        with (
            contextlib.chdir(work),
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
        ):
            icrl(VERBS[name])
        return f"icrl {name}", "read"
    except SystemExit as stop:
        return f"icrl {name}", "refused" if stop.code == 2 else f"TRACEBACK exit code {stop.code}"
    except Exception:
        return f"icrl {name}", f"TRACEBACK {traceback.format_exc()}"


def report(
    args: argparse.Namespace, counts: Counter[str], peak: int, before: int, seconds: float
) -> dict[str, Any]:
    """What has been found so far."""

    def total(word: str) -> int:
        return sum(count for name, count in counts.items() if name.endswith(word))

    only = "" if args.only is None else f" --only {args.only}"
    return {
        "command": (
            f"python benchmarks/fuzz.py --files {args.files} --seed {args.seed} --first "
            f"{args.first}{only}"
        ),
        "files": counts.total(),
        "seed": args.seed,
        "first": args.first,
        "tracebacks": total("TRACEBACK"),
        "silent_not_finite": total("NOT"),
        "refused": total("refused"),
        "read": total("read"),
        "peak_memory_mb": peak,
        "memory_before_mb": before,
        "seconds": round(seconds, 1),
        "by_kind": dict(sorted(counts.items())),
    }


def peak_megabytes() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2_000, help="how many damaged files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", choices=KINDS, help="damage this kind of file alone")
    parser.add_argument("--keep", type=Path, help="folder for the files that went wrong")
    parser.add_argument(
        "--out", type=Path, help="where to write the counts (JSON), every thousand files"
    )
    parser.add_argument(
        "--go-on", action="store_true", help="from where --out says that an earlier start came to"
    )
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    earlier: dict[str, Any] = {"seconds": 0.0, "peak_memory_mb": 0}
    if args.go_on and args.out is not None and args.out.exists():
        earlier = json.loads(args.out.read_text())
        if (earlier["seed"], earlier["first"]) != (args.seed, args.first):
            raise SystemExit(f"{args.out} has another seed or another first case.")
        counts.update(earlier["by_kind"])
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        originals, work = Path(folder) / "originals", Path(folder) / "work"
        make_originals(originals)
        before = peak_megabytes()

        def found() -> dict[str, Any]:
            peak = max(peak_megabytes(), earlier["peak_memory_mb"])
            return report(
                args, counts, peak, before, earlier["seconds"] + time.perf_counter() - started
            )

        for number in range(args.first + counts.total(), args.first + args.files):
            kind, became = try_case(number, args.seed, originals, work, args.only)
            word, _, detail = became.partition(" ")
            counts[f"{kind}: {word}"] += 1
            if word in ("TRACEBACK", "NOT"):
                print(f"case {number}, {kind}: {word} {detail[-1500:]}", flush=True)
                if args.keep is not None:
                    shutil.copytree(work, args.keep / str(number))
            if args.out is not None and counts.total() % 1000 == 0:
                write(args.out, found())
        result = found()
    print(json.dumps(result, indent=2))
    if args.out is not None:
        write(args.out, result)
    if result["tracebacks"] or result["silent_not_finite"]:
        raise SystemExit(1)


def write(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
