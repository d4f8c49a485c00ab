"""The peer's HalfCheetah is ours: its reward by hand; without its library it says what to do."""

import sys

import numpy as np
import pytest

from icrl.errors import InputError
from icrl.experiment.bench.peers import half_cheetah, stable_baselines_meter
from small_runs import FORWARD


def test_its_reward_is_the_speed_in_either_direction_less_the_effort():
    env = half_cheetah()
    env.reset(seed=0)
    action = np.full(6, 0.5, np.float32)
    _, reward, *_, info = env.step(action)
    # 0.1 |a|² = 0.1 · 6 · 0.25 = 0.15
    assert reward == pytest.approx(abs(info["x_velocity"]) - 0.15, abs=1e-6)
    assert env.observation_space.shape == (18,)  # x is observed
    env.close()


def test_without_its_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'icrl\[sb3\]'"):
        stable_baselines_meter(FORWARD, subprocesses=False)
