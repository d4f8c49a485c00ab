"""How a method's constraint presses on an agent, and transfer (paper, Section 4.2):
a new agent under a frozen one.

A constraint is a fact about the world, so another body with another reward can use it: its features
are found in the new task by name. Whether it acts as a cost or as a bonus is its method's.
"""

from icrl.baselines.gail_constraint import log_feasibility_bonus
from icrl.config import LearnConfig
from icrl.constraint.found import cost_function
from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError, unknown_name
from icrl.methods.record import Presses
from icrl.methods.registry import find_method, is_known, preset, that_press
from icrl.presets import forward_alone
from icrl.runtime import one_thread
from icrl.tasks.task import Task
from icrl.transfer import AgentRound, OnAgentRound, OnProgress, Pressure, train_under


def method_of(constraint: LearnedConstraint) -> str:
    """The method that learned a constraint, by its card."""
    method = constraint.card.get("method")
    if method is None:
        raise InputError(
            "the constraint's card does not say which method learned it, so how it is to act on an "
            f"agent is unknown: say it with --method ({', '.join(that_press())})."
        )
    return str(method)


def pressure_of(constraint: LearnedConstraint, method: str) -> Pressure:
    """How a constraint that `method` learned acts:
    as a cost 1 − ζ, or as log ζ added to the reward."""
    # The name is from a card that somebody else may have written: a method `module:name` is never
    # imported for it (`find_method` refuses, and says what to type).
    if not is_known(method) and ":" not in method:
        raise unknown_name("method of a constraint", method, that_press())
    presses = find_method(method).presses
    if presses is None:
        raise unknown_name("method of a constraint", method, that_press())
    if presses is Presses.bonus:
        return Pressure(bonus=log_feasibility_bonus(constraint.cost))
    # With what a region can tell beside its cost: the shield needs it to find the way back
    # (decision 0021).
    return Pressure(cost=cost_function(constraint))


@one_thread()
def transfer(
    constraint: LearnedConstraint,
    task: Task,
    config: LearnConfig | None = None,
    seed: int = 0,
    method: str | None = None,
    on_round: OnAgentRound = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> AgentRound:
    """Train a new agent on `task` under `constraint`,
    in the form of the method that its card (or `method`) names.

    Without a `config`: the default settings of that method's agents, as on the command line.
    """
    form = method or method_of(constraint)
    # By name, before anything is trained: a feature that is missing is an error at once.
    pressure = pressure_of(constraint.for_task(task), form)
    settings = config
    if settings is None:
        settings = forward_alone(preset("default", task, form))
    return train_under(pressure, task, settings, seed, on_round, on_progress)
