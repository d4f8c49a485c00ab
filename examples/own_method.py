"""A method of your own: icrl learn lap-grid --method own_method:LEAST_SQUARES."""

from dataclasses import replace

import jax
import jax.numpy as jnp

import icrl
from icrl.constraint.network import logits
from icrl.constraint.objective import LossInfo, masked_mean
from icrl.methods.record import baseline_settings


def squares(params, demos, samples, sample_weights, config):
    """mean_D (1 − ζ)² + mean_S ζ²: demonstrated steps are pulled to 1, sampled ones to 0.
    An `icrl.constraint.objective.Objective`: steps are [N, T] and padded, the mask says where."""
    cost_demos = jax.nn.sigmoid(-logits(params, demos.inputs, config.activation, jnp))
    cost_samples = jax.nn.sigmoid(-logits(params, samples.inputs, config.activation, jnp))
    shown = masked_mean(cost_demos, demos.mask)
    sampled = masked_mean(cost_samples, samples.mask)
    missed = masked_mean(cost_demos**2, demos.mask)
    missed += masked_mean((1 - cost_samples) ** 2, samples.mask)
    info = LossInfo(-missed, shown, sampled)
    return missed, info


LEAST_SQUARES = icrl.Method(
    name="least-squares",
    label="least squares",
    summary="demonstrations against samples, by squared errors",
    settings=baseline_settings(),
    objective=lambda: squares,  # asked for when it learns: tables and help need the record alone
)

if __name__ == "__main__":
    config = replace(LEAST_SQUARES.preset("default", "lap-grid"), steps=20_000)
    method = "own_method:LEAST_SQUARES"
    result = icrl.run("lap-grid", "runs/own-method", method=method, config=config)
    print(f"a step of its agent costs {result.metrics[-1]['constraint/cost_samples']:.2f}")
