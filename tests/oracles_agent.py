"""Slow NumPy twins of the functions in `icrl.agent`:
loops and plain formulas, float64, nothing clever."""

import math
from typing import Any

import numpy as np

from icrl.agent.networks import NetworkShape
from icrl.config import ForwardConfig, Respect

Array = np.ndarray[Any, Any]


def split(flat: Array, shape: NetworkShape) -> dict[str, Array]:
    """Blocks of the flat vector, taken off one by one."""
    rest, blocks = list(np.asarray(flat, np.float64)), {}
    for name, size in shape.sections().items():
        count = int(np.prod(size))
        blocks[name], rest = np.array(rest[:count]).reshape(size), rest[count:]
    assert rest == []
    return blocks


def network_output(flat: Array, observation: Array, shape: NetworkShape, network: int) -> Array:
    """Outputs of one network (0: policy, 1: reward critic, 2: cost critic) on one observation."""
    p = split(flat, shape)
    width = shape.hidden[0]
    columns = slice(network * width, (network + 1) * width)
    hidden = np.array([math.tanh(x) for x in observation @ p["w0"][:, columns] + p["b0"][columns]])
    for layer in range(1, len(shape.hidden)):
        hidden = np.array(
            [math.tanh(x) for x in hidden @ p[f"w{layer}"][network] + p[f"b{layer}"][network, 0]]
        )
    if network == 0:
        return np.asarray(hidden @ p["policy_w"] + p["policy_b"])
    return np.asarray(hidden @ p["critic_w"][network - 1] + p["critic_b"][network - 1])


