"""Checks of the worlds: python verify.py [numbers] [--ppo] [-v], in one thread.

It looks for `demos/` in the working directory, and keeps its results in verify.json beside itself.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import blindkit
import numpy as np

NAMES = [
    "w1_turbine",
    "w2_reactor",
    "w3_agv",
    "w4_junction",
    "w5_battery",
    "w6_compressor",
    "w7_office",
    "w8_fishpond",
]
ENVS, LENGTH, HIDDEN = 16, 128, 32  # of the PPO, as are all of these
GAMMA, LAMBDA, RATE, EPOCHS, MINIBATCH = 0.98, 0.95, 6e-4, 10, 128


def score(module, policy, episodes, seed):
    """Give the mean and spread of the return, the share of steps that violate, and the episodes."""
    runs = blindkit.rollout(module, policy, episodes, seed)
    bad = np.mean([module.violates(o, a).mean() for o, a, _ in runs])
    returns = np.array([r.sum() for *_, r in runs])
    return returns.mean(), returns.std(), bad, runs


def speed(module):
    """Give the microseconds of processor time that a step takes, the best of five episodes."""
    env = module.make_env()
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(500)]
    best = 1e9
    for _ in range(5):
        env.reset()
        started = time.process_time()
        steps = 0
        for action in actions:
            steps += 1
            if env.step(action)[3]:
                break
        best = min(best, (time.process_time() - started) / steps)
    return best * 1e6


class Adam:
    """Adam on a list of arrays, changed in place, with the gradient cut to a norm of 0.5."""

    def __init__(self, weights, rate):
        """Begin with no memory of gradients."""
        self.weights, self.rate, self.steps = weights, rate, 0
        self.means = [0 * w for w in weights]
        self.squares = [0 * w for w in weights]

    def step(self, gradients):
        """Go one step down."""
        self.steps += 1
        norm = np.sqrt(sum((g * g).sum() for g in gradients))
        cut = min(1, 0.5 / (norm + 1e-8))
        for k, gradient in enumerate(gradients):
            g = gradient * cut
            self.means[k] = 0.9 * self.means[k] + 0.1 * g
            self.squares[k] = 0.999 * self.squares[k] + 0.001 * g * g
            mean = self.means[k] / (1 - 0.9**self.steps)
            size = np.sqrt(self.squares[k] / (1 - 0.999**self.steps)) + 1e-5
            self.weights[k] -= self.rate * mean / size


class Network:
    """One hidden layer of tanh, and a linear layer above it."""

    def __init__(self, rng, inputs, outputs, last):
        """Draw the weights, those of the last layer of this size."""
        first = 1.4 * rng.standard_normal((inputs, HIDDEN)) / np.sqrt(inputs)
        second = last * rng.standard_normal((HIDDEN, outputs)) / np.sqrt(HIDDEN)
        layers = first, np.zeros(HIDDEN), second, np.zeros(outputs)
        self.weights = [layer.astype(np.float32) for layer in layers]

    def hidden_and_out(self, x):
        """Give what the hidden layer and what the last one say of x."""
        w = self.weights
        hidden = np.tanh(x @ w[0] + w[1])
        return hidden, hidden @ w[2] + w[3]

    def __call__(self, x):
        """Give what the last layer says of x."""
        return self.hidden_and_out(x)[1]

    def gradients(self, x, hidden, slope):
        """Give the gradient in each of the weights, from the slope in the outputs."""
        below = (slope @ self.weights[2].T) * (1 - hidden * hidden)
        return [x.T @ below, below.sum(0), hidden.T @ slope, slope.sum(0)]


def softmax(out):
    """Give the chance of each choice."""
    powers = np.exp(out - out.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class Choice:
    """How a discrete action is drawn from what the network says."""

    dtype = int

    def __init__(self, space):
        """Read the number of choices off the space."""
        self.outputs, self.weights = int(space.n), []

    def draw(self, rng, out):
        """Draw actions, and give the logarithm of the chance of each."""
        picks = (softmax(out).cumsum(-1) > rng.random((len(out), 1))).argmax(-1)
        return picks, self.log_chance(out, picks)

    def log_chance(self, out, picks):
        """Give the logarithm of the chance of each pick."""
        return np.log(softmax(out)[np.arange(len(out)), picks] + 1e-9)

    def gradients(self, out, picks, push):
        """Give the slope in `out` (with a bonus for entropy), and in weights: there are none."""
        n, chances = len(out), softmax(out)
        picked = np.zeros(out.shape, np.float32)
        picked[np.arange(n), picks] = 1
        logs = np.log(chances + 1e-9)
        entropy = -(chances * logs).sum(-1, keepdims=True)
        return push * (picked - chances) + 0.005 * chances * (logs + entropy) / n, []

    def for_env(self, picks):
        """Give the actions as they are."""
        return picks

    def best(self, out):
        """Give the likeliest action."""
        return int(out.argmax())


class Gauss:
    """How a continuous action is drawn about what the network says."""

    dtype = np.float32

    def __init__(self, space):
        """Read the limits off the space."""
        self.space, self.outputs = space, space.shape[0]
        self.middle, self.half = (space.high + space.low) / 2.0, (space.high - space.low) / 2.0
        self.log_std = np.full(self.outputs, -0.5, np.float32)
        self.weights = [self.log_std]

    def draw(self, rng, out):
        """Draw actions, and give the logarithm of the chance of each, but for a constant."""
        z = rng.standard_normal(out.shape)
        return out + np.exp(self.log_std) * z, self._log_density(z)

    def _log_density(self, z):
        """Give the logarithm of the density, but for a constant, z spreads from the mean."""
        return (-0.5 * z * z - self.log_std).sum(-1)

    def log_chance(self, out, actions):
        """Give the logarithm of the chance of each action, but for a constant."""
        return self._log_density((actions - out) / np.exp(self.log_std))

    def gradients(self, out, actions, push):
        """Give the slope in `out`, and in the logarithm of the spread."""
        spread = np.exp(self.log_std)
        z = (actions - out) / spread
        return push * z / spread, [(push * (z * z - 1)).sum(0)]

    def for_env(self, actions):
        """Scale actions from -1 to 1 to the limits of the space, and cut them there."""
        scaled = self.middle + self.half * actions
        return np.clip(scaled, self.space.low, self.space.high).astype(np.float32)

    def best(self, out):
        """Give the mean action."""
        return self.for_env(out)


class Norm:
    """Observations less their running mean, over their running spread."""

    def __init__(self, inputs):
        """Begin with almost no weight."""
        self.count, self.mean, self.squares = 1e-4, np.zeros(inputs), np.ones(inputs) * 1e-4

    def add(self, x):
        """Count these observations in."""
        n = len(x)
        off = x.mean(0) - self.mean
        total = self.count + n
        self.squares = self.squares + x.var(0) * n + off * off * self.count * n / total
        self.mean = self.mean + off * n / total
        self.count = total

    def __call__(self, x):
        """Give observations in these units, none beyond 8."""
        spread = np.sqrt(self.squares / self.count + 1e-12)
        return np.clip((x - self.mean) / spread, -8, 8).astype(np.float32)


class Scale:
    """The running spread of the discounted return, which rewards are divided by."""

    def __init__(self):
        """Begin with almost no weight."""
        self.returns = np.zeros(ENVS)
        self.count, self.mean, self.squares = 1e-4, 0.0, 1e-4

    def add(self, rewards, over):
        """Count in one step of every environment."""
        self.returns = GAMMA * self.returns + rewards
        off = self.returns.mean() - self.mean
        total = self.count + ENVS
        self.squares += self.returns.var() * ENVS + off * off * self.count * ENVS / total
        self.mean += off * ENVS / total
        self.count = total
        self.returns[over > 0] = 0

    def spread(self):
        """Give the spread so far."""
        return np.sqrt(self.squares / self.count + 1e-8)


class Crowd:
    """Environments side by side, each reset as soon as its episode is over."""

    def __init__(self, module, seed):
        """Make and reset them all."""
        self.envs = [module.make_env() for _ in range(ENVS)]
        first = [env.reset(seed=seed * 1000 + k)[0] for k, env in enumerate(self.envs)]
        self.obs = np.stack(first).astype(np.float64)

    def step(self, actions):
        """Give rewards, whose episodes are over, and what was seen then, before any reset."""
        seen = np.empty_like(self.obs)
        rewards, over = np.zeros(ENVS, np.float32), np.zeros(ENVS, np.float32)
        for k, env in enumerate(self.envs):
            seen[k], rewards[k], terminated, truncated, _ = env.step(actions[k])
            over[k] = terminated or truncated
        self.obs = seen.copy()
        for k in np.flatnonzero(over):
            self.obs[k] = self.envs[k].reset()[0]
        return rewards, over, seen


class Agent:
    """Two networks with one hidden layer of their own each: what to do, and what it is worth."""

    def __init__(self, rng, action_space, inputs):
        """Draw both networks."""
        self.rng = rng
        self.kind = (Choice if hasattr(action_space, "n") else Gauss)(action_space)
        self.actor = Network(rng, inputs, self.kind.outputs, 0.01)
        self.critic = Network(rng, inputs, 1, 1)
        self.norm, self.scale = Norm(inputs), Scale()
        self.actor_adam = Adam([*self.actor.weights, *self.kind.weights], RATE)
        self.critic_adam = Adam(self.critic.weights, RATE)

    def act(self, obs):
        """Give the action for one observation, without noise."""
        return self.kind.best(self.actor(self.norm(obs[None].astype(np.float64)))[0])

    def set_rate(self, rate):
        """Set the size of the steps of both networks."""
        self.actor_adam.rate = self.critic_adam.rate = rate

    def collect(self, crowd):
        """Act in a crowd for some steps; give inputs, actions, log chances, gains and returns."""
        rows, raw = [], []
        for _ in range(LENGTH):
            x = self.norm(crowd.obs)
            actions, chances = self.kind.draw(self.rng, self.actor(x))
            rewards, over, seen = crowd.step(self.kind.for_env(actions))
            self.scale.add(rewards, over)
            raw.append(seen)
            worth, after = self.critic(x)[:, 0], self.critic(self.norm(seen))[:, 0]
            rows.append((x, actions, chances, rewards, over, worth, after))
        self.norm.add(np.concatenate(raw))
        x, actions, chances, rewards, over, worth, after = map(np.stack, zip(*rows, strict=True))
        gains = advantages(rewards / self.scale.spread(), over, worth, after)
        columns = x, actions.astype(self.kind.dtype), chances.astype(np.float32)
        return [np.concatenate(column) for column in (*columns, gains, gains + worth)]

    def learn(self, x, actions, chances, gains, returns):
        """Go through what was collected several times, in minibatches."""
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        for _ in range(EPOCHS):
            for rows in np.split(self.rng.permutation(len(x)), len(x) // MINIBATCH):
                self._learn_worth(x[rows], returns[rows])
                self._learn_acts(x[rows], actions[rows], chances[rows], gains[rows])

    def _learn_worth(self, x, returns):
        """Lead the critic towards these returns."""
        hidden, worth = self.critic.hidden_and_out(x)
        slope = (worth - returns[:, None]) / len(x)
        self.critic_adam.step(self.critic.gradients(x, hidden, slope))

    def _learn_acts(self, x, actions, chances, gains):
        """Lead the actor towards actions that gained, as far as the clipped ratio lets it."""
        hidden, out = self.actor.hidden_and_out(x)
        ratio = np.exp(self.kind.log_chance(out, actions) - chances)
        far = ((gains > 0) & (ratio > 1.2)) | ((gains < 0) & (ratio < 0.8))
        push = np.where(far, 0, -gains * ratio)[:, None] / len(x)
        slope, own = self.kind.gradients(out, actions, push)
        self.actor_adam.step([*self.actor.gradients(x, hidden, slope), *own])


def advantages(rewards, over, worth, after):
    """Give what each step gained over what was expected, by generalized advantage estimation."""
    gains = np.zeros(rewards.shape, np.float32)
    last = 0
    for t in reversed(range(len(rewards))):
        surprise = rewards[t] + GAMMA * after[t] - worth[t]
        last = surprise + GAMMA * LAMBDA * (1 - over[t]) * last
        gains[t] = last
    return gains


def ppo(module, steps=200_000, seed=0):
    """Train a plain PPO in NumPy on the reward alone, and give its policy."""
    crowd = Crowd(module, seed)
    rng = np.random.default_rng(seed)
    agent = Agent(rng, crowd.envs[0].action_space, crowd.obs.shape[1])
    agent.norm.add(crowd.obs)
    rounds = steps // (ENVS * LENGTH)
    for k in range(rounds):
        batch = agent.collect(crowd)
        agent.set_rate(RATE * (1 - k / rounds))
        agent.learn(*batch)
    return agent.act


def demos_bad(module, number):
    """Give the share of a demonstration's steps that violate; None where there is no file."""
    path = Path(f"demos/w{number}.npz")
    if not path.exists():
        return None
    demos = np.load(path)
    episodes = zip(demos["observations"], demos["actions"], demos["lengths"], strict=True)
    return float(np.mean([module.violates(o[:n], a[:n]).mean() for o, a, n in episodes]))


