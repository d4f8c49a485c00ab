"""`Ahead`: a model of the simulator's next step, as acting uses it.

NumPy alone; `foresight.py` learns it.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from icrl.agent.normalizer import RunningMoments, Scaling, normalize, scaling
from icrl.types import AnyArray, FloatArray

LAYERS = ("w0", "b0", "w1", "b1", "straight")
"""One hidden layer, and a straight way from input to output:
physics is nearly linear over one step."""


_NUM_AROUND = 4
_MARGIN = 2.0


class ActionUnit(NamedTuple):
    """What a policy calls 0 and 1, in the environment's unit; each [a] float32."""

    centre: FloatArray
    scale: FloatArray


class _Rows(NamedTuple):
    """Constants of a model, repeated for every pair.

    NumPy multiplies by a whole array three times as fast as by a row.
    """

    scaling: Scaling
    """Of observations, [n, o] each"""
    scale: FloatArray
    """[n, o]"""
    centre: FloatArray
    """[n, o]"""

    def first(self, number: int) -> "_Rows":
        """Those of the first pairs."""
        scaling = Scaling(self.scaling.scale[:number], self.scaling.shift[:number])
        return _Rows(scaling, self.scale[:number], self.centre[:number])


@dataclass(frozen=True)
class Ahead:
    """Δs = w x + MLP(x) of x = (s, a), both scaled."""

    moments: RunningMoments
    """Of observations."""
    unit: ActionUnit | None
    """Of continuous actions; None: they are choices."""
    num_actions: int
    layers: tuple[FloatArray, ...]
    """In the order of `LAYERS`."""
    centre: FloatArray
    """[o]: mean of Δs; 0 for features that the model does not explain"""
    scale: FloatArray
    """[o]: deviation of Δs; 0 likewise: they are taken to stay as they are"""
    spread: FloatArray
    """[o]: how far what follows is from what is foretold, in most cases; 0 likewise"""

    def follows(self, observations: FloatArray, actions: AnyArray) -> FloatArray:
        """[k, n, o]: where a step may lead: what is foretold,
        and places around it as far as models err.

        Shapes: observations [n, o]; actions [n, a] in the environment's unit, or [n] choices.
        """
        return np.asarray(self.foretold(observations, actions)[None] + self._around, np.float32)

    @cached_property
    def _around(self) -> FloatArray:
        """[k, 1, o]"""
        # Twice the usual error, and not only where it was foretold: an action that may lead astray
        # as far as the model errs is refused, too (decision 0019).
        around = _directions(len(self.spread)) * (_MARGIN * self.spread)  # [k, o]
        return np.asarray(around[:, None])

    @cached_property
    def _scaling(self) -> Scaling:
        """The moments, made ready once for many calls."""
        return scaling(self.moments)

    def foretold(self, observations: FloatArray, actions: AnyArray) -> FloatArray:
        """[n, o]: where a step leads."""
        given = action_inputs(self.unit, self.num_actions, actions)
        inputs = np.concatenate([self._scaling.apply(observations), given], axis=1)
        # The change is learned, not the next state: a model that knows nothing says that all stays.
        return np.asarray(observations + self.changes(inputs), np.float32)

    def kept_up(self, observations: FloatArray, actions: AnyArray, steps: int) -> FloatArray:
        """[steps, n, o]: now, and where the same actions lead if they are kept up."""
        w0, b0, w1, b1, straight = self.layers
        width = observations.shape[1]
        rows = self._rows(len(observations))
        given = action_inputs(self.unit, self.num_actions, actions)
        # what does not change from step to step is computed once
        pushed = given @ w0[width:] + b0
        pushed_straight = given @ straight[width:] + b1
        path = np.empty((steps, *observations.shape), np.float32)
        path[0] = observations
        w0, straight = w0[:width], straight[:width]
        hidden = np.empty_like(pushed)
        seen = np.empty_like(path[0])
        outputs, others = np.empty_like(pushed_straight), np.empty_like(pushed_straight)
        for step in range(1, steps):
            rows.scaling.apply(path[step - 1], out=seen)
            np.matmul(seen, w0, out=hidden)
            hidden += pushed
            hidden.clip(0.0, np.inf, out=hidden)
            np.matmul(hidden, w1, out=outputs)
            outputs += np.matmul(seen, straight, out=others)
            outputs += pushed_straight
            outputs *= rows.scale
            outputs += rows.centre
            np.add(path[step - 1], outputs, out=path[step])
        return path

    def _rows(self, number: int) -> "_Rows":
        """What every step needs, for so many pairs."""
        if len(self._most_rows) == 0 or len(self._most_rows[0].scale) < number:
            constants = (*self._scaling, self.scale, self.centre)
            scale, shift, *rest = (np.tile(row, (number, 1)) for row in constants)
            self._most_rows[:] = [_Rows(Scaling(scale, shift), *rest)]
        return self._most_rows[0].first(number)

    @cached_property
    def _most_rows(self) -> "list[_Rows]":
        """Those of the most pairs so far: those of fewer are their first."""
        return []

    def changes(self, inputs: FloatArray) -> FloatArray:
        """Δs [n, o] for scaled inputs [n, o + a]."""
        w0, b0, w1, b1, straight = self.layers
        hidden = inputs @ w0
        hidden += b0
        # `np.maximum` of a number takes four times as long.
        hidden.clip(0.0, np.inf, out=hidden)
        outputs = hidden @ w1
        outputs += b1
        outputs += inputs @ straight
        outputs *= self.scale
        outputs += self.centre
        return outputs


def model_inputs(
    moments: RunningMoments,
    unit: ActionUnit | None,
    num_actions: int,
    observations: FloatArray,
    actions: AnyArray,
) -> FloatArray:
    """x [n, o + a] float32: observations by their moments,
    actions in the policy's unit, or one-hot."""
    given = action_inputs(unit, num_actions, actions)
    return np.concatenate([normalize(moments, observations), given], axis=1)


def action_inputs(unit: ActionUnit | None, num_actions: int, actions: AnyArray) -> FloatArray:
    """[n, a] float32: actions in the policy's unit, or one-hot."""
    if unit is None:
        return np.eye(num_actions, dtype=np.float32)[actions.astype(np.int64)]
    return np.asarray((actions - unit.centre) / unit.scale, np.float32)


@cache
def _directions(width: int) -> FloatArray:
    """[1 + k, o]: nothing, and unit steps to opposite sides, always the same."""
    # Always the same, so that a shield's answer depends on the pair alone; in opposite pairs, so
    # that their mean is what was foretold.
    half = np.random.default_rng(0).standard_normal((_NUM_AROUND // 2, width))
    half /= np.sqrt(np.mean(half**2, axis=1, keepdims=True))
    return np.concatenate([np.zeros((1, width)), half, -half]).astype(np.float32)
