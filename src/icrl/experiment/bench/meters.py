"""What `icrl bench` measures: each meter does one chunk of work and says how many
environment steps that was.

`raw` is the physics alone, the limit (`world`, of tasks without MuJoCo: the environment's own
steps); `rollout` adds acting and the learned cost; `terminate` and
`lagrangian` are full training, the two forms of the forward step; `shielded` is the first of them
behind the shield of a found region. Heavy imports are inside: flags must be set before JAX is
loaded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from icrl.config import ForwardConfig, Respect
from icrl.errors import InputError, unknown_name
from icrl.presets import default
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Task
from icrl.types import AnyArray, CostFunction, FloatArray

Meter = Callable[[], int]
"""Does one chunk of work -> environment steps made."""

_SHARE = 0.5
"""A fresh zeta costs about 1/2 everywhere: half of that is computed alike, and ends no episode."""
_LEANS = 50
"""Chunks after which an agent knows the wall: it leans on it for the first twenty to thirty."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the benchmark: what runs, on how many processes and threads."""

    task: str
    processes: int = 1
    threads: int = 1
    num_envs: int | None = None
    """Environments side by side; None: the task's preset. The rows of an update stay the same."""
    rows: int | None = None
    """Environment steps per policy update; None: the task's preset."""
    width: int = 64
    """Hidden units per layer of the policy and the critics."""
    meters: tuple[str, ...] = ("raw", "rollout", "terminate", "shielded", "lagrangian")
    rounds: int = 5
    """Slices of time per meter; the meters take turns."""
    seconds: float = 10.0
    """Time per meter in all."""


def forward_config(setting: Setting, respect: Respect) -> ForwardConfig:
    """The forward step of the task's preset at the setting's sizes; rows per update are kept."""
    config = default(setting.task).forward
    num_envs = setting.num_envs or config.num_envs
    rows = setting.rows or config.num_envs * config.rollout_steps
    if rows % num_envs:
        raise InputError(
            f"expected a number of environments that divides the {rows} rows of an update, got "
            f"{num_envs}."
        )
    return replace(
        config,
        num_envs=num_envs,
        rollout_steps=rows // num_envs,
        # A minibatch must divide the rows of an update (`ForwardConfig`).
        minibatch=math.gcd(config.minibatch, rows),
        hidden=(setting.width, setting.width),
        respect=respect,
    )


def make_meter(name: str, setting: Setting) -> Meter:
    """The meter of that name, ready to be warmed up."""
    makers: dict[str, Callable[[Setting], Meter]] = {
        "raw": raw_meter,
        "world": world_meter,
        "rollout": rollout_meter,
        "terminate": lambda s: training_meter(
            forward_config(s, Respect.terminate), make_scenario(s.task).task
        ),
        "shielded": shielded_meter,
        "lagrangian": lambda s: training_meter(
            forward_config(s, Respect.lagrangian), make_scenario(s.task).task
        ),
        "ours": lambda s: training_meter(plain_ppo(s), make_scenario(s.task).task),
        "sb3-dummy": lambda s: _peer(s, False),
        "sb3-subproc": lambda s: _peer(s, True),
    }
    if name not in makers:
        raise unknown_name("meter", name, makers)
    return makers[name](setting)


def raw_meter(setting: Setting) -> Meter:
    """Physics alone: `Batch.step` with the task's frame skip under clipped
    Gaussian controls of deviation 1."""
    import mujoco

    from icrl.tasks.mujoco_batch import MujocoBatchEnv

    config = forward_config(setting, Respect.terminate)
    env = make_scenario(setting.task).task.make_env(config.num_envs)
    if not isinstance(env, MujocoBatchEnv):
        raise InputError(
            f"{setting.task} has no MuJoCo physics: there is no raw speed to compare with."
        )
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((config.rollout_steps, config.num_envs, env.model.nu))
    controls = np.clip(noise, *np.asarray(env.model.actuator_ctrlrange).T)
    bound = env.batch.bind("ctrl")
    elapsed = 0
    stage = int(mujoco.mjtStage.mjSTAGE_NONE.value)
    env.reset(seed=0)

    def chunk() -> int:
        nonlocal elapsed
        # as in training: bodies that lie on their backs for ever are other physics
        if elapsed >= env.horizon:
            env.reset()
            elapsed = 0
        for control in controls:
            bound[:] = control
            env.batch.step(nstep=env.frame_skip, stage=stage)
        elapsed += len(controls)
        return config.num_envs * len(controls)

    return chunk


def has_physics(name: str) -> bool:
    """The task's environment is made of MuJoCo's physics."""
    from icrl.tasks.mujoco_batch import MujocoBatchEnv

    return isinstance(make_scenario(name).task.make_env(1), MujocoBatchEnv)


