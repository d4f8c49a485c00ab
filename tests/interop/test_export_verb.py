"""`icrl export` without its extra, and with a bad name.

What it writes is tested where ONNX is: tests/extras.
"""

import sys
from pathlib import Path

import pytest
from plain_worlds import line_constraint

import icrl
from icrl.cli import main
from icrl.errors import InputError
from icrl.interop.onnx_export import export_onnx


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'icrl\[onnx\]'"):
        export_onnx(line_constraint(), tmp_path / "c.onnx")
    assert list(tmp_path.iterdir()) == []


def test_the_suffix_is_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path), "--out", "c.pt"])
    assert "the suffix is '.pt', expected .onnx" in capsys.readouterr().err


def test_no_constraint_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path)])
    assert "holds no constraint" in capsys.readouterr().err


def test_the_public_names_are_at_home() -> None:
    for name in (
        "CostInInfo",
        "PenalisedReward",
        "Shield",
        "SixValueStep",
        "TerminateOnViolation",
        "export_onnx",
    ):
        assert getattr(icrl, name).__module__.startswith("icrl.interop.")
