"""What `icrl explain` prints, and writes as `explain.json`."""

import math
from typing import Any

import numpy as np
from rich.console import Console

from icrl.explain.left_open import OpenWall, Rival
from icrl.explain.open_interval import EXPLAINED, OpenInterval
from icrl.explain.reading import MATTERS, Reading, threshold_of, verdict_on
from icrl.explain.rules import Explanation
from icrl.explain.search import Condition
from icrl.words import say

_MOST_FEATURES = 6


def print_reading(reading: Reading, console: Console) -> None:
    """The rules with fidelity and support; the interval that is left open;
    which features matter."""

    if not reading.recorded:
        say(
            console,
            "This run kept no record of where its agents went (visited.npz): ζ is read on the "
            "demonstrations and on\n"
            "copies of them with one feature moved. Nothing can be said about evidence.",
        )
    if reading.rule is None:
        share = float(np.mean(reading.judged.forbidden))
        say(
            console,
            f"No rule: ζ forbids {share:.0%} of the {len(reading.judged.forbidden):,} recorded "
            "pairs.",
        )
        for line in rival_lines(reading):
            say(console, line)
        return
    say(console, f"{verdict_on(reading.rule)[0].upper()}{verdict_on(reading.rule)[1:]}.")
    for explanation in (reading.rule, reading.longer):
        if explanation is not None:
            say(console, f"  {explanation}: forbidden", "bold")
            for line in rule_lines(explanation):
                say(console, f"    {line}")
    say(console, zeta_line(reading))
    condition = threshold_of(reading.rule)
    if reading.interval is not None and condition is not None:
        for line in interval_lines(reading.interval, condition, reading.turning):
            say(console, line)
    for line in [*wall_lines(reading), *rival_lines(reading)]:
        say(console, line)
    order = [int(i) for i in np.argsort(-reading.influence, kind="stable")[:_MOST_FEATURES]]
    shown = [
        f"{reading.judged.names[i]} {reading.influence[i]:.0%}"
        for i in order
        if reading.influence[i] >= MATTERS
    ]
    say(
        console,
        "What matters to ζ (share of judgements that flip when shuffled): "
        f"{', '.join(shown) or 'nothing'}.",
    )


def interval_lines(
    interval: OpenInterval, condition: Condition, turning: tuple[float, float] | None
) -> list[str]:
    """The interval that the data leave open, with what bounds it on either side."""
    name = condition.name
    lowest = "highest"
    beyond = "above"
    if condition.low == -math.inf:
        lowest = "lowest"
        beyond = "below"
    ends = ["?" if end is None else f"{end:.4g}" for end in (interval.low, interval.high)]
    lines = [
        (
            f"The data leave open: from {ends[0]} to {ends[1]}. Where in there the threshold of "
            f"{name} is, they cannot say."
        )
    ]
    if interval.contradictory:
        lines = [f"No threshold on {name} explains the evidence without forbidding demonstrations:"]
    lines.append(
        f"  {interval.proven:.4g} is the {lowest} {name} of the demonstrations, which obey the "
        "constraint;"
    )
    if interval.needed is None:
        lines.append("  nothing bounds the other side: ζ flags no recorded episode.")
    else:
        lines.append(
            f"  {interval.needed:.4g} is as far as {EXPLAINED:.0%} of the "
            f"{interval.flagged_episodes} flagged episodes go: a threshold {beyond} it would leave "
            "more of them unexplained."
        )
    if interval.bulk is not None:
        lines.append(
            f"  95 % of what these episodes do beyond the demonstrations is {beyond} "
            f"{interval.bulk:.4g}."
        )
    if interval.gap is not None:
        lines.append(f"  Nobody was seen between {interval.gap[0]:.4g} and {interval.gap[1]:.4g}.")
    if turning is not None:
        lines.append(
            f"  ζ itself turns between {turning[0]:.4g} and {turning[1]:.4g}, as the other "
            "features have it."
        )
    return lines


def wall_lines(reading: Reading) -> list[str]:
    """The wall at both ends of caution: what the data leave open of a rule that was found."""
    wall = reading.wall
    if wall is None:
        return []
    lenient = wall.lenient or "next to nothing"
    return [
        (
            "Caution moves the wall between demonstrations and evidence (it is "
            f"{wall.caution:g} here; `with_caution`):"
        ),
        f"  with all caution (1): {wall.cautious}",
        f"  with none (0): {lenient}",
    ]


