"""Two bridges over a river, a lion on the short one (the paper's first figure). Nobody tells the learner of the lion.

Run `python examples/two_bridges.py`: it trains a nominal agent, finds out from the expert's demonstrations what the
expert avoids, trains an agent that avoids it too, prints what each does, and draws `two_bridges.png`. The constraint is
found by greedy inference on a grid, which is exact and takes a second; `icrl learn bridges` is the neural way.
"""

import numpy as np

from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import policy_of
from icrl.baselines.greedy import learn_greedy
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.collect import train_agent
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.evaluate import judge
from icrl.presets import default
from icrl.tasks import bridges_map as plane
from icrl.tasks.bridges import draw_bridges
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario
from icrl.types import FloatArray, Trajectories

STEPS = 82_000
EPISODES = 40
PICTURE = "two_bridges.png"


def main() -> None:
    """Expert, nominal agent, recovered constraint, recovered agent."""
    scenario = make_scenario("bridges")
    demos = load_demos(shipped_demos("bridges.npz"))

    constraint, found = learn_greedy(scenario.task, demos)
    print(f"1. What do {demos.trajectories.num_trajectories} demonstrations avoid, that a walker should love to do?")
    for finding in constraint.card["findings"]:
        print(f"   {finding['forbidden']:<20} explains {finding['gain']:6.2f} nats per demonstration")
    print(f"   stopped: the next would explain {found.next_gain:.3f}, less than {found.min_gain:.3f}")

    panels = {
        "expert": demos.trajectories,
        "nominal": walk(scenario, None),
        "recovered": walk(scenario, constraint),
    }
    print("\n2. Who meets the lion?")
    for name, trajectories in panels.items():
        truth = judge(scenario, trajectories)
        arrived = float(np.mean(trajectories.lengths < scenario.task.horizon))
        print(f"   {name:<10} lower bridge in {truth.violating_episodes:4.0%} of episodes, arrived in {arrived:4.0%}")
    draw(panels, constraint)
    print(f"\nDrawn: {PICTURE}")


def walk(scenario: Scenario, constraint: LearnedConstraint | None) -> Trajectories:
    """Episodes of an agent that was trained under the constraint."""
    config = default("bridges").forward
    training = train_agent(scenario.task, None if constraint is None else constraint.cost, config, STEPS, seed=0)
    policy = policy_of(training.agent, scenario.task, config)
    env = scenario.task.make_env(EPISODES)
    return sample_trajectories(np.random.default_rng(0), policy, env, scenario.task.horizon, 0)


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
    titles = ("expert: knows of the lion", "nominal: knows nothing", "recovered: found forbidden (red)")
    colours = ("#1f7a3d", "#b4461e", "#1f4e9e")
    grid = figure.subplots(1, 3)
    for axes, (name, paths), title, colour in zip(grid, panels.items(), titles, colours, strict=True):
        shown = feasibility(constraint) if name == "recovered" else None
        draw_bridges(axes, paths, shown, colour=colour)
        axes.set_title(title, fontsize=12)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
