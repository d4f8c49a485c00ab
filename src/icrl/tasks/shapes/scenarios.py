"""The worlds of Shapes with their rules: what the evaluator and the scripted experts know."""

from icrl.errors import unknown_name
from icrl.tasks.shapes.names import FAMILY
from icrl.tasks.shapes.truth import RULES
from icrl.tasks.shapes.worlds import WORLDS
from icrl.tasks.task import Scenario


def make_shape(name: str) -> Scenario:
    """The scenario `shapes/NAME`."""
    world_name = name.removeprefix(FAMILY)
    if world_name not in WORLDS:
        raise unknown_name("world of shapes", world_name, WORLDS)
    rule = RULES[world_name]
    return Scenario(
        task=WORLDS[world_name].task,
        violates=rule.violates,
        constraint=rule.words,
        violation_reward=rule.violation_reward,
        demos=f"shapes-{world_name}.npz",
    )
