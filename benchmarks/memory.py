"""Resident memory, descriptors and processes of one training run over time:
are they flat, and how large are they?

    python benchmarks/memory.py --task half-cheetah-wall --steps 2000000
    python benchmarks/memory.py --task lap-grid --steps 10000000 \\
        --out results/reliability/memory-lap-grid.json

Starts `icrl learn` as a process of its own (further words are handed to it), looks at it once a
second, and writes results/bench/memory.json (samples, peak, growth, what is left when it has ended,
versions, command). Growth is that of learning, from a tenth of the steps on, when all is compiled;
the pictures that are drawn at the end count in the peak.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from icrl.versions import library_versions

OUT = Path(__file__).parents[1] / "results" / "bench" / "memory.json"


def resident_megabytes(pid: int) -> float | None:
    """Resident set size in MB, or None once the process is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        return None
    return None


def descriptors_of(pid: int) -> list[str]:
    """What its open descriptors are; empty once the process is gone."""
    found = []
    try:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            found.append(os.readlink(path))
    except OSError:  # gone, or closed while we looked
        return found
    return found


def descendants_of(pid: int) -> set[int]:
    """Processes that it started, and those that these started."""
    parents = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parents[int(path.name)] = int(
                    (path / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


def steps_done(directory: Path) -> int:
    """Environment steps of the last finished round."""
    metrics = directory / "metrics.jsonl"
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return int(json.loads(lines[-1])["steps"]) if lines else 0


def judge(samples: list[dict[str, float]], left: set[int]) -> dict[str, Any]:
    """Peak and growth of the samples."""
    learning = [s for s in samples if s["steps"] > 0 and not s["finished"]]
    settled = [s for s in learning if s["steps"] >= learning[-1]["steps"] / 10]
    half = learning[len(learning) // 2 :]
    first = settled[0]
    most = max(s["megabytes"] for s in settled)
    return {
        "steps": int(learning[-1]["steps"]),
        "peak_megabytes": max(s["megabytes"] for s in samples),
        "megabytes_after_a_tenth": first["megabytes"],
        "most_megabytes_since": most,
        "growth_share_since": round(most / first["megabytes"] - 1, 4),
        "growth_megabytes_over_second_half": round(half[-1]["megabytes"] - half[0]["megabytes"], 1),
        "descriptors_after_a_tenth": int(first["descriptors"]),
        "most_descriptors_since": int(max(s["descriptors"] for s in settled)),
        "descriptors_at_the_last_round": int(settled[-1]["descriptors"]),
        "most_processes_it_started": int(max(s["processes"] for s in samples)),
        "processes_left_after_its_end": len(left),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="half-cheetah-wall")
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--out", type=Path, default=OUT)
    args, further = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        program = "from icrl.cli import main; main()"
        command = [
            "learn",
            args.task,
            "--steps",
            str(args.steps),
            "--out",
            str(directory),
            *further,
        ]
        process = subprocess.Popen(
            [sys.executable, "-c", program, *command], stdout=subprocess.DEVNULL
        )
        samples: list[dict[str, float]] = []
        children: set[int] = set()
        started = time.perf_counter()
        while process.poll() is None:
            memory = resident_megabytes(process.pid)
            own = descendants_of(process.pid)
            children |= own
            if memory is not None:
                samples.append({
                    "seconds": round(time.perf_counter() - started, 1),
                    "steps": steps_done(directory),
                    "finished": (directory / "scores.json").exists(),
                    "megabytes": round(memory, 1),
                    "descriptors": len(descriptors_of(process.pid)),
                    "processes": len(own),
                })  # fmt: skip
            time.sleep(1.0)
        if process.returncode != 0:
            raise SystemExit(f"icrl learn ended with {process.returncode}")
    left = {pid for pid in children if Path(f"/proc/{pid}").exists()}
    result = {
        "command": f"python benchmarks/memory.py {' '.join(sys.argv[1:])}",
        **judge(samples, left),
        "versions": library_versions(),
        "samples": samples[:: max(1, len(samples) // 60)],
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({k: v for k, v in result.items() if k != "samples"}, indent=1))


if __name__ == "__main__":
    main()
