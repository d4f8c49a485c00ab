"""How far ahead of its rivals a rule is, and whether agents under it go where no demonstration was.

Both are asked of constraints that were found by search. A rule that is right may have close rivals,
and an agent under it may have a style of its own: neither question refutes it. But "trust it" is
said only where both are answered well.
"""

from typing import Any

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.search.axes import make_axes
from icrl.search.find import Candidate, find
from icrl.search.question import put_question, values_of
from icrl.search.tables import sets_of
from icrl.tasks.task import Task
from icrl.trust.check import Check, Level
from icrl.types import Trajectories

NAME = "rivals"
ELSEWHERE = "elsewhere"
CLEAR = 0.3
"""A rule that scores less explains little of the evidence, or only at fine scales."""
AHEAD = 0.8
"""A rival that scores more than this share of what the rule scores is close."""
FEW = 5
"""Fewer demonstrations cannot hold each other to account."""
MUCH = 0.7
"""Strength of the evidence above which agents plainly out-earn the demonstrations."""
PLAINLY = 0.3
"""Score of a rule against the agent's own episodes, above which it plainly goes elsewhere."""


def check_rivals(constraint: LearnedConstraint) -> Check | None:
    """How clearly does the rule explain the evidence? None: it was not found by search."""
    search = constraint.card.get("search")
    if not isinstance(search, dict) or "rivals" not in search:
        return None
    rivals = [rival for rival in search["rivals"] if not rival["vetoed"]]
    numbers: dict[str, Any] = {
        "rivals": rivals,
        "strength": search["strength"],
        "demonstrations": search["demonstrations"],
    }
    few = search["demonstrations"] < FEW
    if "axes" not in search:
        return _without_a_rule(search, rivals, few, numbers)
    best = rivals[0]
    said = f"a rule over {best['axes']} explains {best['explained']:.0%} of the evidence (score {best['score']:.2f})"
    if few:
        reason = f"{said}, but {search['demonstrations']} demonstrations cannot hold each other to account"
        return Check(NAME, Level.care, reason, numbers)
    others = [rival for rival in rivals[1:] if not _part_of(best["axes"], rival["axes"])]
    if others and others[0]["score"] > AHEAD * best["score"]:
        rival = others[0]
        reason = f"{said}; one over {rival['axes']} explains nearly as much (score {rival['score']:.2f})"
        return Check(NAME, Level.care, reason, numbers)
    if best["score"] < CLEAR:
        return Check(NAME, Level.care, f"{said}: not clearly", numbers)
    return Check(NAME, Level.good, f"{said}; no rival comes near", numbers)


def _without_a_rule(search: dict[str, Any], rivals: list[dict[str, Any]], few: bool, numbers: dict[str, Any]) -> Check:
    """Nothing was found: good only where there was little to explain."""
    nearest = ""
    if rivals:
        nearest = f"; {rivals[0]['axes']} came nearest (score {rivals[0]['score']:.2f})"
    if search["strength"] >= MUCH:
        reason = f"agents without a rule out-earn the demonstrations, and no rule explains how{nearest}"
        return Check(NAME, Level.care, reason, numbers)
    level = Level.good
    if few:
        level = Level.care
    return Check(NAME, level, "no rule is needed to explain what agents do", numbers)


def check_elsewhere(
    constraint: LearnedConstraint, task: Task, demos: Demonstrations | None, played: Trajectories
) -> Check:
    """Does the agent under ζ spend its time where no demonstration ever was, in features that ζ ignores?"""
    if demos is None:
        return Check(ELSEWHERE, Level.unknown, "the demonstrations are not at hand", {})
    axes = make_axes(task.observation_names, task.action_names, task.one_hot, task.discrete)
    shown = values_of(axes, demos.trajectories, task.discrete)
    done = values_of(axes, played, task.discrete)
    weights = np.full(done.number, 1.0 / done.number)
    question = put_question(axes, shown, done, weights, np.zeros(played.rewards.shape))
    seen = set(constraint.features.columns)
    ignored = [
        chosen
        for chosen in sets_of(len(axes))
        if any(column not in seen for axis in chosen for column in axes[axis].columns)
    ]
    if not ignored:
        return Check(ELSEWHERE, Level.good, "ζ looks at everything there is", {})
    found = find(question, ignored)
    if not found or found[0].score < PLAINLY:
        score = 0.0
        if found:
            score = found[0].score
        return Check(ELSEWHERE, Level.good, "agents under ζ go where demonstrations went", {"score": score})
    best: Candidate = found[0]
    names = " + ".join(axes[axis].name for axis in best.axes)
    reason = (
        f"{best.explained:.0%} of its episodes go where no demonstration was in {names}, "
        "which ζ does not look at: a style of its own, or a rule that ζ has missed"
    )
    return Check(ELSEWHERE, Level.care, reason, {"axes": names, "score": best.score})


def _part_of(one: str, other: str) -> bool:
    """One set of axes holds the other."""
    first = set(one.split(" + "))
    second = set(other.split(" + "))
    return first <= second or second <= first