def check_spaces(module, number, runs, greedy_runs):
    """Fail if an observation or one of the expert's actions is outside its space."""
    env = module.make_env()
    low, high = env.observation_space.low, env.observation_space.high
    seen = np.concatenate([o for o, *_ in runs + greedy_runs])
    actions = np.concatenate([a for _, a, _ in runs])
    assert ((seen >= low) & (seen <= high)).all(), (number, seen.min(0), seen.max(0))
    assert all(env.action_space.contains(x if x.ndim else int(x)) for x in actions[:500])


def print_range(who, runs):
    """Print the lowest and the highest of each observation."""
    seen = np.concatenate([o for o, *_ in runs])
    print(f"  obs range {who}", np.round(seen.min(0), 4), np.round(seen.max(0), 4))


def measure(number, row):
    """Put what one world measures into its row, and print it."""
    module = importlib.import_module(NAMES[number - 1])
    expert, spread, expert_bad, runs = score(module, module.expert, 200, 1000)
    greedy, _, greedy_bad, greedy_runs = score(module, module.greedy, 100, 5000)
    check_spaces(module, number, runs, greedy_runs)
    row.update(name=NAMES[number - 1], expert=expert, expert_sd=spread, expert_bad=expert_bad)
    row.update(greedy=greedy, greedy_bad=greedy_bad)
    row.update(us=speed(module), demo_bad=demos_bad(module, number))
    if "--ppo" in sys.argv:
        started = time.process_time()
        policy = ppo(module)
        row["ppo_s"] = time.process_time() - started
        row["ppo"], _, row["ppo_bad"], _ = score(module, policy, 50, 9000)
    print({name: rounded(value) for name, value in row.items()}, flush=True)
    if "-v" in sys.argv:
        print_range("expert", runs)
        print_range("greedy", greedy_runs)


