"""`MujocoBatchEnv`: any MuJoCo model as a vector environment, stepped in C on `mujoco.batch.Batch`.

A task of your own is a model and three functions over the state of all E simulations at once:

    import numpy as np
    from icrl.tasks.mujoco_batch import MujocoBatchEnv, load_model

    model = load_model("cart.xml")

    def observe(state):                          # qpos [E, nq], qvel [E, nv] -> [E, o]
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def reward(before, after, actions):          # actions [E, a], clipped -> [E]
        return -np.abs(after.qpos[:, 0]) - 0.01 * np.square(actions).sum(axis=1)

    def initial_state(rng):                      # of one simulation: qpos [nq], qvel [nv]
        return rng.uniform(-0.5, 0.5, model.nq), np.zeros(model.nv)

    env = MujocoBatchEnv(
        model, num_envs=16, observe=observe, reward=reward, initial_state=initial_state,
        frame_skip=5, horizon=200,
    )
    observations, _ = env.reset(seed=0)

Physics is float64, observations are float32. A simulation that becomes unstable never shows NaN:
its episode terminates at its last good state with reward 0, and `infos["unstable"]` [E] counts how
often this has happened.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco.batch import Batch, SimulationError

from icrl.errors import InputError
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.mujoco_render import Camera, Decorate, SceneRenderer
from icrl.tasks.task import RewardOf
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

UNSTABLE = [
    int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{name}")) for name in ("QPOS", "QVEL", "QACC")
]


class State(NamedTuple):
    """The state of E simulations, float64.

    Read it; do not write or keep it: the arrays are live.
    """

    qpos: FloatArray
    """[E, nq]"""
    qvel: FloatArray
    """[E, nv]"""
    sensors: FloatArray
    """[E, nsensordata]: the model's sensors;
    those of force and acceleration are one substep behind"""


Observe = Callable[[State], FloatArray]
Reward = Callable[[State, State, FloatArray], FloatArray]
InitialState = Callable[[np.random.Generator], tuple[FloatArray, FloatArray]]
Terminates = Callable[[State], BoolArray]
Control = Callable[[FloatArray], FloatArray]


class MujocoBatchEnv(BatchedEnv):
    """E simulations of one model; see the module for a task of your own,
    `BatchedEnv` for seeds and resets."""

    def __init__(
        self,
        model: Any,
        num_envs: int,
        *,
        observe: Observe,
        reward: Reward,
        initial_state: InitialState,
        terminates: Terminates | None = None,
        control: Control | None = None,
        frame_skip: int = 1,
        horizon: int = 1000,
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
        camera: Camera | None = None,
        decorate: Decorate | None = None,
    ) -> None:
        """Arguments beyond the three functions.

        model: a path, or an `MjModel`. terminates: state -> [E], where the episode ends for good;
        None: nowhere. control: clipped actions [E, a] -> what the motors do, which is also what the
        reward sees; None: the same. frame_skip: physics steps per step. num_threads: None means
        ICRL_THREADS, or 1. decorate: draws into the scene.
        """
        if frame_skip < 1:
            raise InputError(f"expected frame_skip >= 1, got {frame_skip}.")
        if isinstance(model, mujoco.MjModel):
            self.model = model
        else:
            self.model = load_model(model)
        self.frame_skip = frame_skip
        self.dt = frame_skip * float(self.model.opt.timestep)
        if num_threads is None:
            self.num_threads = default_threads()
        else:
            self.num_threads = num_threads
        if self.num_threads < 1:
            raise InputError(f"expected num_threads >= 1, got {self.num_threads}.")
        self._observe = observe
        self._reward = reward
        self._terminates = terminates
        self._initial_state = initial_state
        self._control = control
        # A number that makes no sense is refused below, in words, and not by MuJoCo.
        self._bind(max(num_envs, 1))
        super().__init__(
            num_envs=num_envs,
            observation_space=self._observation_space(),
            action_space=_action_space(self.model),
            horizon=horizon,
            autoreset_mode=autoreset_mode,
        )
        self.unstable: IntArray = np.zeros(num_envs, dtype=np.int64)
        """[E]: how often each simulation has become unstable."""
        if camera is None:
            self._camera = Camera()
        else:
            self._camera = camera
        self._decorate = decorate
        self._renderer: SceneRenderer | None = None
        self._check_initial_state()

    def start(self, indices: IntArray) -> None:
        """Reset the simulations, write their drawn states,
        and bring the rest of the physics in line."""
        # Without computing anything yet: `forward` does, once the drawn states are written.
        self.batch.reset(indices, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        for i in indices:
            self.state.qpos[i], self.state.qvel[i] = self._initial_state(self.rngs[i])
        self.batch.forward(indices)

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """`frame_skip` physics steps of all simulations in one call."""
        if self._control is None:
            applied = actions
        else:
            applied = self._control(actions)
        # Copied: the arrays of a state are live, and the reward compares before with after.
        before = State(*[field.copy() for field in self.state])
        self._ctrl[:] = applied
        unstable = self._physics()
        if unstable is not None:
            # Back to the last good state: NaN would spread through normalisers and networks.
            self.state.qpos[unstable] = before.qpos[unstable]
            self.state.qvel[unstable] = before.qvel[unstable]
            self.unstable[unstable] += 1
        rewards = np.array(self._reward(before, self.state, applied), dtype=np.float64)
        if self._terminates is None:
            terminated = np.zeros(self.num_envs, dtype=np.bool_)
        else:
            terminated = np.array(self._terminates(self.state), dtype=np.bool_)
        if unstable is not None:
            rewards[unstable] = 0.0
            terminated[unstable] = True
        return rewards, terminated, {"unstable": self.unstable.copy()}

    def observations(self) -> AnyArray:
        """[E, o] of float32."""
        return np.array(self._observe(self.state), dtype=np.float32)

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """One simulation as an RGB image [height, width, 3] of uint8,
        seen by the camera that follows its body."""
        if not 0 <= index < self.num_envs:
            raise InputError(f"expected an environment index in [0, {self.num_envs}), got {index}.")
        if self._renderer is None:
            self._renderer = SceneRenderer(self.model, self._camera, self._decorate)
        data = self.batch.get_data(index)
        mujoco.mj_forward(self.model, data)
        return self._renderer.render(data, width, height)

    def close_extras(self) -> None:
        """Give the OpenGL context back, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _physics(self) -> BoolArray | None:
        """Step; [E] where the physics failed, or None when all is well (nearly always)."""
        failed: list[int] = []
        try:
            self.batch.step(nstep=self.frame_skip, stage=self._stage)
        except SimulationError as error:
            failed = [int(i) for i in error.ids]
        # MuJoCo itself resets a simulation that it finds unstable, so NaN is rarely seen:
        # the warning is the sign.
        warned = self._warnings[:, UNSTABLE[0] : UNSTABLE[-1] + 1]
        if not failed and not warned.any() and np.isfinite(self._positions_and_velocities).all():
            return None
        unstable = np.asarray(
            warned.any(axis=1) | ~np.isfinite(self._positions_and_velocities).all(axis=1)
        )
        unstable[failed] = True
        return unstable

    def _bind(self, num_envs: int) -> None:
        self.batch = Batch(self.model, num_envs, self.num_threads)
        if self.model.nsensordata:
            sensors = self.batch.bind("sensordata")
        else:
            sensors = np.zeros((num_envs, 0))
        self.state = State(self.batch.bind("qpos"), self.batch.bind("qvel"), sensors)
        self._ctrl = self.batch.bind("ctrl")
        self._warnings = self.batch.warning[:, :, 1]  # [E, kinds]: counts; column 0 holds where
        # time, qpos, qvel lead MuJoCo's state row in this order: one view serves the check for NaN
        self._positions_and_velocities = self.batch.state[:, 1 : 1 + self.model.nq + self.model.nv]
        if self.model.nsensordata:
            # Sensors of position and velocity are brought up to the new state; without sensors
            # nobody would read them.
            stage = mujoco.mjtStage.mjSTAGE_VEL
        else:
            stage = mujoco.mjtStage.mjSTAGE_NONE
        self._stage = int(stage.value)

    def _observation_space(self) -> gym.spaces.Box:
        self.batch.forward()
        seen = np.shape(self._observe(self.state))
        if len(seen) != 2 or seen[0] != self.batch.nsim:
            raise InputError(
                f"expected observe(state) to return [E={self.batch.nsim}, o], got shape {seen}."
            )
        return gym.spaces.Box(-np.inf, np.inf, (seen[1],), np.float32)

    def _check_initial_state(self) -> None:
        qpos, qvel = self._initial_state(np.random.default_rng(0))
        expected = ((self.model.nq,), (self.model.nv,))
        got = (np.shape(qpos), np.shape(qvel))
        if got != expected:
            raise InputError(
                f"expected initial_state(rng) to return qpos, qvel of shapes {expected}, got {got}."
            )


