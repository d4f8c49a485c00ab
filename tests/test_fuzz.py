"""Damaged files end in words: a few of those that `benchmarks/fuzz.py`
makes by the hundred thousand."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"


def test_no_damaged_file_ends_in_a_traceback_or_is_read_with_numbers_that_are_not_finite(tmp_path):
    words = ["--files", "500", "--seed", "7", "--out", str(tmp_path / "counts.json")]
    done = subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts["refused"] + counts["read"] == 500
    assert min(counts["refused"], counts["read"]) > 20
    assert (counts["tracebacks"], counts["silent_not_finite"]) == (0, 0)
    damaged = {name.partition(":")[0] for name in counts["by_kind"]}
    assert {"demos.npz", "constraint", "policy", "checkpoint", "config", "records"} <= damaged
