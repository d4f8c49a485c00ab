"""A shield: a plain loop in which actions that a learned constraint forbids are refused.

LapGridWorld's unwritten rule is read off its demonstration by greedy inference, in seconds. Then a
walker that knows nothing of it and moves at random is let loose, without the shield and with it.
Run `python examples/shield.py`.
"""

import numpy as np

import icrl
from icrl.baselines.greedy import learn_greedy
from icrl.tasks.single import SingleEnv


def main() -> None:
    """Learn the constraint, then walk with and without it."""
    task = icrl.make_task("lap-grid")
    constraint, _ = learn_greedy(task, icrl.load_demos(icrl.shipped_demos("lap-grid.npz")))
    shield = icrl.Shield(constraint=constraint)
    env = SingleEnv(task.make_env(1))
    for name in ("without", "with"):
        total, refused, steps = walk(env, shield if name == "with" else None)
        print(
            f"{name:>7} the shield: return {total:5.0f}, {refused} of {steps} steps had their "
            "first idea refused"
        )


def walk(env: SingleEnv, shield: icrl.Shield | None) -> tuple[float, int, int]:
    """One episode of a random walker: its return,
    how often its first idea was refused, its steps."""
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    total, refused, steps, ended = 0.0, 0, 0, False
    while not ended:
        wishes = rng.permutation(env.action_space.n)  # what it would like to do, in this order
        action = wishes[0]
        if shield is not None:
            choice = shield.first_feasible(observation, wishes)
            action, refused = choice.action, refused + (choice.rank > 0)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, steps, ended = total + reward, steps + 1, terminated or truncated
    return total, refused, steps


if __name__ == "__main__":
    main()
