"""A room with two doors; the near one is forbidden.

Nobody says so: we read it off the demonstrations.

Run `python examples/forbidden_door.py`: it prints three short tables and draws
`forbidden_door.png`. Everything here is exact (no sampling except the demonstrations): see
`src/icrl/tabular/`.
"""

from typing import Any

import numpy as np

from icrl.tabular.exact_icrl import ExactICRL, learn_exact
from icrl.tabular.greedy import GreedyConstraint, infer_constraints
from icrl.tabular.grids import grid_from_text, marked_states
from icrl.tabular.hypotheses import Hypothesis, union
from icrl.tabular.maxent import kl_divergence, log_likelihood, sample_walks, solve
from icrl.tabular.mdp import TabularMDP, hard_log_zeta
from icrl.types import BoolArray, FloatArray

ROOM = """
#########
#...#...#
#S..x..G#
#...#...#
#...#...#
#...#...#
#.......#
#########
"""
HORIZON = 30
NUM_DEMOS = 100
PICTURE = "forbidden_door.png"


def main() -> None:
    """Nominal agent, expert, greedy inference, and ICRL with an exact forward step."""
    room = grid_from_text(ROOM, horizon=HORIZON, goal_reward=10.0)
    anything = np.zeros(room.reward.shape)  # log zeta of no constraint
    truth = union(room, [Hypothesis(state=s) for s in marked_states(ROOM, "x")])

    nominal, expert = solve(room, anything), solve(room, hard_log_zeta(truth))
    demos = sample_walks(room, expert, NUM_DEMOS, np.random.default_rng(0))

    greedy = infer_constraints(room, demos)
    print_greedy(room, greedy)
    free, soft = (
        learn_exact(room, demos, feature_names=("x", "y"), rounds=100, sparsity=sparsity)
        for sparsity in (0.0, 1.0)
    )
    print_soft(free, soft, log_likelihood(room, demos, hard_log_zeta(truth)), truth)

    recovered = solve(room, hard_log_zeta(greedy.feasibility == 0))
    print(
        "\n"
        "3. Does it explain the expert? KL in nats per trajectory, and visits of the forbidden "
        "door"
    )
    for name, log_zeta in (
        ("nominal", anything),
        ("recovered", hard_log_zeta(greedy.feasibility == 0)),
    ):
        visits = float(np.sum(solve(room, log_zeta).occupancy[truth]))
        print(
            f"   KL(expert || {name:<9}) = "
            f"{kl_divergence(room, hard_log_zeta(truth), log_zeta):7.4f}   {visits:.3f}"
        )

    panels = {
        "nominal": nominal.occupancy,
        "expert": expert.occupancy,
        "recovered": recovered.occupancy,
    }
    draw(room, panels, truth, greedy, soft)
    print(f"\nDrawn: {PICTURE}")


def print_greedy(room: TabularMDP, greedy: GreedyConstraint) -> None:
    """One line per constraint found."""
    print(
        f"1. Greedy inference from {NUM_DEMOS} demonstrations: what does the expert never do, that "
        "it should love to?"
    )
    print(f"   {'constraint':<28}{'gain':>8}{'log-likelihood':>17}   (nats per demonstration)")
    print(f"   {'none':<28}{'':>8}{greedy.nominal_log_likelihood:>17.3f}")
    for finding in greedy.findings:
        print(
            "   "
            f"{finding.hypothesis.describe(room):<28}{finding.gain:>8.3f}"
            f"{finding.log_likelihood:>17.3f}"
        )
    print(
        f"   stopped: the next one would gain {greedy.next_gain:.3f}, less than "
        f"{greedy.min_gain:.3f}"
    )


