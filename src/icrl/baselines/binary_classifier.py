"""Baseline BC: zeta is a binary classifier between demonstrations and samples;
the agent is the Lagrangian one."""

import jax
import jax.numpy as jnp

from icrl.config import BackwardConfig
from icrl.constraint.network import Params, log_feasibility, logits
from icrl.constraint.objective import LossInfo, Steps, masked_mean


def cross_entropy(
    params: Params,
    demos: Steps,
    samples: Steps,
    sample_weights: jax.Array,
    config: BackwardConfig,
) -> tuple[jax.Array, LossInfo]:
    """−mean_D log ζ − mean_S log(1 − ζ): the loss of a classifier,
    and of GAIL's discriminator. -> [], info.

    The paper gives BC no regulariser and no importance weights;
    only `config.activation` is looked at here.
    """
    demo_logits = logits(params, demos.inputs, config.activation, jnp)
    sample_logits = logits(params, samples.inputs, config.activation, jnp)
    log_zeta_demos = log_feasibility(demo_logits, jnp)
    # log(1 - ζ) = log σ(-x): from the logit, as exact as log ζ itself.
    gain = masked_mean(log_zeta_demos, demos.mask) + masked_mean(
        log_feasibility(-sample_logits, jnp), samples.mask
    )
    info = LossInfo(
        gain=gain,
        cost_demos=masked_mean(-jnp.expm1(log_zeta_demos), demos.mask),
        cost_samples=masked_mean(-jnp.expm1(log_feasibility(sample_logits, jnp)), samples.mask),
    )
    return -gain, info
