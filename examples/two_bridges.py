"""Two bridges over a river, a lion on the short one (the paper's first figure).

Nobody tells the learner of the lion.

Run `python examples/two_bridges.py`: it finds out from the expert's demonstrations what the expert
avoids, prints it, and draws `two_bridges.png`: the expert, a walker who knows nothing, and a walker
under the constraint that was found.

The expert walked on the plane; the two walkers are exact maximum-entropy ones on its grid (see
`icrl.tabular.worlds`). `icrl learn bridges` is the neural way.
"""

from dataclasses import replace

import numpy as np

from icrl.baselines.greedy import learn_greedy
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.evaluate import judge
from icrl.tabular.maxent import sample_walks, solve
from icrl.tabular.mdp import hard_log_zeta
from icrl.tabular.walks import to_trajectories
from icrl.tabular.worlds import SQUARE, TabularForm, tabular_form
from icrl.tasks import bridges_map as plane
from icrl.tasks.bridges import draw_bridges
from icrl.tasks.registry import make_scenario
from icrl.types import BoolArray, FloatArray, Trajectories

EPISODES = 100
DRAWN = 40
PICTURE = "two_bridges.png"


def main() -> None:
    """Expert, nominal agent, recovered constraint, recovered agent."""
    scenario = make_scenario("bridges")
    demos = load_demos(shipped_demos("bridges.npz"))

    constraint, found = learn_greedy(scenario.task, demos)
    print(
        f"1. What do {demos.trajectories.num_trajectories} demonstrations avoid, that a walker "
        "should love to do?"
    )
    for finding in constraint.card["findings"]:
        print(
            f"   {finding['forbidden']:<20} explains {finding['gain']:6.2f} nats per demonstration"
        )
    print(
        f"   stopped: the next would explain {found.next_gain:.3f}, less than {found.min_gain:.3f}"
    )

    form = tabular_form("bridges")
    panels = {
        "expert": demos.trajectories,
        "nominal": walk(form, np.zeros(form.mdp.reward.shape, np.bool_)),
        "recovered": walk(form, found.feasibility < 0.5),
    }
    print("\n2. Who meets the lion?")
    for name, trajectories in panels.items():
        truth = judge(scenario, trajectories)
        print(f"   {name:<10} lower bridge in {truth.violating_episodes:4.0%} of episodes")
    draw(panels, constraint)
    print(f"\nDrawn: {PICTURE}")


def walk(form: TabularForm, forbidden: BoolArray) -> Trajectories:
    """Episodes of the maximum-entropy walker who respects `forbidden` [S, A]."""
    solution = solve(form.mdp, hard_log_zeta(forbidden), form.beta)
    return to_trajectories(
        form.mdp, sample_walks(form.mdp, solution, EPISODES, np.random.default_rng(0))
    )


def spread_out(trajectories: Trajectories) -> Trajectories:
    """The first few, each moved by its own small amount,
    so that walks over the same squares can be told apart."""
    shift = np.random.default_rng(1).uniform(-0.3, 0.3, (DRAWN, 1, 2)) * SQUARE
    seen = trajectories.observations[:DRAWN]
    return replace(
        trajectories, observations=seen + shift[: len(seen)], lengths=trajectories.lengths[:DRAWN]
    )


def feasibility(constraint: LearnedConstraint) -> FloatArray:
    """ζ over the plane [90, 120], row 0 at the bottom."""
    x = (np.arange(120) + 0.5) / 120 * plane.WIDTH - plane.WIDTH / 2
    y = (np.arange(90) + 0.5) / 90 * plane.HEIGHT - plane.HEIGHT / 2
    places = np.stack(np.meshgrid(x, y), axis=-1)
    return constraint.feasibility(places, np.zeros(places.shape))


def draw(panels: dict[str, Trajectories], constraint: LearnedConstraint) -> None:
    """The three panels of the paper's figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3.7), layout="constrained")
    FigureCanvasAgg(figure)
    titles = (
        "expert: knows of the lion",
        "nominal: knows nothing",
        "recovered: found forbidden (red)",
    )
    colours = ("#1f7a3d", "#b4461e", "#1f4e9e")
    grid = figure.subplots(1, 3)
    for axes, (name, paths), title, colour in zip(
        grid, panels.items(), titles, colours, strict=True
    ):
        shown = feasibility(constraint) if name == "recovered" else None
        draw_bridges(axes, paths if name == "expert" else spread_out(paths), shown, colour=colour)
        axes.set_title(title, fontsize=12)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
