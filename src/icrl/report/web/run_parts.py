"""What the page says of one run in words: its rule, what the data leave open, how far to trust it,
its agent."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icrl.explain.reading import MATTERS, Reading, threshold_of, verdict_on
from icrl.report.explain_summary import interval_lines, rival_lines, rule_lines, wall_lines
from icrl.report.records import Group, RunRecord
from icrl.report.web.constraint import View
from icrl.report.web.markup import Html, element, joined
from icrl.words import quoted

_PICTURES = {"policy.webp": "image/webp", "policy.gif": "image/gif"}
_MOST_BYTES = 3_000_000
"""Of all animations of a page together."""
_LEVELS = {"good": "✓ good", "care": "! care", "bad": "✗ bad", "unknown": "? unknown"}


class Animations:
    """Which runs' animations the page has room for: first one of every method, then others."""

    def __init__(self, runs: Sequence[RunRecord]) -> None:
        found = {
            run.directory: path for run in runs if (path := _picture(run.directory)) is not None
        }
        seen: set[tuple[str, str]] = set()
        first = []
        others = []
        for run in (run for run in runs if run.directory in found):
            if (run.task, run.label) in seen:
                others.append(run.directory)
            else:
                first.append(run.directory)
            seen.add((run.task, run.label))
        self.pictures: dict[Path, Path] = {}
        self.left_out: set[Path] = set()
        # Animations are the largest part of a page: a budget in bytes bounds it, however many runs
        # there are.
        room = _MOST_BYTES
        for directory in [*first, *others]:
            size = found[directory].stat().st_size
            if size <= room:
                self.pictures[directory] = found[directory]
                room -= size
            else:
                self.left_out.add(directory)

    def of(self, run: RunRecord) -> Html:
        """The animation of a run, or how to get one."""
        if run.directory in self.pictures:
            path = self.pictures[run.directory]
            data = base64.b64encode(path.read_bytes()).decode("ascii")
            source = f"data:{_PICTURES[path.name]};base64,{data}"
            alt = (
                f"Animation: the agent of seed {run.seed} on {run.task}, with what its constraint "
                "charges below"
            )
            return element(
                "details",
                element("summary", "The agent at work (animation)"),
                _image(source, alt),
                open=True,
            )
        if run.directory in self.left_out:
            return element(
                "p",
                "The animation of this run had no room on this page: see ",
                element("code", run.name),
            )
        return element(
            "p",
            "No animation yet. Make one with ",
            element("code", f"icrl render {quoted(run.directory)}"),
        )


def run_article(
    place: str, group: Group, run: RunRecord, view: View | None, animations: Animations
) -> Html:
    """All words about one run."""
    parts = [
        element("h4", f"{group.name}, seed {run.seed}"),
        element("p", element("code", run.directory)),
    ]
    if view is not None:
        parts += _reading(view.reading)
    parts += [_verdict(run), animations.of(run)]
    return element("article", *parts, class_="run", id=place)


def _reading(reading: Reading) -> list[Html]:
    """The rules with fidelity and support, the interval left open, which features matter."""
    parts = [element("h5", "The constraint in words"), element("p", f"{verdict_on(reading.rule)}.")]
    if not reading.recorded:
        parts.append(
            element(
                "p",
                "The run kept no record of where its agents went: nothing is known of evidence.",
            )
        )
    for explanation in (reading.rule, reading.longer):
        if explanation is not None:
            lines = [element("li", line) for line in rule_lines(explanation)]
            parts.append(
                element("p", element("strong", f"Forbidden: {explanation}"), class_="rule")
            )
            parts.append(element("ul", *lines))
    condition = threshold_of(reading.rule)
    if reading.interval is not None and condition is not None:
        parts.append(element("h5", "What the data leave open"))
        found = interval_lines(reading.interval, condition, reading.turning)
        parts.append(element("ul", *(element("li", line.strip()) for line in found)))
    for said in (wall_lines(reading), rival_lines(reading)):
        if said:
            parts.append(element("p", said[0]))
            parts.append(element("ul", *(element("li", line.strip()) for line in said[1:])))
    order = [int(i) for i in np.argsort(-reading.influence, kind="stable")]
    matters = [f"{reading.judged.names[i]} {reading.influence[i]:.0%}" for i in order[:6]
               if reading.influence[i] >= MATTERS]  # fmt: skip
    parts.append(element("p", f"What matters to ζ (share of judgements that flip when shuffled): "
                              f"{', '.join(matters) or 'nothing'}."))  # fmt: skip
    return parts


def _verdict(run: RunRecord) -> Html:
    """How far to trust the run, with the reasons, where `icrl evaluate` was asked."""
    heading = element("h5", "How far to trust it (without the truth)")
    trust: dict[str, Any] = run.evaluation.get("trust", {})
    if "verdict" not in trust:
        command = element("code", f"icrl evaluate {quoted(run.directory)}")
        return joined(
            [heading, element("p", "Not judged yet: ", command, " does, and adds it here.")]
        )
    verdict = str(trust["verdict"])
    checks = [
        element(
            "li",
            element(
                "span",
                _LEVELS.get(str(check.get("level")), "?"),
                class_=f"level {check.get('level')}",
            ),
            f" {name}: {check.get('reason')}",
        )
        for name, check in trust.get("checks", {}).items()
    ]
    said = element("p", element("strong", verdict), class_=f"verdict {verdict.replace(' ', '-')}")
    parts = [heading, said, element("ul", *checks, class_="checks")]
    if "would_change" in trust:
        parts.append(element("p", f"What would change it: {trust['would_change']}."))
    return joined(parts)


def _image(source: str, alt: str) -> Html:
    return Html(element("img", src=source, alt=alt, loading="lazy").removesuffix("</img>"))


def _picture(directory: Path) -> Path | None:
    found = [directory / name for name in _PICTURES if (directory / name).is_file()]
    if found:
        return found[0]
    return None
