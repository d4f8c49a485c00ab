"""Every block of Python in the README runs, in a process and a folder of its own."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n```python\ny = 2\nz = 3\n```\n"
    assert python_blocks(text) == ["x = 1\n", "y = 2\nz = 3\n"]


def test_the_python_of_the_readme_runs(tmp_path):
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert blocks, "the README shows no Python"
    for number, block in enumerate(blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-W", "error::DeprecationWarning:icrl", "-c", block],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"block {number + 1} of the README:\n{block}\n{done.stderr}"
