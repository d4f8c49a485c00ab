"""The engine room: a user's own task, seeds, threads, instability, pictures."""

import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks import mujoco_render
from icrl.tasks.ant import make_ant
from icrl.tasks.cheetah import make_half_cheetah
from icrl.tasks.mujoco_batch import MujocoBatchEnv, default_threads, gymnasium_model, load_model
from icrl.tasks.mujoco_render import Camera, add_wall

CART = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <light pos="0 0 4"/>
    <geom type="plane" size="20 20 0.1" rgba="0.5 0.5 0.5 1"/>
    <body name="cart" pos="0 0 0.3">
      <joint name="slide" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.2 0.1 0.1" mass="2" contype="0" conaffinity="0"
            rgba="0.1 0.3 0.8 1"/>
    </body>
  </worldbody>
  <actuator><motor joint="slide" ctrllimited="true" ctrlrange="-1 1" gear="10"/></actuator>
  <sensor><jointpos joint="slide"/></sensor>
</mujoco>
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes MUJOCO_LOG.TXT where it stands


def make_cart(num_envs=3, **settings):
    """A user's own task in twenty lines: a model and three functions."""
    model = mujoco.MjModel.from_xml_string(CART)

    def observe(state):
        return np.concatenate([state.qpos, state.qvel, state.sensors], axis=1)

    def reward(before, after, actions):
        return (after.qpos - before.qpos)[:, 0] - 0.01 * np.square(actions).sum(axis=1)

    def initial_state(rng):
        return rng.uniform(-0.1, 0.1, model.nq), np.zeros(model.nv)

    functions = {"observe": observe, "reward": reward, "initial_state": initial_state}
    return MujocoBatchEnv(
        model, num_envs, **{"frame_skip": 2, "horizon": 20, **functions, **settings}
    )


def play(env, steps, seed=0):
    """Observations and rewards of random actions that are the same for every environment."""
    seen = [env.reset(seed=seed)[0]]
    rewards = []
    for action in np.random.default_rng(1).uniform(-1, 1, (steps, *env.single_action_space.shape)):
        observation, reward, *_ = env.step(np.tile(action, (env.num_envs, 1)))
        seen.append(observation)
        rewards.append(reward)
    return np.array(seen), np.array(rewards)


def test_a_users_own_task_moves_by_newtons_law():
    env = make_cart()
    start, _ = env.reset(seed=0)
    np.testing.assert_array_equal(start[:, 2], start[:, 0])  # sensors are current after a reset
    observation, reward, terminated, truncated, infos = env.step(np.array([[1.0], [0.0], [-3.0]]))
    # a = 10 N / 2 kg = 5; semi-implicit Euler, dt = 0.01: v = 0.05, 0.1; x = 0.0005, 0.0015;
    # -3 is clipped to -1
    np.testing.assert_allclose(observation[:, 1], [0.1, 0.0, -0.1], atol=1e-7)
    np.testing.assert_allclose(observation[:, 0] - start[:, 0], [0.0015, 0.0, -0.0015], atol=1e-7)
    np.testing.assert_allclose(reward, [0.0015 - 0.01, 0.0, -0.0015 - 0.01], atol=1e-12)
    # position sensors are current
    np.testing.assert_array_equal(observation[:, 2], observation[:, 0])
    assert observation.dtype == np.float32
    assert reward.dtype == np.float64
    assert not terminated.any()
    assert not truncated.any()
    assert infos["unstable"].tolist() == [0, 0, 0]
    assert env.dt == pytest.approx(0.02)


def test_spaces_come_from_the_model_and_the_functions():
    env = make_cart()
    assert env.single_observation_space.shape == (3,)
    assert env.single_action_space.low.tolist() == [-1]
    assert env.reset(seed=0)[0] in env.observation_space


