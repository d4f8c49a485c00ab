"""The notebooks run from top to bottom, in a process and a folder of their own,
and show what they promise."""

import json
import subprocess
import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
resources = {"metadata": {"path": sys.argv[2]}}
NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
nbformat.write(notebook, sys.argv[3])
"""


def executed(name, folder):
    """What a notebook shows once it has run: all of its text in one."""
    target = folder / "executed.ipynb"
    command = [sys.executable, "-c", EXECUTE, str(NOTEBOOKS / name), str(folder), str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    shown = []
    for cell in json.loads(target.read_text())["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            shown += ["".join(output.get("text", "")), "".join(data.get("text/plain", "")), *data]
    return "\n".join(shown)


def test_first_steps(tmp_path):
    shown = executed("first_steps.ipynb", tmp_path)
    assert "(the expert earns 60)" in shown
    assert "forbidden: action = anticlockwise" in shown
    assert "Verdict: " in shown
    assert "action 0 after 1 refused" in shown
    assert "image/png" in shown


def test_own_logs(tmp_path):
    shown = executed("own_logs.ipynb", tmp_path)
    assert "20 episodes" in shown
    assert "forbidden: level >" in shown
    assert "What would change it" in shown
    assert "cost 1.00" in shown
    assert "cost 0.00" in shown


def test_comparing_methods(tmp_path):
    shown = executed("comparing_methods.ipynb", tmp_path)
    assert "icrl-seed1" in shown
    assert "violation_rate" in shown
    assert "image/png" in shown


def test_every_notebook_is_tested_and_holds_no_outputs():
    names = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    tested = {"first_steps.ipynb", "own_logs.ipynb", "comparing_methods.ipynb"}
    assert names == tested
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        assert [
            cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]
        ] == []
