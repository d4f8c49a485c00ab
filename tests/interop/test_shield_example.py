"""The example of the shield runs as it is, and its walker sails round."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "shield.py"


def test_the_shielded_walker_keeps_the_law(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"return +(\d+), (\d+) of (\d+) steps", done.stdout)
    (free, none, steps), (total, refused, same) = ((int(a), int(b), int(c)) for a, b, c in rows)
    assert (none, steps, same) == (0, 200, 200)
    assert free < total == 60  # five laps: what the expert earns
    assert 60 < refused < 140  # half of a random walker's first ideas are anticlockwise
