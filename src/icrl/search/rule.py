"""A rule: a wall in a few axes; what it is found from, and what was found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.region import Region, RegionAxis
from icrl.search.axes import Axis
from icrl.search.find import Candidate, Question
from icrl.search.question import Values, measured, rulers_of
from icrl.search.wall import Wall, joined, place_wall
from icrl.types import BoolArray, FloatArray

_HALF_WAY = 0.5
"""From demonstrations to the evidence: what is done there is plainly forbidden."""
_JUST_INSIDE = 0.999
"""Of the level: between nodes that lie on it, rounding decides."""


class Rule(NamedTuple):
    """What was found."""

    axes: tuple[Axis, ...]
    candidate: Candidate
    region: Region
    """Columns of its axes count the features of `axes`, in order."""
    borne: float
    """t: how far from demonstrations the wall stands, on rulers from 0 to 1."""
    flagged_held_out: float
    """p: share of held-out demonstrations that come nearer to the evidence than that."""
    reached: FloatArray
    """[demonstrations]: how deep each gets where only the others are shown."""


class Finding(NamedTuple):
    """An answer to the question, with what else it could have been."""

    rule: Rule | None
    """None: nothing is forbidden, as far as the evidence goes."""
    rivals: tuple[Candidate, ...]
    """The best few, the chosen one first; those that are vetoed last."""
    strength: float
    """How much there was to explain, from 0 to 1."""
    names: tuple[str, ...]
    """Of all axes: what the numbers in candidates stand for."""
    challengers: tuple[Rule, ...] = ()
    """Rules that agents were asked to obey and that do as much as the one that was chosen; first
    those that are worth most, as far as they leave alone what chance does."""

    def named(self, candidate: Candidate) -> str:
        """The axes of a candidate, in words."""
        return " + ".join(self.names[axis] for axis in candidate.axes)

    @property
    def said(self) -> str:
        """The finding in words."""
        if self.rule is None:
            return "no rule explains what agents do"
        best = self.rule.candidate
        said = f"a rule over {self.named(best)} (score {best.score:.2f})"
        others = [rival for rival in self.rivals if rival.axes != best.axes and not rival.vetoed]
        if others:
            said += f"; next {self.named(others[0])} ({others[0].score:.2f})"
        return said

    def told(self) -> dict[str, Any]:
        """What metrics tell of it."""
        told: dict[str, Any] = {
            "strength": self.strength,
            "rivals": [[self.named(rival), rival.score] for rival in self.rivals],
        }
        if self.rule is not None:
            told["axes"] = self.named(self.rule.candidate)
            told["score"] = self.rule.candidate.score
        return told

    def card(self) -> dict[str, Any]:
        """What the card of a constraint says of it."""
        card: dict[str, Any] = {
            "strength": self.strength,
            "rivals": [
                {
                    "axes": self.named(rival),
                    "score": float(rival.score),
                    "explained": float(rival.explained),
                    "refuted": float(rival.refuted),
                    "vetoed": bool(rival.vetoed),
                    "kept": rival.kept,
                    "by_chance": rival.by_chance,
                    "lost": rival.lost,
                }
                for rival in self.rivals
            ],
        }
        if self.rule is not None:
            card["axes"] = [axis.name for axis in self.rule.axes]
            card["borne"] = self.rule.borne
            card["flagged_held_out"] = self.rule.flagged_held_out
        return card


class Kept(NamedTuple):
    """What agents keep of their gain while they obey a rule, without learning anew, and how."""

    share: float
    """Of what they earn beyond demonstrations, by whoever keeps most."""
    ways: Values | None = None
    """What they did, each up to where the rule stopped it."""
    weights: FloatArray | None = None
    """[trajectories of `ways`]: how much each needs explaining"""


class Problem(NamedTuple):
    """Evidence to be explained."""

    axes: tuple[Axis, ...]
    shown: Values
    done: Values
    weights: FloatArray
    """[M]: how much each trajectory needs explaining; every generation has the same sum"""
    paid: FloatArray
    """[M, T]: what was earned before each step, as a share of what demonstrations earn"""
    strength: float
    """How much there is to explain, from 0 to 1."""
    kept_under: "Callable[[Rule], Kept] | None" = None
    """Lets agents act under a rule; None: they cannot be asked."""
    chance: Values | None = None
    """What an agent does that has learned nothing."""


def depths_of(rule: Rule, axes: tuple[Axis, ...], values: FloatArray) -> FloatArray:
    """Depth of the region at axis values [n, q]."""
    return rule.region.depths(inputs_of(rule, axes, values))


def plainly_forbidden(rule: Rule, axes: tuple[Axis, ...], values: FloatArray) -> BoolArray:
    """[n]: axis values [n, q] that lie half-way to the evidence and beyond.

    Demonstrations may end where chance begins (a wall at the start), and what lies beyond them by a
    hair tells nothing.
    """
    least = max(rule.region.level, _HALF_WAY * rule.region.evidence_depth)
    return np.asarray(depths_of(rule, axes, values) > least)


def inputs_of(rule: Rule, axes: tuple[Axis, ...], values: FloatArray) -> FloatArray:
    """[n, f]: what the region looks at, of axis values [n, q]."""
    inputs: list[FloatArray] = []
    for place in rule.candidate.axes:
        axis = axes[place]
        column = values[:, place]
        if axis.categorical:
            inputs.append(np.eye(len(axis.columns))[column.astype(np.int64)])
        else:
            inputs.append(column[:, None])
    return np.concatenate(inputs, axis=1)


def wall_in(problem: Problem, candidate: Candidate, question: Question) -> Rule:
    """The wall in the axes of a candidate."""
    chosen = tuple(problem.axes[place] for place in candidate.axes)
    part = list(candidate.axes)
    shown = problem.shown._replace(values=problem.shown.values[:, part])
    done = problem.done._replace(values=problem.done.values[:, part])
    # one axis may span 200 m with its wall at -3: there the ruler follows where the data are
    even = 1.0
    if len(chosen) == 1:
        even = 0.5
    rulers = rulers_of(chosen, shown, done, even)
    flagged = question.tables.look(candidate.axes, candidate.scale).novel
    places = measured(rulers, shown).places
    owners = shown.owners
    # A state that moves passes what lies between two steps. An action jumps, and between two names
    # there is nothing. Along one axis demonstrations are dense: what they jump over and never stop
    # at is not shown (a barred range of speeds, decision 0033).
    if len(chosen) > 1 and not any(axis.of_action or axis.categorical for axis in chosen):
        places, owners = joined(places, owners)
    wall = place_wall(
        rulers,
        places,
        owners,
        measured(rulers, done).places,
        done.owners,
        problem.weights,
        flagged,
    )
    nodes: list[FloatArray] = []
    for ruler, grid in zip(rulers, wall.grids, strict=True):
        if ruler.few:
            nodes.append(ruler.values)
        else:
            nodes.append(ruler.values_at(grid))
    rule = Rule(
        axes=chosen,
        candidate=candidate,
        region=region_of(chosen, tuple(nodes), wall),
        borne=wall.borne,
        flagged_held_out=wall.flagged_held_out,
        reached=wall.reached,
    )
    return _allowing(rule, problem)


def _allowing(rule: Rule, problem: Problem) -> Rule:
    """The same wall, but for places where it would cut off a demonstrated
    step that lies between nodes."""
    inputs = inputs_of(rule, problem.axes, problem.shown.values)
    region = rule.region
    # Only its own nodes are let through: to move the whole wall out for one step would free much
    # that nobody showed (decision 0019).
    cut_off = region.depths(inputs) > region.level
    if not cut_off.any():
        return rule
    depth = region.depth.copy()
    for nodes in region.nodes_around(inputs[cut_off]):
        depth[nodes] = np.minimum(depth[nodes], _JUST_INSIDE * region.level)
    return rule._replace(region=replace(region, depth=depth))


def region_of(axes: tuple[Axis, ...], nodes: tuple[FloatArray, ...], wall: Wall) -> Region:
    """The wall as a region of the features of these axes, in order."""
    grid = []
    first = 0
    for axis, values in zip(axes, nodes, strict=True):
        width = len(axis.columns)
        grid.append(RegionAxis(columns=tuple(range(first, first + width)), nodes=values))
        first += width
    return Region(axes=tuple(grid), depth=wall.depth, evidence_depth=wall.evidence_depth)
