"""Writes the numbers of docs/reliability.md from what was measured:
`python docs/build_reliability.py`.
"""

import json
import textwrap
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("reliability.md")
RESULTS = Path(__file__).parents[1] / "results"
START = "<!-- made by docs/build_reliability.py: do not edit by hand -->"
END = "<!-- end -->"
KILLED = {
    "lap-grid": "runs of `lap-grid`",
    "half-cheetah": "runs of `half-cheetah-wall`",
    "suite": "suites",
    "ray": "nodes under suites on Ray",
}
DAMAGED = ("fuzz", "fuzz-checkpoint", "fuzz-all-kinds")
COUNTS = (
    "kills",
    "runs",
    "runs that differ",
    "unreadable directories",
    "unexpected exit codes",
    "tracebacks",
)


def page() -> str:
    """The page with its numbers made anew."""
    text = TARGET.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    parts = (_killed(), _damaged(), _steady(), _kept(), _faults())
    return before + START + "\n\n" + "\n\n".join(parts) + "\n\n" + END + after


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return found


def _killed() -> str:
    """A row for each kind and commit; of a kind with several commits also their sum."""
    rows = [
        "| killed | commit | kills | ended | that differ | unreadable | wrong exit codes | "
        "tracebacks |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, name in KILLED.items():
        paths = sorted((RESULTS / "reliability").glob(f"chaos-{kind}-*.json"))
        found = [_read(f"reliability/{path.name}") for path in paths]
        rows += [_row(name, one["commit"], [one]) for one in found]
        if len(found) > 1:
            rows.append(_row(f"**{name}**", "**all**", found))
    return "\n".join(rows)


def _row(name: str, commit: str, found: list[dict[str, Any]]) -> str:
    counts = [f"{sum(one[count] for one in found):,}" for count in COUNTS]
    return f"| {name} | {commit} | {' | '.join(counts)} |"


def _damaged() -> str:
    found = [_read(f"reliability/{name}.json") for name in DAMAGED]

    def total(what: str) -> int:
        return sum(one[what] for one in found)

    kinds = [item for one in found for item in one["by_kind"].items()]
    checkpoints = sum(count for name, count in kinds if name.startswith("checkpoint"))
    peak = max(one["peak_memory_mb"] for one in found)
    return _wrapped(
        f"Of {total('files'):,} damaged files ({checkpoints:,} of them checkpoints) "
        f"{total('refused'):,} were refused",
        f"in words and {total('read'):,} read as something whole: {total('tracebacks')} "
        "tracebacks,",
        f"{total('silent_not_finite')} numbers that are silently not finite, and a peak of {peak} "
        "MB, most of it",
        "from before the first file.",
    )


def _steady() -> str:
    found = _read("reliability/memory-lap-grid.json")
    before = _read("reliability/memory-lap-grid-before.json")
    return _wrapped(
        f"Memory grew by {found['growth_share_since']:.1%} over {found['steps'] / 1e6:.1f}M steps",
        f"of `lap-grid` after the first tenth, from {found['megabytes_after_a_tenth']:.0f} to",
        f"{found['most_megabytes_since']:.0f} MB ({before['growth_share_since']:.1%} before what",
        "agents visited lay in one piece of memory); descriptors were",
        f"{found['descriptors_after_a_tenth']} there and",
        f"{found['descriptors_at_the_last_round']} at the end, and "
        f"{found['processes_left_after_its_end']} processes",
        "were left.",
    )


def _kept() -> str:
    path = "bench/checkpoint.json"
    if not (RESULTS / path).exists():
        return "What checkpoints take of a HalfCheetah run has not been measured yet."
    kept = _read(path)
    return _wrapped(
        f"{kept['checkpoints']} checkpoints took {kept['share_of_run']:.2%} of the time of a run "
        f"of `{kept['task']}`",
        f"({kept['steps'] / 1e6:.2f}M steps, {kept['run_seconds']:.0f} s; the load of the machine "
        "was",
        f"{kept['machine']['load_average'][0]}).",
    )


def _faults() -> str:
    path = "reliability/mutants.json"
    if not (RESULTS / path).exists():
        return "Which faults in the rooms of mathematics no test sees has not been listed yet."
    rooms = _read(path)["rooms"]
    total = sum(one["mutants"] for one in rooms)
    same = sum(len(one["equivalent"]) for one in rooms)
    unseen = sum(len(one["survivors"]) for one in rooms)
    names = ", ".join(f"`{one['room']}`" for one in rooms)
    return _wrapped(
        f"Of {total:,} faults put into {names} the tests see {total - same - unseen:,}; "
        f"{same} do the same as the room (`results/{path}` says why of each),",
        f"{unseen} are not seen.",
    )


def _wrapped(*parts: str) -> str:
    return textwrap.fill(" ".join(parts), 100, break_on_hyphens=False)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
