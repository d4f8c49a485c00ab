"""Resident memory of one training run over time: is it flat, and how large is it?

    python benchmarks/memory.py --task half-cheetah-wall --steps 2000000

Starts `icrl learn` as a process of its own, samples its resident set once a second, and writes
results/bench/memory.json (samples, peak, growth over the second half, versions, command).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def steps_done(directory: Path) -> int:
    """Environment steps of the last finished round."""
    metrics = directory / "metrics.jsonl"
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return int(json.loads(lines[-1])["steps"]) if lines else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="half-cheetah-wall")
    parser.add_argument("--steps", type=int, default=2_000_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        program = "from icrl.cli import main; main()"
        command = ["learn", args.task, "--steps", str(args.steps), "--out", str(directory)]
        process = subprocess.Popen(
            [sys.executable, "-c", program, *command], stdout=subprocess.DEVNULL
        )
        samples: list[dict[str, float]] = []
        started = time.perf_counter()
        while process.poll() is None:
            memory = resident_megabytes(process.pid)
            if memory is not None:
                samples.append(
                    {
                        "seconds": round(time.perf_counter() - started, 1),
                        "steps": steps_done(directory),
                        "megabytes": round(memory, 1),
                    }
                )
            time.sleep(1.0)
        if process.returncode != 0:
            raise SystemExit(f"icrl learn ended with {process.returncode}")
    trained = [s for s in samples if s["steps"] > 0]
    half = trained[len(trained) // 2 :]
    result = {
        "command": f"python benchmarks/memory.py --task {args.task} --steps {args.steps}",
        "peak_megabytes": max(s["megabytes"] for s in samples),
        "growth_megabytes_over_second_half": round(half[-1]["megabytes"] - half[0]["megabytes"], 1),
        "versions": library_versions(),
        "samples": samples[:: max(1, len(samples) // 60)],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({k: v for k, v in result.items() if k != "samples"}, indent=1))


if __name__ == "__main__":
    main()
