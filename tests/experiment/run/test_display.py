"""The display: one line per round where nobody watches;
a table, a bar and the time left on a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

from icrl.experiment.run.display import LiveDisplay
from icrl.methods.learners import Snapshot
from icrl.rounds import Progress

METRICS = {
    "seconds": 2.0,
    "agent/return": 57.25,
    "agent/cost": 0.125,
    "constraint/cost_demos": 0.011,
    "constraint/cost_samples": 0.477,
    "constraint/kl_old_new": 11.4,
    "constraint/kl_new_old": 1.84,
    "agent/multiplier": 0.75,
}


def snapshot(number, rounds, steps):
    return Snapshot(number, rounds, steps, None, None, None, {})


def shown(console, metrics, rounds=3):
    display = LiveDisplay("icrl on lap-grid, seed 0", 3000, console)
    with display:
        display.on_update(Progress(500, rounds))
        for number in range(rounds):
            display.on_round(snapshot(number, rounds, 1000 * (number + 1)), metrics)
    return display


def test_without_a_terminal_a_round_is_one_line_however_narrow_the_page():
    page = io.StringIO()
    shown(Console(file=page, width=40), METRICS)
    lines = page.getvalue().splitlines()
    assert lines[0] == "icrl on lap-grid, seed 0"
    assert len(lines) == 1 + 2 + 3
    assert "cost: mean 1 − ζ in training, D: of the demonstrations, S: of the samples" in lines[1]
    assert lines[3] == (
        "round 1/3  steps 1,000  steps/s 500  return 57.2  cost 0.125  cost D 0.011  cost S 0.477  "
        "KL o→n 11.4  KL n→o 1.84  λ 0.75"
    )


def test_a_method_without_a_constraint_shows_dashes():
    page = io.StringIO()
    shown(Console(file=page, width=200), {"seconds": 1.0, "agent/return": 3.0})
    assert "cost D -  cost S -  KL o→n -  KL n→o -" in page.getvalue()


@pytest.mark.parametrize("width", [80, 140])
def test_a_terminal_shows_everything(width):
    console = Console(force_terminal=True, record=True, width=width, file=io.StringIO())
    display = shown(console, METRICS)
    text = console.export_text()
    for word in ("round", "steps/s", "return", "cost D", "cost S", "KL o→n", "KL n→o", "λ"):
        assert word in text
    assert "…" not in text  # nothing was cut off to make it fit
    for value in ("3/3", "3,000", "57.2", "0.011", "0.477", "11.4", "1.84", "0.75"):
        assert value in text
    assert "round 3/3" in text
    assert "/s" in text
    assert "0:00:00" in text  # the time left, on the bar
    assert "100%" in text
    assert display.rounds_done == 3


def test_the_numbers_of_a_long_run_fit_an_ordinary_terminal():
    console = Console(force_terminal=True, record=True, width=80, file=io.StringIO())
    display = LiveDisplay("icrl on half-cheetah-wall, seed 0", 3_850_000, console)
    metrics = {
        **METRICS,
        "agent/return": 5123.4,
        "constraint/kl_old_new": 1.28e-05,
        "constraint/kl_new_old": 1.3e-05,
    }
    with display:
        display.on_round(snapshot(36, 38, 3_850_000), {**metrics, "seconds": 120.0})
    text = console.export_text()
    assert "…" not in text
    for value in ("37/38", "3,850,000", "32,083", "5123.4", "1.28e-05", "1.3e-05", "0.75"):
        assert value in text


def test_only_the_last_rounds_are_kept_in_view():
    console = Console(force_terminal=True, record=True, width=120, file=io.StringIO())
    display = shown(console, METRICS, rounds=30)
    page = Console(record=True, width=120, file=io.StringIO())
    page.print(display._render())
    text = page.export_text()
    assert "30/30" in text
    assert "18/30" not in text
    assert len(display.rows) == 12


def test_numbers_that_are_not_finite_are_shown_not_hidden():
    page = io.StringIO()
    shown(Console(file=page, width=200), {**METRICS, "constraint/kl_old_new": float(np.nan)})
    assert "KL o→n nan" in page.getvalue()


def test_more_rounds_than_were_guessed_are_no_fraction_above_one():
    page = io.StringIO()
    with LiveDisplay("icrl on lap-grid, seed 0", 3000, Console(file=page)) as display:
        display.on_round(snapshot(5, 5, 6000), METRICS)
    assert "round 6/6" in page.getvalue()
