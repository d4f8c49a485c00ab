"""Slow NumPy twins of the functions in `icrl.constraint`:
loops and plain formulas, float64, nothing clever."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from icrl.config import Activation, BackwardConfig, Weights
from icrl.constraint.features import Features
from icrl.constraint.network import Layer, Params
from icrl.constraint.objective import Steps

Array = np.ndarray[Any, Any]


def extract(features: Features, observation: Array, action: Any) -> list[float]:
    """Inputs of one pair (s, a)."""
    full = [float(x) for x in observation]
    if features.discrete:
        full += [1.0 if int(action) == choice else 0.0 for choice in range(features.num_actions)]
    else:
        full += [float(x) for x in action]
    bounds = zip(features.columns, features.lower, features.upper, strict=True)
    return [min(max(full[column], low), high) for column, low, high in bounds]


def logit(params: Params, inputs: Sequence[float], activation: Activation) -> float:
    """Logit of one input, neuron by neuron."""
    values = [float(x) for x in inputs]
    for depth, layer in enumerate(params):
        outputs = []
        for unit in range(len(layer.bias)):
            total = float(layer.bias[unit])
            for i, value in enumerate(values):
                total += value * float(layer.weight[i, unit])
            if depth < len(params) - 1:
                total = math.tanh(total) if activation is Activation.tanh else max(total, 0.0)
            outputs.append(total)
        values = outputs
    return values[0]


def log_sigmoid(x: float) -> float:
    """log σ(x), by cases."""
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def log_zeta(params: Params, inputs: Array, activation: Activation) -> Array:
    """log ζ of [N, T, f] -> [N, T]."""
    return np.array(
        [
            [log_sigmoid(logit(params, step, activation)) for step in trajectory]
            for trajectory in inputs
        ]
    )


def log_trajectory_weights(new: Array, old: Array, mask: Array) -> list[float]:
    """log ω(τ) of each trajectory."""
    n, t = mask.shape
    return [
        math.fsum(float(new[j, k]) - float(old[j, k]) for k in range(t) if mask[j, k])
        for j in range(n)
    ]


def normalized_weights(log_omega: Sequence[float]) -> list[float]:
    """ω / Σ ω, from plain exponentials."""
    omega = [math.exp(x) for x in log_omega]
    return [w / math.fsum(omega) for w in omega]


def effective_sample_size(log_omega: Sequence[float]) -> float:
    """(Σ ω)² / Σ ω²."""
    omega = [math.exp(x) for x in log_omega]
    return math.fsum(omega) ** 2 / math.fsum(w * w for w in omega)


def kl(p: Sequence[float], q: Sequence[float]) -> float:
    """KL(p || q) of two distributions given as lists, Σ p log(p / q)."""
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def kl_old_new(log_omega: Sequence[float]) -> float:
    """From the uniform distribution on S to the reweighted one."""
    n = len(log_omega)
    return kl([1 / n] * n, normalized_weights(log_omega))


def kl_new_old(log_omega: Sequence[float]) -> float:
    """From the reweighted distribution on S to the uniform one."""
    n = len(log_omega)
    return kl(normalized_weights(log_omega), [1 / n] * n)


def gain(
    new_demos: Array,
    new_samples: Array,
    demos: Steps,
    samples: Steps,
    w: Array,
    config: BackwardConfig,
) -> float:
    """Data term of the loss, step by step."""
    num_demo_steps, num_sample_steps = int(np.sum(demos.mask)), int(np.sum(samples.mask))
    if config.weights is Weights.trajectory:
        demo_log_omega = log_trajectory_weights(
            new_demos, np.asarray(demos.old_log_zeta), np.asarray(demos.mask)
        )
        log_omega = log_trajectory_weights(
            new_samples, np.asarray(samples.old_log_zeta), np.asarray(samples.mask)
        )
        n = len(demo_log_omega)
        value = sum(demo_log_omega) / n
        if sum(w) > 0:
            weighted = sum(float(w[j]) * math.exp(x) for j, x in enumerate(log_omega))
            value -= math.log(weighted / float(sum(w)))
        return value / (num_demo_steps / n)
    value = (
        sum(float(new_demos[i]) for i in np.ndindex(*new_demos.shape) if demos.mask[i])
        / num_demo_steps
    )
    for j, t in np.ndindex(*new_samples.shape):
        if samples.mask[j, t]:
            x = float(new_samples[j, t])
            omega = (
                math.exp(x - float(samples.old_log_zeta[j, t]))
                if config.weights is Weights.step
                else 1.0
            )
            value -= float(w[j]) * omega * x / num_sample_steps
    return value


def loss(params: Params, demos: Steps, samples: Steps, w: Array, config: BackwardConfig) -> float:
    """The loss of the backward step."""
    new_demos = log_zeta(params, np.asarray(demos.inputs), config.activation)
    new_samples = log_zeta(params, np.asarray(samples.inputs), config.activation)
    total = -gain(new_demos, new_samples, demos, samples, w, config)
    for new, steps in ((new_demos, demos), (new_samples, samples)):
        costs = [1 - math.exp(float(new[i])) for i in np.ndindex(*new.shape) if steps.mask[i]]
        total += config.sparsity * sum(costs) / len(costs)
    return total


def numerical_gradient(
    function: Callable[[Params], float], params: Params, step: float = 1e-5
) -> list[Array]:
    """Central differences in every parameter;
    flat list of arrays, weight then bias of each layer."""
    arrays = [np.array(x, dtype=np.float64) for layer in params for x in layer]
    gradients = [np.zeros_like(x) for x in arrays]
    for array, gradient in zip(arrays, gradients, strict=True):
        for i in np.ndindex(*array.shape):
            centre = array[i]
            array[i] = centre + step
            up = function(as_params(arrays))
            array[i] = centre - step
            down = function(as_params(arrays))
            array[i] = centre
            gradient[i] = (up - down) / (2 * step)
    return gradients


def as_params(arrays: Sequence[Array]) -> Params:
    """Layers from a flat list of weight, bias, weight, bias, ..."""
    return tuple(Layer(arrays[i], arrays[i + 1]) for i in range(0, len(arrays), 2))


def adam(function: Callable[[Params], float], params: Params, rate: float, updates: int) -> Params:
    """Adam (β 0.9, 0.999; ε 1e-8) with numerical gradients."""
    arrays = [np.array(x, dtype=np.float64) for layer in params for x in layer]
    first, second = [np.zeros_like(x) for x in arrays], [np.zeros_like(x) for x in arrays]
    for count in range(1, updates + 1):
        gradients = numerical_gradient(function, as_params(arrays))
        for i, g in enumerate(gradients):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g * g
            direction = (first[i] / (1 - 0.9**count)) / (
                np.sqrt(second[i] / (1 - 0.999**count)) + 1e-8
            )
            arrays[i] = arrays[i] - rate * direction
    return as_params(arrays)
