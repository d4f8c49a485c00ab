"""Adam before its first step."""

from typing import Any

import jax
import numpy as np
import optax


def fresh_moments(optimizer: optax.GradientTransformation, params: Any) -> Any:
    """What `optimizer.init(params)` gives where all of it is zero, as that of Adam is.

    Made in NumPy: of every shape, `init` would have a program of its own compiled.
    """
    shapes = jax.eval_shape(optimizer.init, params)
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
