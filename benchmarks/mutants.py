"""Small faults put into a room of mathematics, one at a time: which of them do its tests not see?

    python benchmarks/mutants.py constraint/weights
    python benchmarks/mutants.py --out results/reliability/mutants.json   (all rooms)

The faults are cosmic-ray's (`pip install cosmic-ray`; `make mutants` does that): another operator,
a number that is one more or less, a turned condition, a missing decorator, a loop that is not run.
Each takes the place of the room while its tests are called (`quick_tests.py`); what is not seen so
is written into a copy, and pytest runs until the first test fails, in a fork of this process.

A mutant that no test kills is a survivor. Some cannot be killed, for they do the same as the room
itself: `EQUIVALENT` says why. With `--go-on` nothing is tried again that was tried before, as long
as the room and its tests are what they were (`.mutants/` remembers it).
"""

import argparse
import difflib
import hashlib
import json
import math
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from quick_tests import seen_quickly

ROOT = Path(__file__).parents[1]
ROOMS = {
    "agent/multiplier": ("tests/agent/test_multiplier.py",),
    "agent/advantages": ("tests/agent/test_advantages.py",),
    "constraint/weights": ("tests/constraint/test_weights.py",),
    "constraint/objective": ("tests/constraint/test_objective.py",),
    "evaluate": ("tests/test_evaluate.py",),
    "constraint/backward_step": ("tests/constraint/test_backward_step.py",),
}
"""The rooms and the tests that must see every fault in them."""
LIBRARIES = (
    "jax",
    "optax",
    "numpy",
    "gymnasium",
    "hypothesis.extra.numpy",
    "safetensors.numpy",
    "pytest",
    "mujoco",
)
PATIENCE = 5
"""A mutant that takes so many times the CPU time of the room, and `_START` seconds, never ends."""
_START = 20
MEMORY = ".mutants"
SAID = "said.txt"
"""What the last run of the tests said."""
_TRUTHS = "of truth values `*` is `&`"
_COUNT = "a count is never negative"
_LAST = "of [N, T] axis 1 is the last"
_ONE = "there is one sample at least"
_PADDING = "padding counts for nothing"
_ENUM = "members of an enum are equal only if they are the same"
EQUIVALENT: dict[str, dict[str, str]] = {
    "agent/multiplier": {
        "if config.initial != 0:": "a multiplier's first value is never negative (MultiplierConfig)"
    },
    "agent/advantages": {
        "_, advantages = jax.lax.scan(backward, jnp.zeros_like(deltas[ -1]), (deltas, decay), "
        "reverse=True)": "only the shape of a row is taken, and all have the same",
    },
    "constraint/weights": {
        "return logsumexp(log_omega) - jnp.log(log_omega.shape[ -1])": "log ω has one axis",
        "return jnp.sum(jnp.where(mask, log_zeta - old_log_zeta, 0.0), axis=1)": _LAST,
        "return jnp.sum(jnp.where(mask, log_zeta - old_log_zeta, 0.0), axis=+1)": _LAST,
    },
    "constraint/objective": {
        "has_evidence = jnp.sum(sample_weights) != 0": "weights are never negative",
        "if config.weights == Weights.step:": _ENUM,
        "if config.weights == Weights.trajectory:": _ENUM,
        "if config.weights >= Weights.step:": "asked only with none and step, by their names",
        "if config.weights >= Weights.trajectory:": "no member has a name after it",
    },
    "evaluate": {
        "scenario.violates(trajectories.observations, trajectories.actions) * trajectories.mask": (
            _TRUTHS
        ),
        "kept = np.sum(trajectories.rewards * (before_first * trajectories.mask), axis=1)": _TRUTHS,
        "iou=float(np.sum(judged * forbidden) / either) if either else None,": _TRUTHS,
        "int(np.sum(judged * forbidden)),": _TRUTHS,
        "int(np.sum(~judged * forbidden)),": _TRUTHS,
        "int(np.sum(judged * ~forbidden)),": _TRUTHS,
        "int(np.sum(~judged * ~forbidden)),": _TRUTHS,
        "either = int(np.sum(judged + forbidden))": "of truth values `+` is `|`",
        "before_first = np.cumsum(violations, axis=1) <= 0": _COUNT,
        "if num_positive <= 0 or num_negative == 0:": _COUNT,
        "if num_positive == 0 or num_negative <= 0:": _COUNT,
        "(ranks[positives].sum() - num_positive * (num_positive + 1) // 2)": "n (n + 1) is even",
        "gaps = [n * abs(c - s) for n, c, s in zip(pairs, mean_cost, share, strict=False)]": (
            "all three have one entry for each bin that is used"
        ),
    },
    "constraint/backward_step": {
        "if config.kl_unit == KLUnit.step:": _ENUM,
        "if config.kl_unit <= KLUnit.step:": "the other member's name comes after it",
        "if config.max_kl_old_new is not None and num_samples <= 1:": _ONE,
        "if num_samples != 1:": _ONE,
        "f\"{num_samples}{f' / {length} steps' if length != 1 else ''}). Use {more}{lower}no limit "
        '"': "an episode has one step at least",
        "if power >= 3 and length <= power * 3 // 4:": "3 is no power of two",
        "if power >= 4 and length <= power * 3 / 4:": "from 4 on powers of two are divisible by 4",
        "if trajectories.num_steps <= 0:": _COUNT,
        "inputs = np.where(mask[:, :, None], inputs, np.float32( 1))": _PADDING,
        "inputs = np.where(mask[:, :, None], inputs, np.float32( -1))": _PADDING,
        "extra = padded_length(mask.shape[1]) % mask.shape[1]": (
            "a padded length is less than twice the length"
        ),
        "return (halvings <= MAX_HALVINGS) * ~_within_limits(at(halvings), samples, config)": (
            _TRUTHS
        ),
        "return (loop.updates_made < config.updates) * ~loop.step_shortened": _TRUTHS,
        "return (loop.updates_made != config.updates) & ~loop.step_shortened": (
            "updates are counted one by one up to their limit"
        ),
        "stopped_early=bool(end.step_shortened) and updates_made != config.updates,": (
            "there are never more updates than their limit"
        ),
        "return at(halvings), halvings != 0": _COUNT,
    },
}
"""By room: the line as the mutant has it, and why it does the same."""


