"""What the paper prints: final values read off its figures (to about 3 %), and Table 1."""

from typing import NamedTuple

from icrl.methods.binary_classifier import BINARY_CLASSIFIER
from icrl.methods.gail_constraint import GAIL_CONSTRAINT
from icrl.methods.icrl import ICRL
from icrl.methods.references import EXPERT_AGENT
from icrl.types import EXPERT, NOMINAL

ICRL_ROW = "ICRL"
GC_ROW = "GAIL constraint"
BC_ROW = "binary classifier"
ROWS = {
    EXPERT: EXPERT,
    **{look.label: EXPERT for look in EXPERT_AGENT.looks.values()},
    NOMINAL: NOMINAL,
    "paper": ICRL_ROW,
    "authors": ICRL_ROW,
    ICRL.name: ICRL_ROW,
    GAIL_CONSTRAINT.name: GC_ROW,
    BINARY_CLASSIFIER.name: BC_ROW,
}
"""Label of runs of ours -> whose value of the paper stands beside it."""
ICRLS = ("paper", "authors", ICRL.name)
"""What can be called ICRL here: the paper's algorithm, its authors' code, ours."""


class Panel(NamedTuple):
    """One column of a figure."""

    figure: str
    title: str
    task: str
    steps: str
    """Its x-axis."""
    values: dict[str, tuple[float, ...]]
    """By row: the true return at the end, or from where to where; empty: none was read off."""


def _values(
    expert: float, nominal: float, icrl: tuple[float, ...], gail: float, classifier: float
) -> dict[str, tuple[float, ...]]:
    return {
        EXPERT: (expert,),
        NOMINAL: (nominal,),
        ICRL_ROW: icrl,
        GC_ROW: (gail,),
        BC_ROW: (classifier,),
    }


BRIDGES = Panel("Figure 1", "two bridges", "bridges", "not said", {})
LEARNING = (
    Panel("Figure 3", "LapGridWorld", "lap-grid", "0.12M", _values(60, -1, (58,), 2, 46)),
    Panel(
        "Figure 3",
        "HalfCheetah",
        "half-cheetah-wall",
        "3.85M",
        _values(3800, 55, (3380,), 3100, 1550),
    ),
    Panel("Figure 3", "Ant", "ant-wall", "3.85M", _values(9000, 3000, (7350,), 7200, 6900)),
)
TRANSFERS = (
    Panel("Figure 4", "Point", "point", "1.5M", _values(150, 50, (140, 147), 8.5, 68)),
    Panel("Figure 4", "Ant-Broken", "ant-broken", "3M", _values(3300, 1100, (2850,), 360, 710)),
)
OUR_TRANSFERS = (
    Panel("ours", "Ant-Broken, facing the wall", "ant-broken-turned", "3M", {}),
    Panel("ours", "HalfCheetah, backwards pays twice", "half-cheetah-back", "3.85M", {}),
)
ABLATION = Panel("Figure 5", "HalfCheetah", "half-cheetah-wall", "3.85M", {})

TASKS = ("lap-grid", "half-cheetah-wall", "ant-wall", "point", "ant-broken")
"""The columns of Table 1."""

TABLE_1: dict[str, tuple[str, tuple[object, ...]]] = {
    "policy, value and cost value networks": ("forward.hidden", ((64, 64),) * 5),
    "batch size": ("forward.minibatch", (64, 64, 128, 64, 128)),
    "PPO target KL": ("forward.target_kl", (0.01,) * 5),
    "learning rate": ("forward.learning_rate", (3e-4, 3e-4, 3e-5, 3e-4, 3e-5)),
    "reward-GAE-γ": ("forward.gamma", (0.99,) * 5),
    "reward-GAE-λ": ("forward.gae_lambda", (0.95, 0.95, 0.9, 0.95, 0.9)),
    "cost-GAE-γ": ("forward.cost_gamma", (0.99,) * 5),
    "cost-GAE-λ": ("forward.cost_gae_lambda", (0.95,) * 5),
    "entropy bonus, 1/β": ("forward.entropy_bonus", (0.0,) * 5),
    "λ: initial value": ("forward.multiplier.initial", (1.0, 1.0, 0.1, 1.0, 0.1)),
    "λ: learning rate": ("forward.multiplier.learning_rate", (0.1, 0.1, 1.0, 0.1, 1.0)),
    "λ: budget": ("forward.multiplier.budget", (0.0,) * 5),
    "ζ: architecture": ("backward.hidden", ((20,), (20,), (40, 40), None, None)),
    "ζ: learning rate": ("backward.learning_rate", (0.01, 0.01, 0.01, None, None)),
    "ζ: backward iterations": ("backward.updates", (10, 10, 10, None, None)),
    "ζ: regularizer weight": ("backward.sparsity", (0.5, 0.5, 0.6, None, None)),
    "ζ: max forward KL": ("backward.max_kl_old_new", (10.0, 10.0, 10.0, None, None)),
    "ζ: max backward KL": ("backward.max_kl_new_old", (2.5, 2.5, 2.5, None, None)),
}
"""Its rows -> (our setting, a value for each of `TASKS`); None: a dash. Expert rollouts and rollout
lengths are the tasks' own."""
