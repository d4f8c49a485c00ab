"""Policy, reward critic and cost critic: equal tanh MLPs,
stacked into one and kept in a single flat vector.

Stacking them makes a PPO minibatch a handful of matrix products instead of three times as many, and
one flat vector makes Adam a handful of array operations: together several times faster at this size
(docs/performance.md). The same functions run on NumPy arrays (acting) and on JAX arrays (learning):
`xp` is either namespace.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from icrl.types import AnyArray, FloatArray

Namespace = Any
"""numpy or jax.numpy."""


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of the stacked networks; hashable,
    so it can be a static argument of a jitted function."""

    num_observations: int
    num_actions: int
    """Action dimensions (continuous) or choices (discrete)."""
    discrete: bool
    hidden: tuple[int, ...]
    num_critics: int
    """1: reward; 2: reward and cost."""

    @property
    def num_networks(self) -> int:
        """H: the policy and the critics."""
        return 1 + self.num_critics

    def sections(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each block of the flat vector, in order."""
        count = self.num_networks
        first = self.hidden[0]
        blocks: dict[str, tuple[int, ...]] = {
            "w0": (self.num_observations, count * first),
            "b0": (count * first,),
        }
        for layer, (fan_in, fan_out) in enumerate(
            zip(self.hidden, self.hidden[1:], strict=False), start=1
        ):
            blocks[f"w{layer}"] = (count, fan_in, fan_out)
            blocks[f"b{layer}"] = (count, 1, fan_out)
        last = self.hidden[-1]
        blocks |= {"policy_w": (last, self.num_actions), "policy_b": (self.num_actions,)}
        blocks |= {"critic_w": (self.num_critics, last, 1), "critic_b": (self.num_critics, 1)}
        if self.discrete:
            return blocks
        return blocks | {"log_std": (self.num_actions,)}

    @property
    def num_params(self) -> int:
        """Length of the flat vector."""
        return sum(math.prod(shape) for shape in self.sections().values())


def network_shape(
    observation_space: gym.spaces.Box,
    action_space: gym.spaces.Box | gym.spaces.Discrete,
    hidden: tuple[int, ...],
    num_critics: int,
) -> NetworkShape:
    """Sizes of the networks for a task's spaces."""
    discrete = isinstance(action_space, gym.spaces.Discrete)
    if isinstance(action_space, gym.spaces.Discrete):
        num_actions = int(action_space.n)
    else:
        num_actions = int(action_space.shape[0])
    return NetworkShape(int(observation_space.shape[0]), num_actions, discrete, hidden, num_critics)


class Outputs(NamedTuple):
    """What the stacked networks say about a batch of (normalised) observations."""

    policy: AnyArray
    """[B, a]: means (continuous) or logits (discrete)"""
    values: AnyArray
    """[C, B]: reward value, then cost value"""


def unflatten(flat: AnyArray, shape: NetworkShape) -> dict[str, AnyArray]:
    """Views of the flat vector by name."""
    blocks: dict[str, AnyArray] = {}
    offset = 0
    for name, block in shape.sections().items():
        size = math.prod(block)
        blocks[name] = flat[offset : offset + size].reshape(block)
        offset += size
    return blocks


def init_params(
    rng: np.random.Generator, shape: NetworkShape, initial_log_std: float
) -> FloatArray:
    """Orthogonal initial weights (gain √2 hidden, 0.01 policy, 1 critics), zero biases,
    as one flat float32 vector."""
    count = shape.num_networks
    blocks: dict[str, FloatArray] = {
        name: np.zeros(size) for name, size in shape.sections().items()
    }
    first = [
        _orthogonal(rng, shape.num_observations, shape.hidden[0], math.sqrt(2))
        for _ in range(count)
    ]
    blocks["w0"] = np.concatenate(first, axis=1)
    for layer, (fan_in, fan_out) in enumerate(
        zip(shape.hidden, shape.hidden[1:], strict=False), start=1
    ):
        blocks[f"w{layer}"] = np.stack(
            [_orthogonal(rng, fan_in, fan_out, math.sqrt(2)) for _ in range(count)]
        )
    # Nearly 0, so that a fresh policy prefers no action: with a larger gain it begins with an
    # opinion that it first has to lose.
    blocks["policy_w"] = _orthogonal(rng, shape.hidden[-1], shape.num_actions, 0.01)
    blocks["critic_w"] = np.stack(
        [_orthogonal(rng, shape.hidden[-1], 1, 1.0) for _ in range(shape.num_critics)]
    )
    if not shape.discrete:
        blocks["log_std"] = np.full(shape.num_actions, initial_log_std)
    return np.concatenate([blocks[name].ravel() for name in shape.sections()]).astype(np.float32)


def _orthogonal(rng: np.random.Generator, rows: int, columns: int, gain: float) -> FloatArray:
    """A rows x columns matrix with orthonormal rows or columns, times `gain`."""
    gaussian = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(gaussian)
    # QR leaves the signs open; with those of r's diagonal q is uniform over orthogonal matrices.
    q *= np.sign(np.diag(r))
    return gain * (q if rows >= columns else q.T)


def flatten(blocks: dict[str, AnyArray], shape: NetworkShape, xp: Namespace) -> AnyArray:
    """The inverse of `unflatten`."""
    flat: AnyArray = xp.concatenate([blocks[name].reshape(-1) for name in shape.sections()])
    return flat


def apply_networks(
    flat: AnyArray, observations: AnyArray, shape: NetworkShape, xp: Namespace
) -> Outputs:
    """All networks on [B, o] normalised observations, from the flat vector."""
    return apply_blocks(unflatten(flat, shape), observations, shape, xp)


def apply_blocks(
    p: dict[str, AnyArray], observations: AnyArray, shape: NetworkShape, xp: Namespace
) -> Outputs:
    """All networks on [B, o] normalised observations:
    one wide product, then products batched over networks."""
    count = shape.num_networks
    batch = observations.shape[0]
    wide = xp.tanh(observations @ p["w0"] + p["b0"][None])  # [B, H·h]
    hidden = xp.swapaxes(wide.reshape(batch, count, shape.hidden[0]), 0, 1)  # [H, B, h]
    for layer in range(1, len(shape.hidden)):
        hidden = xp.tanh(hidden @ p[f"w{layer}"] + p[f"b{layer}"])
    policy = hidden[0] @ p["policy_w"] + p["policy_b"][None]
    values = (hidden[1:] @ p["critic_w"])[..., 0] + p["critic_b"]  # [C, B]
    return Outputs(policy, values)


class PolicyLayers(NamedTuple):
    """The policy's own layers as contiguous NumPy arrays: what acting needs."""

    layers: tuple[tuple[FloatArray, FloatArray], ...]
    log_std: FloatArray | None
    """[a], or None when actions are discrete"""


def policy_layers(flat: AnyArray, shape: NetworkShape) -> PolicyLayers:
    """Cut the policy out of the flat vector."""
    p = unflatten(np.asarray(flat), shape)
    first = shape.hidden[0]
    layers = [(np.ascontiguousarray(p["w0"][:, :first]), p["b0"][:first])]
    layers += [(p[f"w{i}"][0], p[f"b{i}"][0, 0]) for i in range(1, len(shape.hidden))]
    layers.append((p["policy_w"], p["policy_b"]))
    return PolicyLayers(tuple(layers), p.get("log_std"))


def apply_policy(policy: PolicyLayers, observations: FloatArray) -> FloatArray:
    """Means or logits [B, a] for [B, o] normalised observations, in NumPy."""
    hidden = observations
    for weight, bias in policy.layers[:-1]:
        hidden = hidden @ weight
        hidden += bias
        np.tanh(hidden, out=hidden)
    weight, bias = policy.layers[-1]
    outputs = hidden @ weight
    outputs += bias
    return outputs