class Mutant(NamedTuple):
    """A room with one fault."""

    operator: str
    code: str
    change: str
    """The lines that differ: - as they were, + as they are."""


def mutants_of(source: str) -> Iterator[Mutant]:
    """Every fault that can be put into a source, each once."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    seen = {source}
    for name in sorted(operator_names()):
        kind = get_operator(name)
        if kind.arguments():
            continue
        occurrence = 0
        while (code := mutate_code(source, kind(), occurrence)) is not None:
            occurrence += 1
            if code not in seen:
                seen.add(code)
                yield Mutant(name.removeprefix("core/"), code, _change(source, code))


def _change(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def passes(room: str, folder: Path, tests: tuple[str, ...], cpu_seconds: int | None = None) -> bool:
    """The tests pass in the copy within so much CPU time, as a fork of this process runs them."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            if cpu_seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
            said = os.open(folder / SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            # two sources of one size and one second are the same to Python
            sys.dont_write_bytecode = cpu_seconds is not None
            os.chdir(folder)
            sys.path.insert(0, str(folder / "src"))
            warnings.simplefilter("error", SyntaxWarning)  # as in our tests
            import_module(f"icrl.{room.replace('/', '.')}")  # many a fault is seen here already
            import pytest

            words = ["-x", "-q", "-p", "no:cacheprovider"]
            # libraries are there before pytest is: their own asserts are nothing to us
            words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            code = int(pytest.main([*words, *tests]))
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status == 0


def try_room(
    room: str, tests: tuple[str, ...], root: Path = ROOT, go_on: bool = False
) -> dict[str, Any]:
    """Put every fault into a room, and list those that its tests do not see."""
    memory = root / MEMORY / f"{room.replace('/', '-')}-{digest(room, tests, root)}.json"
    memory.parent.mkdir(exist_ok=True)
    known: dict[str, bool] = {}
    """Which were tried, and whether they survived."""
    if go_on and memory.exists():
        known = json.loads(memory.read_text())
    with tempfile.TemporaryDirectory(prefix="icrl-mutants-") as name:
        folder = Path(name)
        for part in ("src", "tests"):
            shutil.copytree(
                root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "extras")
            )
        shutil.copy(root / "pyproject.toml", folder)
        path = folder / "src" / "icrl" / f"{room}.py"
        source = path.read_text(encoding="utf-8")
        before = _cpu_of_children()
        if not passes(room, folder, tests):
            said = (folder / SAID).read_text(errors="replace")
            raise SystemExit(f"{room}: its tests fail without any fault:\n{said[-3000:]}")
        most = _START + math.ceil(PATIENCE * (_cpu_of_children() - before))
        for old in path.parent.glob(f"__pycache__/{path.stem}.*"):
            old.unlink()
        began = time.monotonic()
        survivors = []
        mutants = {_key(mutant.code): mutant for mutant in mutants_of(source)}
        codes = {key: one.code for key, one in mutants.items() if key not in known}
        for seen in seen_quickly(room, folder, tests, codes, source):
            known |= dict.fromkeys(seen, False)
            memory.write_text(json.dumps(known))
        print(f"{room}: {len(codes)} to try, {len(set(codes) - set(known))} left to pytest")
        for key, mutant in mutants.items():
            if key not in known:
                path.write_text(mutant.code, encoding="utf-8")
                known[key] = _compiles(mutant.code) and passes(room, folder, tests, most)
                memory.write_text(json.dumps(known))
            if known[key]:
                survivors.append(mutant)
                print(f"{room}: survived ({mutant.operator})\n{mutant.change}", flush=True)
    return {
        "room": room,
        "tests": list(tests),
        "digest": digest(room, tests, root),
        "mutants": len(mutants),
        "killed": len(mutants) - len(survivors),
        "seconds": round(time.monotonic() - began),
        **_sorted_out(room, survivors),
    }


