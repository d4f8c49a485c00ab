"""`icrl demos check`: facts by hand arithmetic, and each finding on data made to provoke it."""

import io
import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rich.console import Console

from icrl.demos.check import DemosReport, describe, render_report
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations
from icrl.tasks.task import Task
from icrl.types import Trajectories


def make_demos(
    seed: int = 0, discrete: bool = False, card: dict[str, Any] | None = None, **changes: Any
) -> Demonstrations:
    rng = np.random.default_rng(seed)
    base = Trajectories(
        observations=rng.uniform(-1, 1, (4, 50, 2)),
        actions=rng.integers(0, 2, (4, 50)) if discrete else rng.uniform(-1, 1, (4, 50, 1)),
        rewards=np.ones((4, 50)),
        lengths=np.full(4, 50),
    )
    return Demonstrations(trajectories=replace(base, **changes), discrete=discrete, card=card or {})


def make_task(discrete: bool = False, bound: float = 1.0, horizon: int = 50) -> Task:
    def no_env(num_envs: int) -> gym.vector.VectorEnv:
        raise AssertionError("checking must not simulate")

    return Task(
        name="plane",
        make_env=no_env,
        observation_space=gym.spaces.Box(-bound, bound, (2,), np.float64),
        action_space=gym.spaces.Discrete(3)
        if discrete
        else gym.spaces.Box(-1, 1, (1,), np.float64),
        observation_names=("x", "y"),
        action_names=("left", "right", "stay") if discrete else ("push",),
        horizon=horizon,
    )


def render(report: DemosReport) -> str:
    console = Console(width=200, file=(stream := io.StringIO()))
    console.print(render_report(report))
    return stream.getvalue()


def found(report: DemosReport) -> str:
    return "\n".join(f"{'ERROR ' if f.fatal else ''}{f.what}" for f in report.findings)


def test_facts_by_hand() -> None:
    # Two episodes of 2 and 1 steps: x is 0, 10, 4; rewards 1 + 2 = 3 and 5.
    t = Trajectories(
        observations=np.array([[[0.0], [10.0]], [[4.0], [0.0]]]),
        actions=np.array([[0, 1], [1, 0]]),
        rewards=np.array([[1.0, 2.0], [5.0, 9.0]]),
        lengths=np.array([2, 1]),
    )
    report = describe(Demonstrations(trajectories=t, discrete=True, observation_names=("x",)))
    assert (report.episodes, report.steps, report.lengths) == (2, 3, (1, 1, 2))
    assert report.returns == (3.0, 4.0, 5.0)
    x, first, second = report.columns
    assert (x.name, x.low, x.high) == ("x", 0.0, 10.0)
    assert x.mean == pytest.approx(14 / 3)
    # Bins of width 0.5 over [0, 10]: 0 is in bin 0, 4 in bin 8, 10 in bin 19: 3 of 20.
    assert x.coverage == pytest.approx(3 / 20)
    assert (first.name, second.name) == ("action 0", "action 1")
    assert second.mean == pytest.approx(2 / 3)
    assert (first.coverage, second.coverage) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert report.duplicate_episodes == 0
    assert report.duplicate_rows == 0
    assert report.actions_outside is None


def test_good_demonstrations_have_no_findings() -> None:
    report = describe(make_demos(), make_task())
    assert report.findings == ()
    assert report.actions_outside == 0
    assert [column.name for column in report.columns] == ["x", "y", "push"]
    text = render(report)
    assert "nothing to be wary of" in text
    assert "episodes 4, steps 200, lengths 50 to 50" in text


def test_coverage_is_of_the_tasks_bounds() -> None:
    # Values in [-1, 1] of bounds [-4, 4]: at most the middle quarter (a bin more at each edge).
    coverage = describe(make_demos(), make_task(bound=4.0)).columns[0].coverage
    assert 0.2 <= coverage <= 0.35


def test_each_finding_is_provoked() -> None:
    still = make_demos().trajectories.observations.copy()
    still[..., 1] = 3.0
    assert "1 columns never change (obs_1)" in found(describe(make_demos(observations=still)))
    assert "lengths are mixed, from 5 to 50 steps" in found(
        describe(make_demos(lengths=np.array([50, 5, 50, 50])))
    )
    assert "every episode has 50 steps, task plane has 80" in found(
        describe(make_demos(), make_task(horizon=80))
    )
    assert "rewards are unknown" in found(describe(make_demos(card=dict(REWARDS_UNKNOWN))))
    failed = np.ones((4, 50))
    failed[2] = 0
    assert "1 episodes earn far below the median 50 (number 2: 0)" in found(
        describe(make_demos(rewards=failed))
    )
    assert "observed values lie outside the observation space (x, y)" in found(
        describe(make_demos(), make_task(bound=0.5))
    )