def test_terminates_ends_an_episode_for_good():
    env = make_cart(
        terminates=lambda state: state.qpos[:, 0] > 1, autoreset_mode=AutoresetMode.DISABLED
    )
    env.reset(seed=0)
    env.state.qpos[1] = 2.0
    assert env.step(np.zeros((3, 1)))[2].tolist() == [False, True, False]


@pytest.mark.parametrize("make", [make_half_cheetah, make_ant])
def test_same_seed_same_bytes_whatever_the_threads_and_the_batch(make):
    seen, rewards = play(make(4, num_threads=1), 30, seed=5)
    threaded, threaded_rewards = play(make(4, num_threads=2), 30, seed=5)
    assert seen.tobytes() == threaded.tobytes()
    assert rewards.tobytes() == threaded_rewards.tobytes()
    alone, alone_rewards = play(make(1), 30, seed=7)
    assert alone[:, 0].tobytes() == seen[:, 2].tobytes()
    assert alone_rewards[:, 0].tobytes() == rewards[:, 2].tobytes()


def test_a_masked_reset_leaves_the_other_simulations_on_their_way():
    disturbed, calm = make_half_cheetah(3), make_half_cheetah(3)
    play(disturbed, 5)
    play(calm, 5)
    disturbed.reset(options={"reset_mask": np.array([False, True, False])})
    action = np.full((3, 6), 0.3)
    for _ in range(5):
        a, b = disturbed.step(action)[0], calm.step(action)[0]
    np.testing.assert_array_equal(a[[0, 2]], b[[0, 2]])
    assert not np.array_equal(a[1], b[1])


def test_an_episode_after_a_reset_does_not_remember_the_one_before():
    used, fresh = make_half_cheetah(1), make_half_cheetah(1)
    play(used, 40)
    again, _ = play(used, 20)
    once, _ = play(fresh, 20)
    assert again.tobytes() == once.tobytes()


def test_horizon_truncates_and_same_step_keeps_the_final_observation():
    env, twin = make_half_cheetah(2, horizon=3), make_half_cheetah(2, horizon=4)
    (seen, _), (expected, _) = play(env, 2), play(twin, 2)
    np.testing.assert_array_equal(seen, expected)
    last, _, terminated, truncated, infos = env.step(np.zeros((2, 6)))
    true_last = twin.step(np.zeros((2, 6)))[0]
    assert truncated.all()
    assert not terminated.any()
    np.testing.assert_array_equal(np.stack(infos["final_obs"]), true_last)
    assert np.abs(last[:, 0]).max() <= 0.1  # new episodes start within the reset noise
    assert env.elapsed.tolist() == [0, 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e12])
@pytest.mark.parametrize("field", ["qpos", "qvel"])
def test_an_unstable_simulation_ends_without_nan(field, value):
    env, twin = (
        make_ant(3, horizon=30, autoreset_mode=AutoresetMode.DISABLED),
        make_ant(3, horizon=30),
    )
    (before, _), _ = play(env, 2), play(twin, 2)
    stepped = env.batch.step

    def poisoned_step(**settings):
        getattr(env.state, field)[1, 3] = value
        stepped(**settings)

    env.batch.step = poisoned_step
    observation, reward, terminated, truncated, infos = env.step(np.zeros((3, 8)))
    calm, calm_reward, *_ = twin.step(np.zeros((3, 8)))
    assert np.isfinite(observation).all()
    np.testing.assert_array_equal(observation[[0, 2]], calm[[0, 2]])
    np.testing.assert_array_equal(observation[1], before[-1, 1])  # the last good state
    assert reward.tolist() == [calm_reward[0], 0.0, calm_reward[2]]
    assert terminated.tolist() == [False, True, False]
    assert not truncated.any()
    assert infos["unstable"].tolist() == [0, 1, 0]
    env.batch.step = stepped
    env.reset(options={"reset_mask": terminated})
    for _ in range(3):
        observation, _, terminated, _, infos = env.step(np.zeros((3, 8)))
    assert np.isfinite(observation).all()
    assert not terminated.any()
    assert infos["unstable"].tolist() == [0, 1, 0]