def load_model(path: str | Path) -> Any:
    """An `MjModel` from an XML file; MuJoCo's notes on old attributes stay out of the
    terminal and of log files."""
    if not Path(path).is_file():
        raise InputError(
            f"expected the file of a MuJoCo model, and there is none at {str(path)!r}."
        )
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise InputError(
            f"{str(path)!r} is not a model that MuJoCo {mujoco.__version__} can read: {error}"
        ) from error
    finally:
        mujoco.set_mju_user_warning(previous)


def gymnasium_model(name: str) -> Any:
    """A model that ships with Gymnasium, such as `"ant.xml"`."""
    return load_model(Path(gym.__file__).parent / "envs" / "mujoco" / "assets" / name)


def default_threads() -> int:
    """Threads of the physics: the environment variable ICRL_THREADS, or 1."""
    text = os.environ.get("ICRL_THREADS", "1")
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"expected ICRL_THREADS to be an integer >= 1, got {text!r}.")
    return int(text)


def observe_all(state: State) -> FloatArray:
    """[E, nq + nv]: positions, then velocities."""
    return np.concatenate((state.qpos, state.qvel), axis=1, dtype=np.float32, casting="same_kind")


def reward_of_all(reward: Reward, num_positions: int, control: Control | None = None) -> RewardOf:
    """The same reward, asked about observations that `observe_all` made:
    [n, nq + nv] before, actions [n, a], [n, nq + nv] after -> [n].

    control: as the environment has it, which pays for what the motors do.
    """

    def state_of(observations: AnyArray) -> State:
        # Physics is float64: the difference of two float32 places should lose no more.
        rows = np.asarray(observations, np.float64)
        return State(rows[:, :num_positions], rows[:, num_positions:], np.zeros((len(rows), 0)))

    def reward_of(
        observations: AnyArray, actions: AnyArray, next_observations: AnyArray
    ) -> FloatArray:
        applied: FloatArray = np.asarray(actions, np.float64)
        if control is not None:
            applied = control(applied)
        return reward(state_of(observations), state_of(next_observations), applied)

    return reward_of


def noisy_start(model: Any, scale: float) -> InitialState:
    """qpos = qpos₀ + U(−scale, scale), qvel = scale · N(0, 1):
    drawn in the order of Gymnasium's v5 environments."""

    def initial_state(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        qpos = model.qpos0 + rng.uniform(-scale, scale, model.nq)
        return qpos, scale * rng.standard_normal(model.nv)

    return initial_state


def _action_space(model: Any) -> gym.spaces.Box:
    limited = np.asarray(model.actuator_ctrllimited, dtype=bool)
    bounds = np.where(limited[:, None], model.actuator_ctrlrange, [-np.inf, np.inf]).astype(
        np.float32
    )
    return gym.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float32)