def world_meter(setting: Setting) -> Meter:
    """The environment's own steps, under actions drawn from its space beforehand."""
    config = forward_config(setting, Respect.terminate)
    env = make_scenario(setting.task).task.make_env(config.num_envs)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(config.rollout_steps)]
    env.reset(seed=0)

    def chunk() -> int:
        for given in actions:
            _, _, terminated, truncated, _ = env.step(given)
            ended = terminated | truncated
            if ended.any():
                env.reset(options={"reset_mask": ended})
        return config.num_envs * len(actions)

    return chunk


def fresh_cost(task: Task, name: str) -> CostFunction:
    """The cost 1 − ζ of an untrained zeta over all features, as in the task's preset."""
    from icrl.constraint.backward_step import constraint_cost, init_constraint
    from icrl.constraint.features import select_features

    backward = default(name).backward
    features = select_features(task, None, backward.input_clip)
    whole = constraint_cost(
        init_constraint(np.random.default_rng(0), features, backward), features, backward
    )

    def cost(observations: AnyArray, actions: AnyArray) -> FloatArray:
        return np.asarray(_SHARE * whole(observations, actions))

    return cost


def rollout_meter(setting: Setting) -> Meter:
    """`collect_rollout`: physics, acting, the learned cost of every step."""
    from icrl.agent.rollout import EnvStream, collect_rollout
    from icrl.agent.state import init_agent, policy_of

    task = make_scenario(setting.task).task
    config = forward_config(setting, Respect.terminate)
    rng = np.random.default_rng(0)
    cost = fresh_cost(task, setting.task)
    stream = EnvStream(task.make_env(config.num_envs), seed=0)
    policy = policy_of(init_agent(rng, task, config), task, config)

    def chunk() -> int:
        collect_rollout(rng, stream, policy, cost, config)
        return config.num_envs * config.rollout_steps

    return chunk


def training_meter(config: ForwardConfig, task: Task, shield: CostFunction | None = None) -> Meter:
    """What `forward_step` repeats: a rollout under the learned cost, and the update of policy,
    critics, normalisers; with a `shield` behind it, whose model of what follows learns too."""
    from icrl.agent.forward_step import update_agent, with_foresight
    from icrl.agent.rollout import EnvStream, collect_rollout
    from icrl.agent.state import init_agent, policy_of

    rng = np.random.default_rng(0)
    cost = shield or fresh_cost(task, task.name)
    stream = EnvStream(task.make_env(config.num_envs), seed=0)
    agent = init_agent(rng, task, config)

    def chunk() -> int:
        nonlocal agent
        policy = policy_of(agent, task, config, shield)
        rollout = collect_rollout(rng, stream, policy, cost, config)
        if shield is not None and agent.foresight is not None:
            agent = with_foresight(rng, agent, rollout, task)
        agent, _ = update_agent(rng, agent, rollout, stream, config, None, constrained=True)
        return config.num_envs * config.rollout_steps

    return chunk


def shielded_meter(setting: Setting) -> Meter:
    """Training behind the shield of a region like those that are found: a wall at x = -3, or of
    other tasks at -3 in the first feature; of an agent that knows the wall by now."""
    from icrl.constraint.found import region_cost
    from icrl.constraint.region import Region, RegionAxis
    from icrl.search.wall import NODES

    task = make_scenario(setting.task).task
    column = 0
    if "x" in task.observation_names:
        column = task.observation_names.index("x")
    nodes = np.linspace(-30.0, 30.0, NODES[1])
    region = Region(
        axes=(RegionAxis(columns=(0,), nodes=nodes),),
        # rises from the wall on: an agent behind it is shown the way out
        depth=np.maximum(0.0, -2.0 - nodes).astype(np.float32),
        evidence_depth=1.0,
    )
    config = forward_config(setting, Respect.terminate)
    meter = training_meter(config, task, region_cost(region, ((column,),), task))
    # Steady: a fresh agent leans on the wall in all environments at once, and soon no longer.
    for _ in range(_LEANS):
        meter()
    return meter


def plain_ppo(setting: Setting) -> ForwardConfig:
    """What a peer can do too: ten epochs of minibatches of 64, never stopped early;
    ours also computes the cost."""
    return replace(
        forward_config(setting, Respect.terminate), epochs=10, minibatch=64, target_kl=None
    )


def _peer(setting: Setting, subprocesses: bool) -> Meter:
    from icrl.experiment.bench.peers import stable_baselines_meter

    return stable_baselines_meter(plain_ppo(setting), subprocesses)