def _key(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _sorted_out(room: str, survivors: list[Mutant]) -> dict[str, Any]:
    """Survivors that do the same as the room, with the reason, and those that do not."""
    reasons = EQUIVALENT.get(room, {})
    same = []
    others = []
    for mutant in survivors:
        said = {"operator": mutant.operator, "change": mutant.change.splitlines()}
        new = " ".join(
            line[1:].strip() for line in mutant.change.splitlines() if line.startswith("+")
        )
        if new in reasons:
            same.append({**said, "why": reasons[new]})
        else:
            others.append(said)
    return {"equivalent": same, "survivors": others}


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def digest(room: str, tests: tuple[str, ...], root: Path = ROOT) -> str:
    """Of the room and its tests, as they are now."""
    paths = [root / "src" / "icrl" / f"{room}.py", *(root / test for test in tests)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*", help=f"of: {', '.join(ROOMS)}; none: all of them")
    parser.add_argument("--tests", nargs="+", default=None, help="instead of the room's own")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--go-on", action="store_true", help="leave out what was tried before")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    if args.go_on and args.out is not None and args.out.exists():
        found = {one["room"]: one for one in json.loads(args.out.read_text())["rooms"]}
    # JAX reads its settings when it is imported; what is not the mutant's own is compiled once.
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a third of the time of most mutants
    from icrl.runtime import configure_jax

    configure_jax()
    for name in LIBRARIES:
        import_module(name)
    # forks import icrl anew, from the copy
    for name in [name for name in sys.modules if name.partition(".")[0] == "icrl"]:
        del sys.modules[name]
    command = f"python benchmarks/mutants.py {' '.join(sys.argv[1:])}".strip()
    for room in args.rooms or ROOMS:
        tests = tuple(args.tests or ROOMS.get(room, ()))
        if not tests:
            raise SystemExit(f"{room}: name its tests with --tests.")
        found[room] = try_room(room, tests, go_on=args.go_on)
        one = found[room]
        print(
            f"{room}: {one['mutants']} mutants, {one['killed']} killed, "
            f"{len(one['equivalent'])} the same as the room, {len(one['survivors'])} survivors",
            flush=True,
        )
        if args.out is not None:
            args.out.write_text(
                json.dumps({"command": command, "rooms": list(found.values())}, indent=1) + "\n"
            )
    return sum(len(one["survivors"]) for one in found.values())


if __name__ == "__main__":
    sys.exit(bool(main()))