def log_prob_and_entropy(
    flat: Array, observation: Array, action: Any, shape: NetworkShape
) -> tuple[float, float]:
    """log π(a|s) and H(π(·|s)) of one pair."""
    output = network_output(flat, observation, shape, 0)
    if shape.discrete:
        weights = [math.exp(x) for x in output]
        probabilities = [w / sum(weights) for w in weights]
        return math.log(probabilities[int(action)]), -sum(p * math.log(p) for p in probabilities)
    stds = [math.exp(x) for x in split(flat, shape)["log_std"]]
    log_prob = entropy = 0.0
    for mean, std, value in zip(output, stds, action, strict=True):
        log_prob += math.log(
            math.exp(-0.5 * ((value - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))
        )
        entropy += 0.5 * math.log(2 * math.pi * math.e * std**2)
    return log_prob, entropy


def gae(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    lam: float,
) -> Array:
    """Â_t = Σ_k (γλ)^k δ_{t+k}, summed forwards up to the end of the episode; all [T]."""
    steps = len(rewards)
    advantages = np.zeros(steps)
    for t in range(steps):
        for k in range(steps - t):
            at = t + k
            following = 0.0 if terminated[at] else next_values[at]
            advantages[t] += (gamma * lam) ** k * (rewards[at] + gamma * following - values[at])
            if terminated[at] or truncated[at]:
                break
    return advantages


def prepare(
    flat: Array, batch: Any, multiplier: float, shape: NetworkShape, config: ForwardConfig
) -> tuple[list[dict[str, Any]], list[float]]:
    """Rows of a rollout (time first, then environment) with log-probabilities,
    advantages and targets."""
    steps, num_envs = np.shape(batch.rewards)
    critics = range(shape.num_critics)
    advantages, targets = np.zeros((2, shape.num_critics, steps, num_envs))
    for e in range(num_envs):
        for c in critics:
            values = np.array(
                [network_output(flat, s, shape, 1 + c)[0] for s in batch.observations[:, e]]
            )
            following = np.append(values[1:], np.nan)
            for t in range(steps):
                if batch.bootstrapped[t, e]:
                    following[t] = batch.bootstrap[c, t, e]
            signal = (batch.rewards, batch.costs)[c][:, e]
            gamma = (config.gamma, config.cost_gamma)[c]
            lam = (config.gae_lambda, config.cost_gae_lambda)[c]
            ends = (batch.terminated[:, e], batch.truncated[:, e])
            advantages[c, :, e] = gae(signal, values, following, *ends, gamma, lam)
            targets[c, :, e] = advantages[c, :, e] + values
    combined = (advantages[0] - advantages[0].mean()) / (advantages[0].std() + 1e-8)
    if config.respect is Respect.lagrangian:
        costs = advantages[1] - advantages[1].mean()
        if config.scale_cost_advantages:
            costs = costs / (advantages[1].std() + 1e-8)
        combined = (combined - multiplier * costs) / (1 + multiplier)
    rows = []
    for t in range(steps):
        for e in range(num_envs):
            observation, action = batch.observations[t, e], batch.actions[t, e]
            log_prob, _ = log_prob_and_entropy(flat, observation, action, shape)
            row = {"observation": observation, "action": action, "log_prob": log_prob}
            rows.append(row | {"advantage": combined[t, e], "targets": targets[:, t, e]})
    return rows, [advantages[0].std(), advantages[-1].std()]


def ppo_loss(
    flat: Array, rows: list[dict[str, Any]], shape: NetworkShape, config: ForwardConfig
) -> tuple[float, list[float]]:
    """The loss of one minibatch, row by row, and [policy loss, value loss, entropy, KL]."""
    gains, errors, entropies, divergences = [], [], [], []
    for row in rows:
        log_prob, entropy = log_prob_and_entropy(flat, row["observation"], row["action"], shape)
        ratio = math.exp(log_prob - row["log_prob"])
        clipped = min(max(ratio, 1 - config.clip), 1 + config.clip)
        gains.append(min(ratio * row["advantage"], clipped * row["advantage"]))
        values = [
            network_output(flat, row["observation"], shape, 1 + c)[0]
            for c in range(shape.num_critics)
        ]
        errors.append(
            sum((v - target) ** 2 for v, target in zip(values, row["targets"], strict=True))
        )
        entropies.append(entropy)
        divergences.append(ratio - 1 - math.log(ratio))
    policy_loss, value_loss = -float(np.mean(gains)), float(np.mean(errors))
    entropy = float(np.mean(entropies))
    bonus = config.entropy_bonus
    if shape.discrete:
        bonus += config.choice_bonus
    loss = policy_loss + config.value_weight * value_loss - bonus * entropy
    return loss, [policy_loss, value_loss, entropy, float(np.mean(divergences))]


def loss_gradient(
    flat: Array, rows: list[dict[str, Any]], shape: NetworkShape, config: ForwardConfig
) -> Array:
    """∂loss/∂φ by central differences, one parameter at a time."""
    gradient, step = np.zeros(len(flat)), 1e-5
    for i in range(len(flat)):
        there, back = np.array(flat, np.float64), np.array(flat, np.float64)
        there[i] += step
        back[i] -= step
        gradient[i] = (
            ppo_loss(there, rows, shape, config)[0] - ppo_loss(back, rows, shape, config)[0]
        ) / (2 * step)
    return gradient


def update_policy(
    flat: Array,
    batch: Any,
    permutations: Array,
    multiplier: float,
    shape: NetworkShape,
    config: ForwardConfig,
) -> tuple[Array, list[float], int]:
    """Adam on clipped gradients from fresh moments:
    new parameters, last minibatch's terms, gradient steps made.

    The last term, the KL, is the mean over the last pass.
    """
    rows, _ = prepare(flat, batch, multiplier, shape, config)
    flat = np.array(flat, np.float64)
    first, second = np.zeros_like(flat), np.zeros_like(flat)
    limit = math.inf if config.target_kl is None else 1.5 * config.target_kl
    made, terms = 0, [0.0] * 4
    for order in permutations:
        kls: list[float] = []
        for begin in range(0, len(order), config.minibatch):
            minibatch = [rows[i] for i in order[begin : begin + config.minibatch]]
            terms = ppo_loss(flat, minibatch, shape, config)[1]
            kls.append(terms[3])
            gradient = loss_gradient(flat, minibatch, shape, config)
            norm = math.sqrt(float(np.sum(gradient**2)))
            if norm > config.max_gradient_norm:
                gradient = gradient * config.max_gradient_norm / norm
            made += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            unbiased, spread = first / (1 - 0.9**made), np.sqrt(second / (1 - 0.999**made))
            flat = flat - config.learning_rate * unbiased / (spread + config.adam_epsilon)
        terms = [*terms[:3], float(np.mean(kls))]
        if terms[3] > limit:
            break
    return flat, terms, made