def rival_lines(reading: Reading) -> list[str]:
    """The sets of features that explain the evidence best."""
    if not reading.rivals:
        return []
    lines = ["What explains the evidence best, by what the search goes by (docs/explain.md):"]
    own = None
    if reading.rule is not None:
        own = reading.rivals[0]
        lines.append(f"  * {_rival_line(own, None)}")
    others = [rival for rival in reading.rivals if rival is not own]
    for rival in sorted(others, key=lambda other: (other.vetoed or other.lost, -other.spared)):
        lines.append(f"    {_rival_line(rival, own)}")
    return lines


def _rival_line(rival: Rival, own: Rival | None) -> str:
    """One set of features; `own`: those that were chosen."""
    notes = [f"explains {rival.explained:.0%} of it"]
    if rival.refuted > 0:
        notes.append(f"{rival.refuted:.0%} of held-out demonstrations refute it")
    if rival.kept is not None:
        notes.append(
            f"agents that obey it keep {rival.kept:.0%} of what they earn beyond demonstrations"
        )
    if rival.vetoed:
        notes.append("vetoed: something earlier explains as much")
    if rival.lost:
        notes.append("an agent trained under it told against it")
    if own is not None and rival.holds(own):
        notes.append("it holds the chosen ones, and fewer are preferred")
    return f"{rival.spared:.2f} {rival.axes} ({'; '.join(notes)})"


def reading_as_json(reading: Reading) -> dict[str, Any]:
    """The content of `explain.json`."""
    return {
        "fits": reading.rule is not None and reading.rule.fits,
        "verdict": verdict_on(reading.rule),
        "rule": _explanation_as_json(reading.rule),
        "longer_rule": _explanation_as_json(reading.longer),
        "open_interval": _fields(reading.interval),
        "turning_zone": reading.turning,
        "influence": dict(zip(reading.judged.names, map(float, reading.influence), strict=True)),
        "agents_recorded": reading.recorded,
        "wall": _fields(reading.wall),
        "rivals": [rival._asdict() for rival in reading.rivals],
    }


def _fields(part: OpenInterval | OpenWall | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return part._asdict()


def _finite(bound: float) -> float | None:
    """An open side is null in JSON."""
    if math.isfinite(bound):
        return bound
    return None


def _explanation_as_json(explanation: Explanation | None) -> dict[str, Any] | None:
    if explanation is None:
        return None
    return {
        "text": str(explanation),
        "form": explanation.form,
        "rules": [
            [
                {
                    "feature": condition.name,
                    "above": _finite(condition.low),
                    "at_most": _finite(condition.high),
                    "choice": condition.choice,
                }
                for condition in rule
            ]
            for rule in explanation.rules
        ],
        "fidelity": explanation.fidelity._asdict(),
        "support": explanation.support._asdict(),
    }


def rule_lines(explanation: Explanation) -> list[str]:
    """Fidelity to ζ, and support in the data."""
    fidelity = explanation.fidelity
    support = explanation.support
    precision = "-"
    if fidelity.precision is not None:
        precision = f"{fidelity.precision:.3f}"
    even = ""
    if fidelity.even_agreement is not None:
        even = f"; {fidelity.even_agreement:.3f} on an even sample of the region's box"
    return [
        f"balanced agreement with ζ {fidelity.balanced_agreement:.3f} (precision {precision}, "
        f"recall {fidelity.recall:.3f}) on {fidelity.pairs:,} pairs that it was not chosen "
        f"on{even}",
        f"these words forbid {support.demonstrated:,} of {support.of_demonstrated:,} demonstrated "
        f"pairs and {support.by_agents:,} of {support.of_by_agents:,} recorded pairs of agents",
    ]


def zeta_line(reading: Reading) -> str:
    """What ζ itself forbids: the words beside it may be off."""
    judged = reading.judged
    shown = judged.by_expert
    said = []
    for who, mine in (("demonstrated pairs", shown), ("recorded pairs of agents", ~shown)):
        if mine.any():
            said.append(f"{int(judged.forbidden[mine].sum()):,} of {int(mine.sum()):,} {who}")
    line = f"ζ itself forbids {' and '.join(said)}"
    if reading.rule is not None and not reading.rule.fits:
        line += "; it is what counts, and the words only describe it"
    return f"{line}."