def rounded(value):
    """Give a number with four decimals, and a word or None as it is."""
    return value if value is None or isinstance(value, str) else round(float(value), 4)


def print_table(table):
    """Print a line for each world."""
    heads = f"{'expert':>9}{'viol%':>7}{'breaker':>9}{'gain%':>7}{'viol%':>7}"
    print(f"\n{'world':15}{heads}{'PPO200k':>9}{'gain%':>7}{'viol%':>7}{'us/step':>8}")
    for number in sorted(table):
        row = table[number]
        ppo_return, ppo_bad = row.get("ppo", np.nan), row.get("ppo_bad", np.nan)
        cells = f"{row['name']:15}{row['expert']:9.2f}{100 * row['expert_bad']:7.2f}"
        for earned, bad in ((row["greedy"], row["greedy_bad"]), (ppo_return, ppo_bad)):
            cells += f"{earned:9.2f}{100 * (earned / row['expert'] - 1):7.1f}{100 * bad:7.1f}"
        print(f"{cells}{row['us']:8.1f}")


def main():
    """Measure the worlds that are asked for, and print the table of all that were measured."""
    wanted = [int(x) for x in sys.argv[1:] if x.isdigit()] or range(1, 9)
    store = Path(__file__).parent / "verify.json"
    table = json.loads(store.read_text()) if store.exists() else {}
    for number in wanted:
        row = table.get(str(number), {})
        measure(number, row)
        table[str(number)] = row
    store.write_text(json.dumps(table, indent=1, default=float))
    print_table(table)


if __name__ == "__main__":
    main()
