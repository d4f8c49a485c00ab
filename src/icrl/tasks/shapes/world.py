"""`World`: a name, the physics, and what it is in words. Nothing of the rule."""

from dataclasses import dataclass

from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.names import FAMILY
from icrl.tasks.shapes.shape_env import Physics, ShapeEnv
from icrl.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class World:
    """One world of Shapes, as a learner may know it."""

    name: str
    description: str
    physics: Physics
    one_hot: bool = False
    """The observation is one of o states."""

    def make_env(self, num_envs: int) -> ShapeEnv:
        """The task's vector environment; the caller resets it."""
        return self.physics.make_env(num_envs, AutoresetMode.DISABLED)

    @property
    def task(self) -> Task:
        """What a learner may see."""
        return Task(
            name=FAMILY + self.name,
            make_env=self.make_env,
            observation_space=self.physics.observation_space,
            action_space=self.physics.action_space,
            observation_names=self.physics.observation_names,
            action_names=self.physics.action_names,
            horizon=self.physics.horizon,
            description=self.description,
            one_hot=self.one_hot,
        )
