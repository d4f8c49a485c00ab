"""Zeta as a plain MLP: the same functions on NumPy and on jax.numpy arrays (`xp`).

Nothing here imports jax.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from icrl.config import Activation


class Layer(NamedTuple):
    """An affine map x W + b."""

    weight: Any
    """[inputs, outputs]"""
    bias: Any
    """[outputs]"""


Params = tuple[Layer, ...]
"""Layers of zeta, from its inputs to its single logit."""


def init_params(rng: np.random.Generator, num_inputs: int, hidden: tuple[int, ...]) -> Params:
    """Fresh parameters, W, b ~ U(-1/√n, 1/√n) with n inputs per layer,
    float32 (PyTorch's default for `Linear`)."""
    sizes = (num_inputs, *hidden, 1)
    layers = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = 1.0 / np.sqrt(fan_in)
        weight = rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32)
        layers.append(Layer(weight, rng.uniform(-bound, bound, fan_out).astype(np.float32)))
    return tuple(layers)


def to_numpy(params: Params) -> Params:
    """The same parameters as NumPy arrays."""
    return tuple(Layer(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in params)


def logits(params: Params, inputs: Any, activation: Activation, xp: Any = np) -> Any:
    """Logit of ζ: W_n φ(... φ(x W_1 + b_1) ...) + b_n.

    Shapes: inputs [..., f] -> [...].
    """
    # Two axes, whatever came in: one matrix product is many times faster than a batch of small
    # ones, and NumPy and JAX then round alike.
    x = inputs.reshape(-1, inputs.shape[-1])  # [..., f] -> [M, f]
    for layer in params[:-1]:
        x = x @ layer.weight + layer.bias[None, :]
        # fidelity F9: the paper says tanh, the authors' code has ReLU.
        if activation == Activation.tanh:
            x = xp.tanh(x)
        else:
            x = xp.maximum(x, 0)
    x = x @ params[-1].weight + params[-1].bias[None, :]
    return x.reshape(inputs.shape[:-1])  # [M, 1] -> [...]


def log_feasibility(logit: Any, xp: Any = np) -> Any:
    """log ζ = log σ(x) = -log(1 + exp(-x)), without overflow. Shapes: [...] -> [...]."""
    return -xp.logaddexp(0, -logit)
