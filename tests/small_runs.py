"""Runs small enough for a test: a short lap, two rounds,
and a wrapper that counts what environments really step."""

from dataclasses import replace

from icrl.config import BackwardConfig
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.callbacks import Callback
from plain_settings import plain_forward, plain_learn

FORWARD = plain_forward(
    steps=512, num_envs=4, rollout_steps=64, epochs=2, minibatch=64, hidden=(16,)
)
BACKWARD = BackwardConfig(updates=5, hidden=(8,))
ROUND = 512 + 2 * 200
"""Environment steps of a round: training, and two sampled laps."""
TINY = plain_learn(steps=2 * ROUND, num_samples=2, forward=FORWARD, backward=BACKWARD)
SEARCHING = replace(
    TINY,
    steps=30_000,
    num_samples=6,
    scouts=2,
    forward=replace(TINY.forward, steps=256, learning_rate=1e-3, shield=True),
)
"""Of a kind with the default: small pieces of training."""

_FLAGS = {
    "num-samples": 2,
    "forward.steps": 512,
    "forward.num-envs": 4,
    "forward.rollout-steps": 64,
    "forward.epochs": 2,
    "forward.hidden": 16,
    "backward.updates": 5,
    "scouts": 0,
    "backward.hidden": 8,
    "episodes": 3,
}
TINY_FLAGS = [f"--{name}={value}" for name, value in _FLAGS.items()]
"""`TINY` for the command line."""


def lap_demos():
    return load_demos(shipped_demos("lap-grid.npz"))


def tiny_spec(**changes):
    spec = RunSpec(
        task="lap-grid",
        method="icrl",
        preset="default",
        seed=0,
        config=TINY,
        demos="shipped:lap-grid.npz",
        episodes=3,
    )
    return replace(spec, **changes)


class Counter:
    """Environment steps that a task's environments really took."""

    def __init__(self):
        self.steps = 0

    def watch(self, task):
        """The same task, counted."""

        def make_env(num_envs):
            env = task.make_env(num_envs)
            step = env.step

            def counted(actions):
                self.steps += num_envs
                return step(actions)

            env.step = counted
            return env

        return replace(task, make_env=make_env)


class Quiet(Callback):
    """A display that only remembers."""

    def __init__(self):
        self.progress, self.rounds = [], []

    def on_update(self, progress):
        self.progress.append(progress)

    def on_round(self, snapshot, metrics):
        self.rounds.append(metrics)
