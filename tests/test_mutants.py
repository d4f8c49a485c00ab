"""Faults are seen by plain calls of the tests, and what does the same is not."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

PROGRAM = """
import json, sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]) / "benchmarks"))
import quick_tests

root = Path(sys.argv[1])
source = (root / "src/icrl/agent/multiplier.py").read_text()
codes = {
    "the same": source + "# nothing",
    "another number": source.replace("max(raw, 0.0)", "max(raw, 1.0)"),
    "no Python": "def",
    "fails when imported": source + "1 / 0",
    "never ends": source.replace("return max(raw", "while True: pass\\n    return max(raw"),
    "after that": source.replace("-30.0", "-29.0"),
}
quick_tests.START_SECONDS = 2.0
found = quick_tests.seen_quickly(
    "agent/multiplier", Path(sys.argv[2]), [str(root / sys.argv[3])], codes, source
)
print(json.dumps(sorted(set().union(*found))))
"""


def test_quick_tests_see_faults_and_leave_the_rest_to_pytest(tmp_path):
    words = [str(ROOT), str(tmp_path), "tests/agent/test_multiplier.py"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        "after that",
        "another number",
        "fails when imported",
        "never ends",
        "no Python",
    ]


def test_no_fault_in_the_rooms_that_must_have_none_goes_unseen():
    """As committed: `make mutants` takes hours."""
    rooms = json.loads((ROOT / "results" / "reliability" / "mutants.json").read_text())["rooms"]
    assert {room["room"].rpartition("/")[2]: room["survivors"] for room in rooms} == {
        name: []
        for name in (
            "weights",
            "objective",
            "backward_step",
            "advantages",
            "multiplier",
            "evaluate",
        )
    }
