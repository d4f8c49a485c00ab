"""How many rounds fit, and how the learning rate falls over them: by hand."""

from dataclasses import replace

import pytest

from icrl.errors import InputError
from icrl.rounds import Progress, learning_rate_share, num_rounds, report_progress
from icrl.tasks.lap_grid import lap_grid
from small_runs import ROUND, TINY

TASK = lap_grid().task


def test_a_round_is_its_training_and_its_samples_at_their_longest():
    # 512 steps of training (two rollouts of 4 x 64) and two laps of 200 steps
    assert ROUND == 2 * 4 * 64 + 2 * 200
    assert num_rounds(TASK, replace(TINY, steps=3 * ROUND)) == 3
    assert num_rounds(TASK, replace(TINY, steps=3 * ROUND - 1)) == 2


def test_too_few_steps_are_refused_with_the_numbers_that_would_do():
    with pytest.raises(InputError, match=rf"steps = {ROUND - 1} is too few: 1 round of {ROUND}"):
        num_rounds(TASK, replace(TINY, steps=ROUND - 1))


def test_scouts_need_a_round_each_and_one_more():
    with pytest.raises(InputError, match=r"4 rounds .* or --scouts"):
        num_rounds(TASK, replace(TINY, steps=3 * ROUND, scouts=3))


@pytest.mark.parametrize(
    ("end", "steps", "expected"),
    # 1 − (1 − end) · share of the run
    [(0.0, 0, 1.0), (0.0, 50, 0.5), (0.0, 100, 0.0), (0.2, 50, 0.6), (1.0, 70, 1.0)],
)
def test_the_learning_rate_falls_evenly(end, steps, expected):
    forward = replace(TINY.forward, learning_rate_end=end)
    config = replace(TINY, steps=100, forward=forward)
    assert learning_rate_share(steps, config) == pytest.approx(expected)


def test_progress_is_told_on_top_of_what_was_made_before():
    told = []
    report_progress(told.append, 1000, 7, 24)
    assert told == [Progress(steps=1024, rounds=7)]