def test_few_episodes_and_copies() -> None:
    one = make_demos().trajectories
    cut = replace(
        one, **{n: getattr(one, n)[:1] for n in ("observations", "actions", "rewards", "lengths")}
    )
    assert "there are 1 episodes" in found(
        describe(Demonstrations(trajectories=cut, discrete=False))
    )
    twice = replace(
        one,
        **{
            n: np.tile(getattr(one, n)[:1], (4, *[1] * (getattr(one, n).ndim - 1)))
            for n in vars(one)
        },
    )
    report = describe(Demonstrations(trajectories=twice, discrete=False))
    assert report.duplicate_episodes == 3
    assert report.duplicate_rows == pytest.approx(0.75)
    assert "3 episodes repeat an earlier one" in found(report)
    frozen = replace(
        one,
        **{n: np.repeat(getattr(one, n)[:, ::2], 2, axis=1) for n in ("observations", "actions")},
    )
    assert "50% of the steps repeat" in found(
        describe(Demonstrations(trajectories=frozen, discrete=False))
    )


def test_actions_that_are_never_taken() -> None:
    report = describe(make_demos(discrete=True), make_task(discrete=True))
    assert "1 action is never taken (stay)" in found(report)
    assert report.actions_outside == 0
    left, right, stay = report.columns[2:]
    assert left.coverage + right.coverage == pytest.approx(1)  # shares of the steps
    assert stay.coverage == 0
    assert re.search(r"stay .* 0% ", render(report))


def test_an_action_that_is_rarely_taken_is_not_shown_as_never() -> None:
    actions = np.zeros((4, 50), int)
    actions[0, 0] = 1  # 1 of 200 steps: 0.5 %
    assert re.search(
        r"right .* <1% ",
        render(describe(make_demos(discrete=True, actions=actions), make_task(True))),
    )


@pytest.mark.parametrize("told", [True, False])
def test_states_that_are_never_visited_are_not_to_be_left_out(told: bool) -> None:
    # Half of the steps in s0, half in s2, none in s1.
    states = np.eye(3)[np.tile([0, 2], (4, 25))]
    world = replace(
        make_task(discrete=True),
        observation_space=gym.spaces.Box(0, 1, (3,), np.float64),
        observation_names=("s0", "s1", "s2"),
        one_hot=True,
    )
    base = make_demos(discrete=True, observations=states)
    demos = replace(base, observation_names=("s0", "s1", "s2"))
    report = describe(demos, world if told else None)
    assert [column.coverage for column in report.columns[:3]] == [0.5, 0, 0.5]
    assert "1 of 3 states are never visited (s1)" in found(report)
    assert "never change" not in found(report)
    assert "--features" not in render(report)


def test_one_row_repeated_is_no_one_hot_state() -> None:
    still = np.tile([1.0, 0.0], (4, 50, 1))
    assert "2 columns never change" in found(describe(make_demos(observations=still)))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([50, 50, 50, 50], "every episode has 50 steps, task plane has 80"),
        ([50, 50, 5, 7], "2 of 4 episodes have exactly 50 steps, task plane has 80"),
        ([50, 40, 5, 7], None),  # nobody shares the greatest length
        ([50, 5, 5, 5], None),  # what many share is not the greatest: a way that ends there
        ([50, 50, 6, 5, 7], None),  # less than half
    ],
)
def test_a_clipped_recording_is_told_by_how_many_share_the_greatest_length(
    lengths: list[int], expected: str | None
) -> None:
    one = make_demos().trajectories
    rows = {
        n: getattr(one, n)[np.arange(len(lengths)) % 4]
        for n in ("observations", "actions", "rewards")
    }
    demos = make_demos(lengths=np.array(lengths), **rows)
    text = found(describe(demos, make_task(horizon=80)))
    assert expected in text if expected else "task plane has 80" not in text
    assert "task plane has" not in found(describe(demos, make_task(horizon=50)))


def test_demonstrations_that_do_not_fit_are_errors() -> None:
    report = describe(make_demos(actions=np.full((4, 50, 1), 2.0)), make_task())
    assert report.actions_outside == 200
    assert "ERROR 200 actions are outside the action space of task plane" in found(report)
    assert "ERROR" in render(report)
    report = describe(make_demos(discrete=True), make_task())
    assert report.actions_outside is None
    assert (
        "ERROR actions are discrete (integers), task plane has continuous (floats) ones"
        in found(report)
    )


def test_names_with_brackets_are_printed_as_they_are() -> None:
    demos = Demonstrations(
        trajectories=make_demos().trajectories,
        discrete=False,
        observation_names=("[red]x", "pos[1]"),
    )
    text = render(describe(demos))
    assert "[red]x" in text
    assert "pos[1]" in text


def test_values_near_the_largest_float_are_described_without_overflow() -> None:
    huge = np.full((4, 50, 2), 1.7e308)
    huge[0] *= -1
    report = describe(make_demos(observations=huge, rewards=np.full((4, 50), 1.7e308)))
    assert report.returns == (np.inf, np.inf, np.inf)
    assert np.isfinite([report.columns[0].mean, report.columns[0].coverage]).all()
