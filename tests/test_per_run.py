"""Per-run data of results: compressed, the same bytes for the same content, readable as before."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
FOR_READERS = {"scores.json"}
"""The contract of committed results: a list of scores, which people open too."""


def load():
    spec = importlib.util.spec_from_file_location("per_run", ROOT / "benchmarks" / "per_run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


per_run = load()
ROWS = [{"run": "disc-seed4", "hit": 0.9375, "axes": ["east_m", "north_m"], "why": None}]


def test_what_is_written_is_read_back_and_its_bytes_hold_no_time(tmp_path):
    per_run.write(tmp_path / "runs", ROWS)
    first = (tmp_path / "runs.json.gz").read_bytes()
    assert per_run.read(tmp_path / "runs") == ROWS
    per_run.write(tmp_path / "runs", ROWS)
    assert (tmp_path / "runs.json.gz").read_bytes() == first
    assert first[4:8] == b"\0\0\0\0"  # gzip keeps the time of writing in these four


def test_a_plain_file_of_old_is_read_and_gives_way_to_the_packed_one(tmp_path):
    (tmp_path / "runs.json").write_text(json.dumps(ROWS))
    assert per_run.read(tmp_path / "runs") == ROWS
    per_run.write(tmp_path / "runs", [])
    assert [path.name for path in tmp_path.iterdir()] == ["runs.json.gz"]
    assert per_run.read(tmp_path / "runs") == []


def test_where_nothing_was_written_nothing_is_read(tmp_path):
    assert per_run.read(tmp_path / "runs") is None


def test_committed_per_run_data_can_be_read_and_are_not_plain():
    packed = sorted(RESULTS.rglob("*.json.gz"))
    assert len(packed) >= 5
    for path in packed:
        assert per_run.read(path.with_suffix("").with_suffix("")), path
    plain = [path for path in RESULTS.rglob("*.json") if path.name not in FOR_READERS]
    assert [path.name for path in plain if path.stat().st_size > 50_000] == []
