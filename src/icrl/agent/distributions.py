"""The policy's distributions: diagonal Gaussian for continuous actions,
categorical for discrete ones."""

import math
from typing import Any

import numpy as np

from icrl.types import AnyArray, FloatArray

Array = Any
"""Of NumPy or of JAX: `xp` is either namespace."""
_LOG_2PI = math.log(2 * math.pi)


def gaussian_log_prob(mean: Array, log_std: Array, actions: Array, xp: Any) -> Array:
    """log π(a|s) = −½ Σᵢ [((aᵢ − μᵢ)/σᵢ)² + 2 log σᵢ + log 2π];
    mean and actions [..., a], log_std [a] -> [...]."""
    log_std = xp.broadcast_to(log_std, mean.shape)
    scaled = (actions - mean) * xp.exp(-log_std)
    return -0.5 * xp.sum(scaled**2 + 2 * log_std + _LOG_2PI, axis=-1)


def gaussian_entropy(log_std: Array, xp: Any) -> Array:
    """H(π) = Σᵢ [log σᵢ + ½ log 2πe]; log_std [a] -> scalar."""
    return xp.sum(log_std + 0.5 * (_LOG_2PI + 1.0))


def log_softmax(logits: Array, xp: Any) -> Array:
    """log pᵢ = ℓᵢ − log Σⱼ exp ℓⱼ over the last axis; [..., n] -> [..., n]."""
    # exp of a large logit overflows; the largest of these is exp 0.
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def categorical_log_prob(logits: Array, actions: Array, xp: Any) -> Array:
    """log π(a|s) = log_softmax(ℓ)ₐ; logits [..., n], integer actions [...] -> [...]."""
    return xp.take_along_axis(log_softmax(logits, xp), actions[..., None], axis=-1)[..., 0]


def categorical_entropy(logits: Array, xp: Any) -> Array:
    """H(π) = −Σᵢ pᵢ log pᵢ; [..., n] -> [...]."""
    log_p = log_softmax(logits, xp)
    return -xp.sum(xp.exp(log_p) * log_p, axis=-1)


def sample_gaussian(rng: np.random.Generator, mean: FloatArray, log_std: FloatArray) -> FloatArray:
    """a = μ + σ ε, ε ~ N(0, I); mean [B, a] -> [B, a] float32."""
    noise = rng.standard_normal(mean.shape, dtype=np.float32)
    noise *= np.exp(log_std)
    noise += mean
    return noise


def sample_categorical(rng: np.random.Generator, logits: FloatArray) -> AnyArray:
    """a ~ softmax(ℓ) by inverting the cumulative distribution; logits [B, n] -> [B] int64."""
    cumulative = np.cumsum(np.exp(log_softmax(logits.astype(np.float64), np)), axis=-1)
    # Times the last sum, which is 1 but for rounding: else a draw above it would choose an action
    # that does not exist.
    uniform = rng.random((*logits.shape[:-1], 1)) * cumulative[..., -1:]
    return np.asarray(np.sum(uniform >= cumulative, axis=-1), np.int64)