def test_an_unstable_simulation_starts_anew_in_same_step_mode():
    env = make_ant(2)
    env.reset(seed=0)
    env.state.qvel[0, 0] = np.nan
    observation, _, terminated, _, infos = env.step(np.zeros((2, 8)))
    assert terminated.tolist() == [True, False]
    assert infos["unstable"].tolist() == [1, 0]
    assert np.isfinite(observation).all()


def test_threads_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("ICRL_THREADS", raising=False)
    assert default_threads() == 1
    monkeypatch.setenv("ICRL_THREADS", "2")
    assert make_cart().batch.nthread == 2
    monkeypatch.setenv("ICRL_THREADS", "many")
    with pytest.raises(InputError, match="ICRL_THREADS to be an integer >= 1, got 'many'"):
        default_threads()


def test_bad_input_is_answered_with_what_was_expected(tmp_path):
    with pytest.raises(InputError, match=r"there is none at 'nowhere\.xml'"):
        load_model("nowhere.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><nonsense/></mujoco>")
    with pytest.raises(InputError, match="nonsense"):
        load_model(broken)
    with pytest.raises(InputError, match=r"\(\(1,\), \(1,\)\), got \(\(2,\), \(1,\)\)"):
        make_cart(initial_state=lambda rng: (np.zeros(2), np.zeros(1)))
    with pytest.raises(
        InputError, match=r"observe\(state\) to return \[E=3, o\], got shape \(3,\)"
    ):
        make_cart(observe=lambda state: state.qpos[:, 0])
    with pytest.raises(InputError, match="frame_skip >= 1, got 0"):
        make_cart(frame_skip=0)
    with pytest.raises(InputError, match="num_threads >= 1, got 0"):
        make_cart(num_threads=0)


def test_loading_a_model_leaves_no_log_behind(tmp_path, capfd):
    gymnasium_model("half_cheetah.xml")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def red_share(image):
    red, green, blue = (image[..., c].astype(int) for c in range(3))
    return float(np.mean((red > 60) & (red > 2 * green) & (red > 2 * blue)))


def opengl_works():
    try:
        mujoco_render.SceneRenderer(mujoco.MjModel.from_xml_string(CART), Camera()).close()
    except InputError:
        return False
    return True


def test_pictures_show_the_wall_or_say_what_is_missing():
    env = make_cart(decorate=lambda scene: add_wall(scene, -3.0), camera=Camera(distance=4.0))
    env.reset(seed=0)
    env.state.qpos[1], env.state.qpos[2] = -2.0, 15.0
    if not opengl_works():
        with pytest.raises(InputError, match="rendering needs OpenGL"):
            env.render_env(0)
        return
    near, far = env.render_env(1, 160, 120), env.render_env(2, 160, 120)
    assert near.shape == (120, 160, 3)
    assert near.dtype == np.uint8
    assert red_share(near) > 0.05
    assert red_share(far) < 0.01
    np.testing.assert_array_equal(near, env.render_env(1, 160, 120))
    assert [frame.shape for frame in env.render()] == [(360, 480, 3)] * 3
    with pytest.raises(InputError, match=r"index in \[0, 3\), got 3"):
        env.render_env(3)
    env.close()


def test_a_missing_opengl_is_explained(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setitem(__import__("sys").modules, "mujoco.osmesa", None)
    with pytest.raises(InputError, match=r"backend 'osmesa' cannot be opened .*libegl1"):
        make_cart().render_env(0)


def test_the_backend_follows_the_display(monkeypatch):
    monkeypatch.setattr(mujoco_render.platform, "system", lambda: "Linux")
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert mujoco_render.backend() == "egl"
    monkeypatch.setenv("DISPLAY", ":0")
    assert mujoco_render.backend() == "default"
    monkeypatch.setenv("MUJOCO_GL", "OSMesa")
    assert mujoco_render.backend() == "osmesa"