def print_soft(
    free: ExactICRL, soft: ExactICRL, true_log_likelihood: float, truth: BoolArray
) -> None:
    """The likelihood of a neural zeta, round by round, and what the regulariser is for."""
    rounds = len(free.log_likelihoods) - 1
    print(
        "\n"
        "2. ICRL with an exact forward step: a network zeta(x, y), one exact gradient step per "
        "round"
    )
    print(f"   {'round':>5}{'log-likelihood':>17}")
    for index in sorted({0, 1, 2, 5, 10, 20, 50, rounds} & set(range(rounds + 1))):
        print(f"   {index:>5}{free.log_likelihoods[index]:>17.3f}")
    rose = bool(np.all(np.diff(free.log_likelihoods) > 0))
    print(
        f"   {'truth':>5}{true_log_likelihood:>17.3f}   the likelihood rose in every round: {rose}"
    )
    print(
        "   Past the truth it also blames what the expert merely happened not to do; sparsity "
        "prevents that:"
    )
    for name, found in (("sparsity 0", free), ("sparsity 1", soft)):
        door, others = np.max(found.feasibility[truth]), np.min(found.feasibility[~truth])
        print(
            f"   {name}: zeta of the forbidden door {door:.3f}, lowest of the allowed cells "
            f"{others:.3f}"
        )


def draw(
    room: TabularMDP,
    panels: dict[str, FloatArray],
    truth: BoolArray,
    greedy: GreedyConstraint,
    soft: ExactICRL,
) -> None:
    """Where the three agents walk, and the learned zeta(x, y)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    image = None
    for panel, (name, occupancy) in zip(axes, panels.items(), strict=False):
        # the goal holds the agent for the rest of the episode
        visits = np.minimum(occupancy.sum(axis=1), 1.0)
        image = draw_cells(panel, room, visits, "YlGnBu")
        panel.set_title(
            {"nominal": "nominal: no constraint", "expert": "expert", "recovered": "recovered"}[
                name
            ]
        )
    figure.colorbar(
        image, ax=list(axes[:3]), label="expected visits (1 or more)", shrink=0.8, pad=0.01
    )
    image = draw_cells(axes[3], room, 1.0 - soft.feasibility[:, 0], "OrRd")
    axes[3].set_title("ICRL: cost 1 − ζ(x, y)")
    figure.colorbar(image, ax=axes[3], shrink=0.8, pad=0.02)
    mark(axes[1], room, np.flatnonzero(truth.all(axis=1)), "forbidden")
    mark(axes[2], room, np.flatnonzero((greedy.feasibility == 0).all(axis=1)), "found")
    figure.savefig(PICTURE, dpi=150)
    plt.close(figure)


def draw_cells(panel: Any, room: TabularMDP, values: FloatArray, colours: str) -> Any:
    """One value per cell; walls are dark."""
    rows = ROOM.strip().splitlines()
    grid = np.full((len(rows), len(rows[0])), np.nan)
    columns, lines = room.observations.astype(int).T
    grid[lines, columns] = values
    panel.set_facecolor("#3b3f46")
    image = panel.imshow(grid, cmap=colours, vmin=0.0, vmax=1.0)
    for line, row in enumerate(rows):
        for column, symbol in enumerate(row):
            if symbol in "SG":
                box = {
                    "boxstyle": "circle,pad=0.25",
                    "facecolor": "white",
                    "edgecolor": "#3b3f46",
                    "linewidth": 0.8,
                }
                panel.text(
                    column,
                    line,
                    symbol,
                    ha="center",
                    va="center",
                    fontsize=9,
                    fontweight="bold",
                    bbox=box,
                )
    panel.set_xticks([])
    panel.set_yticks([])
    return image


def mark(panel: Any, room: TabularMDP, states: Any, label: str) -> None:
    """A red cross on each state, named below the panel."""
    x, y = room.observations[states].T
    panel.plot(x, y, "x", color="#c0392b", markersize=11, markeredgewidth=3, label=label)
    panel.legend(loc="lower left", fontsize=8, framealpha=0.95)


if __name__ == "__main__":
    main()
