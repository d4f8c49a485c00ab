"""Where the time of a run went: shares of the whole, a number only where there is room for it."""

import pytest

from icrl.report import time_bar
from icrl.report.time_bar import draw_time_bar, time_table
from icrl.spans import PHASES

SECONDS = {**dict.fromkeys(PHASES, 0.0), "physics": 90.0, "update": 7.0, "acting": 3.0}


def test_the_table_has_every_phase_and_the_whole():
    table = time_table("a run", SECONDS)
    names, seconds, shares, _ = ([*column.cells] for column in table.columns)
    told = dict(zip(names, zip(seconds, shares, strict=True), strict=True))
    assert set(told) == {*PHASES, "all"}
    assert told["physics"] == ("90.0", "90.0%")
    assert told["all"] == ("100.0", "100%")


def test_every_phase_has_a_colour_of_its_own():
    assert set(time_bar._COLOURS) == set(PHASES)
    assert len(set(time_bar._COLOURS.values())) == len(PHASES)


def test_pieces_too_short_for_a_number_bear_none(tmp_path, monkeypatch):
    written = []

    def look(figure, path, dpi):
        written.extend(text.get_text() for text in figure.axes[0].texts)
        path.touch()

    monkeypatch.setattr(time_bar, "save_figure", look)
    path = draw_time_bar({"a": SECONDS, "b": SECONDS}, tmp_path / "bar.png")
    assert path.exists()
    assert written == ["90", "7"] * 2  # 3 % is below the limit of 4 %


def test_the_bar_is_a_picture(tmp_path):
    path = draw_time_bar({"a": SECONDS}, tmp_path / "bar.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size == pytest.approx(20_000, rel=0.9)
