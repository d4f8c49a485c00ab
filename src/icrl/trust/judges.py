"""What fresh agents under ζ earn, which no demonstration helps:
the run's own judges, and one that is trained now.

The agent that is handed out begins as a clone of the demonstrations: that it keeps a rule says
little of ζ. A judge knows reward and ζ alone. If it out-earns the demonstrations, something that
held the expert back is missing from ζ; if it earns next to nothing, ζ forbids the way, or the judge
was not trained for long enough.
"""

from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.evidence.gathered import STILL
from icrl.trust.check import Check, Level
from icrl.trust.returns import LOWER, MORE, compared, forbids_anything

NAME = "judges"
NOTHING = 0.5
"""A judge that earns less than this share of what the demonstrations earn shows little."""


class Judged(NamedTuple):
    """How one judge ended."""

    mean_return: float
    """Up to the first forbidden step of each episode."""
    forbidden: float
    """Share of its steps that ζ forbids."""
    steps: int | None = None
    """It was trained for so many steps just now; None: by the run."""


def judge_of_card(constraint: LearnedConstraint) -> Judged | None:
    """The run's last judge, if it stood under the ζ that was kept."""
    search = constraint.card.get("search")
    # A card may come from anywhere, or from a version that wrote less: what it does not say is
    # unknown, and no error.
    if not isinstance(search, dict):
        return None
    judged = search.get("judged")
    if not isinstance(judged, list) or not judged or not isinstance(judged[-1], dict):
        return None
    generations = search.get("generations", 0)
    if not isinstance(generations, int) or generations > len(judged):
        return None  # ζ was found anew after that
    told = judged[-1]
    numbers = [told.get("return"), told.get("forbidden")]
    if not all(isinstance(number, int | float) and np.isfinite(number) for number in numbers):
        return None
    return Judged(float(told["return"]), float(told["forbidden"]))


def _is_much(constraint: LearnedConstraint, beyond: float) -> bool:
    """What a judge earns beyond the demonstrations is much beside what agents without a rule earn
    beyond them; so it is where the run did not say."""
    search = constraint.card.get("search")
    if not isinstance(search, dict):
        return True
    scouts = search.get("scouts_beyond")
    if not isinstance(scouts, int | float) or not np.isfinite(scouts):
        return True
    return bool(beyond >= STILL * scouts)


def check_judges(
    constraint: LearnedConstraint,
    demos: Demonstrations | None,
    judged: Judged | None,
    elsewhere: bool | None,
) -> Check:
    """Does a fresh agent under ζ earn what the demonstrations earn?

    `elsewhere`: it goes where none of them was.
    """
    if not forbids_anything(constraint):
        return Check(NAME, Level.good, "ζ forbids nothing: scouts are its judges", {})
    if judged is None:
        reason = (
            "no agent without help from demonstrations was trained under this ζ: --judge trains one"
        )
        return Check(NAME, Level.unknown, reason, {})
    numbers: dict[str, Any] = {
        "judge_return": judged.mean_return,
        "judge_steps_infeasible": judged.forbidden,
    }
    if judged.steps is not None:
        numbers["judge_trained"] = judged.steps
    if demos is None or not demos.has_rewards:
        return Check(NAME, Level.unknown, "what the demonstrations earn is unknown", numbers)
    by = compared(judged.mean_return, demos)
    numbers |= {"judge_difference": by.share, "judge_deviations": by.deviations}
    said = (
        f"a fresh agent under ζ, whom no demonstration helped, earns {judged.mean_return:,.1f} "
        f"({by.share:+.0%})"
    )
    if judged.steps is not None:
        said += f" after {judged.steps:,} steps of training"
    beyond = judged.mean_return - float(np.mean(demos.trajectories.returns))
    # Four conditions, since this one condemns ζ: a right rule over a boiler's pressure was told "do
    # not trust it" when less was asked (decision 0022).
    if by.share > MORE and by.deviations > 1.0 and elsewhere and _is_much(constraint, beyond):
        reason = f"{said} and goes where no demonstration was: it found a way past ζ that pays"
        return Check(NAME, Level.bad, reason, numbers)
    if by.share > MORE and by.deviations > 1.0:
        return Check(
            NAME,
            Level.care,
            f"{said}: it may have found a way past ζ, or is better than the expert",
            numbers,
        )
    if by.share < -NOTHING:
        return Check(
            NAME, Level.care, f"{said}: ζ forbids too much, or it needs more training", numbers
        )
    # 15 %, where it was 30 % before decision 0021.
    if by.share < -LOWER:
        return Check(NAME, Level.care, f"{said}: it shows little", numbers)
    return Check(NAME, Level.good, f"{said}: no way past ζ pays", numbers)
