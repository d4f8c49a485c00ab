"""Why ICRL collapses on HalfCheetah, and what stops it: three links of the chain, each measured alone.

1. What is evidence: zeta is fitted to scouts and demonstrations with parts of the objective left out. Where does it
   forbid, and where should it not?
2. The sample term does not saturate: logits and costs with and without `sample_floor`, after 1 and 4 times the updates.
3. Can a backward runner be turned? The forward step alone, under the true cost: multiplier or end of the episode, the
   same agent or a fresh one.

Run `python benchmarks/collapse.py`: it trains its own scouts and agents (seeds 20 to 22, which no table of results
reports) and writes results/collapse/: a JSON file and a figure per link, table.md and command.txt. What was trained or
fitted is kept in runs/collapse/, so that a second call only writes; delete that folder to measure afresh.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from collapse_report import Rows, write_studies
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from icrl.agent.forward_step import forward_step, generator
from icrl.agent.sampling import sample_agent
from icrl.agent.state import AgentState, init_agent, policy_of
from icrl.config import BackwardConfig, ForwardConfig, Respect
from icrl.constraint.backward_step import ConstraintState, backward_step, constraint_cost, init_constraint
from icrl.constraint.features import extract, select_features
from icrl.constraint.network import logits, to_numpy
from icrl.constraint.objective import loss
from icrl.demos.collect import true_cost
from icrl.demos.dataset import Demonstrations, shipped_demos
from icrl.demos.formats import load_demos
from icrl.demos.formats_npz import save_npz
from icrl.evaluate import evaluate_policy
from icrl.evidence import evidence_of
from icrl.experiment.run_directory import library_versions, write_json
from icrl.presets import preset
from icrl.rounds import chance_horizon, num_rounds
from icrl.scouting import make_stage_envs, scout_on, scout_round, send_scouts
from icrl.tasks.registry import make_scenario
from icrl.tasks.truth import WALL_X
from icrl.trajectories import join, select
from icrl.types import AnyArray, FloatArray, Trajectories
from icrl.zeta_fit import fit_zeta

SCENARIO = make_scenario("half-cheetah-wall")
TASK, CONFIG = SCENARIO.task, preset("default", "half-cheetah-wall")
FEATURES = select_features(TASK, CONFIG.features, CONFIG.backward.input_clip)
DEMOS, SEEDS, TURNED_SEEDS = shipped_demos("half-cheetah-wall.npz"), (20, 21, 22), (20, 21)
EDGES, FINE_EDGES = (-10.0, -5.0, -3.0, -1.0, 0.0, 1.0, 5.0), tuple(float(x) for x in range(-12, 13))
PRETRAINING, TURNING, EPISODES = 6, 5, 20
"""Forward steps without and with the true cost, and episodes that judge the agent after each of the latter."""
CACHE, OUT, COMMAND = Path("runs/collapse"), Path("results/collapse"), "python benchmarks/collapse.py"


class Fit(NamedTuple):
    """How a zeta is fitted: changes of the default objective, and of the evidence."""

    changes: dict[str, Any]
    at_end: bool = False
    """Scouts are sampled at the end of their round alone instead of at every stage of it."""
    chance: tuple[int, int] = (CONFIG.forward.num_envs, chance_horizon(TASK))
    """Episodes and steps of what chance does."""
    whole: bool = False
    """As `fit_zeta` does it: of one feature where one is enough, presuming what is presumable."""

    @property
    def backward(self) -> BackwardConfig:
        return replace(CONFIG.backward, **self.changes)


_PAPER = {"presumption": 0.0, "feature_sparsity": 0.0, "sparsity": 0.5}
FITS = {
    "default: one feature where one is enough": Fit({}, whole=True),
    "all features": Fit({}),
    "no presumption": Fit({"presumption": 0.0}),
    "no lasso": Fit({"feature_sparsity": 0.0}),
    "neither presumption nor lasso": Fit({"presumption": 0.0, "feature_sparsity": 0.0}),
    "no demo_tail": Fit({"demo_tail": 0.0}),
    "no sample_floor": Fit({"sample_floor": None}),
    "scouts at the end of their round": Fit({}, at_end=True),
    "chance: 10 half episodes": Fit({}, chance=(10, TASK.horizon // 2)),
    "the paper's regulariser instead": Fit(_PAPER),
}
SATURATION = {
    "default": Fit({}),
    "default without floor": Fit({"sample_floor": None}),
    "paper's loss with floor": Fit({**_PAPER, "demo_tail": 0.0}),
    "paper's loss": Fit({**_PAPER, "demo_tail": 0.0, "sample_floor": None}),
}
UPDATES, QUANTILES = (CONFIG.backward.updates, 4 * CONFIG.backward.updates), (0.01, 0.5, 0.99)
LAGRANGIAN = replace(CONFIG.forward, respect=Respect.lagrangian)
ARMS = {
    "multiplier": (LAGRANGIAN, False),
    "multiplier, scaled": (replace(LAGRANGIAN, scale_cost_advantages=True), False),
    "terminate": (CONFIG.forward, False),
    "terminate, fresh agent": (CONFIG.forward, True),
    "multiplier, fresh agent": (LAGRANGIAN, True),
}
"""Forward step under the true cost, and whether it begins with a fresh agent. All carry both critics (those that do not
need the second one learn it for nothing), so that the same pre-trained agent serves all."""


class Recorded(NamedTuple):
    """What a seed's scouts do at the stages of their last round and at its end, and its untrained agent (`chance`)."""

    stages: Trajectories
    end: Trajectories
    chance: Trajectories
    card: dict[str, Any]


def means_by_bin(x: FloatArray, values: AnyArray, edges: tuple[float, ...]) -> list[float | None]:
    """Mean value where x is in (−∞, e₀], (e₀, e₁], ..., (eₙ, ∞); None where nobody was. Shapes: [n], [n]."""
    index = np.searchsorted(np.asarray(edges), x, side="left")
    return [share(values[index == b]) for b in range(len(edges) + 1)]


def share(values: AnyArray) -> float | None:
    """Their mean; None if there are none."""
    return round(float(np.mean(values)), 4) if values.size else None


def shorten(trajectories: Trajectories, episodes: int, steps: int) -> Trajectories:
    """The first steps of the first episodes."""
    return Trajectories(
        observations=trajectories.observations[:episodes, :steps],
        actions=trajectories.actions[:episodes, :steps],
        rewards=trajectories.rewards[:episodes, :steps],
        lengths=np.minimum(trajectories.lengths[:episodes], steps),
    )


def pairs(trajectories: Trajectories) -> tuple[FloatArray, FloatArray]:
    return trajectories.observations[trajectories.mask], trajectories.actions[trajectories.mask]


def made_with(*settings: object) -> dict[str, str]:
    """What a kept result depends on: made with anything else, it is made again."""
    digest = hashlib.sha256(DEMOS.read_bytes()).hexdigest()
    return {**library_versions(), "demonstrations": digest, "settings": repr(settings)}


def kept(path: Path, settings: object, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `make` returned when it was last called with these settings."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"made_with": None}
    if found.pop("made_with") != made_with(settings):
        found = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**found, "made_with": made_with(settings)})
    return found


def sample(key: Any, agent: AgentState, episodes: int) -> Trajectories:
    return sample_agent(key, agent, TASK, TASK.make_env(episodes), CONFIG.forward, TASK.horizon)


class Scout(NamedTuple):
    """What a scout does in the round in which it returns, and how many rounds it took."""

    stages: Trajectories
    end: Trajectories
    rounds: int


def send_scout(key: Any, demos: Demonstrations) -> Scout:
    """Train a fresh agent without any constraint until it returns."""
    env, stage_envs = TASK.make_env(CONFIG.forward.num_envs), make_stage_envs(TASK, CONFIG)
    agent = init_agent(generator(key), TASK, CONFIG.forward)
    first = send_scouts(num_rounds(TASK, CONFIG), CONFIG)
    scouting, returned = first._replace(left=1), False
    while not returned:
        key, key_forward, key_sample = jax.random.split(key, 3)
        agent, _, stages = scout_round(key_forward, agent, TASK, env, stage_envs, CONFIG, lambda _: None)
        scouting, returned = scout_on(scouting, stages, demos, CONFIG)
    return Scout(stages, sample(key_sample, agent, CONFIG.num_samples), first.spare - scouting.spare)


def recorded(seed: int, demos: Demonstrations) -> Recorded:
    """Sampled once, then read from `CACHE`."""
    paths = [CACHE / f"evidence-{seed}-{name}.npz" for name in ("stages", "end", "chance")]
    if not all(p.exists() and load_demos(p).card["made_with"] == made_with(CONFIG) for p in paths):
        keys = jax.random.split(jax.random.key(seed), CONFIG.scouts + 1)
        scouts = [send_scout(key, demos) for key in keys[1:]]
        untrained = init_agent(generator(keys[1]), TASK, CONFIG.forward)  # the first scout before it began
        chance = sample(keys[0], untrained, CONFIG.forward.num_envs)
        parts = (join([scout.stages for scout in scouts]), join([scout.end for scout in scouts]), chance)
        returns = [float(np.mean(scout.end.returns)) for scout in scouts]
        card = {"made_with": made_with(CONFIG), "rounds": [scout.rounds for scout in scouts], "returns": returns}
        CACHE.mkdir(parents=True, exist_ok=True)
        for path, part in zip(paths, parts, strict=True):
            save_npz(Demonstrations(trajectories=part, discrete=TASK.discrete, card=card), path)
    found = [load_demos(path) for path in paths]
    return Recorded(found[0].trajectories, found[1].trajectories, found[2].trajectories, found[0].card)


def fits_of(fit: Fit, evidence: Recorded, demos: Demonstrations, seed: int) -> Iterator[ConstraintState]:
    """A fresh zeta after 1, 2, ... times the default's updates, as one long fit."""
    config, scouts = fit.backward, evidence.end if fit.at_end else evidence.stages
    innocents = shorten(evidence.chance, *fit.chance) if config.presumption > 0 else None
    state = init_constraint(np.random.default_rng(seed), FEATURES, config)
    while True:
        state, _ = backward_step(state, demos.trajectories, scouts, FEATURES, config, innocents=innocents)
        yield state


def judge_fit(fit: Fit, evidence: Recorded, demos: Demonstrations, seed: int) -> dict[str, Any]:
    """Link 1: where a zeta forbids, on the same states whatever it was fitted to."""
    if fit.whole:
        innocents, scouts = shorten(evidence.chance, *fit.chance), len(evidence.card["rounds"])
        each = np.arange(evidence.stages.num_trajectories) // CONFIG.num_samples
        found = evidence_of([select(evidence.stages, each == scout) for scout in range(scouts)])
        rng = np.random.default_rng(seed)
        state = fit_zeta(rng, demos.trajectories, found, innocents, FEATURES, CONFIG, loss).state
    else:
        state = next(fits_of(fit, evidence, demos, seed))
    cost = constraint_cost(state, FEATURES, fit.backward)
    sources = {"scouts": pairs(evidence.stages), "chance": pairs(evidence.chance), "demos": pairs(demos.trajectories)}
    places = {name: observations[:, 0] for name, (observations, _) in sources.items()}
    judged = {name: cost(*found) > 0.5 for name, found in sources.items()}
    x, infeasible = np.concatenate(list(places.values())), np.concatenate(list(judged.values()))
    deviations = np.std(np.concatenate([extract(FEATURES, *found) for found in sources.values()]), axis=0)
    weights = deviations * np.linalg.norm(np.asarray(state.params[0].weight), axis=1)
    return {
        "hit_rate": share(infeasible[x <= WALL_X]),
        "false_alarm_rate": share(infeasible[x > 0]),
        "hit_rate_of": {name: share(judged[name][places[name] <= WALL_X]) for name in sources},
        "false_alarm_rate_of": {name: share(judged[name][places[name] > 0]) for name in sources},
        "infeasible_by_bin": means_by_bin(x, infeasible, EDGES),
        "infeasible_by_fine_bin": means_by_bin(x, infeasible, FINE_EDGES),
        "feature_weights": {FEATURES.names[i]: round(float(weights[i]), 4) for i in np.argsort(-weights)},
    }


def judge_saturation(fit: Fit, evidence: Recorded, demos: Demonstrations, seed: int) -> dict[str, Any]:
    """Link 2: logits and scouts' costs after one fit and after four times as many updates."""
    found, scouts = {}, pairs(evidence.stages)
    for times, state in enumerate(islice(fits_of(fit, evidence, demos, seed), 4), start=1):
        if times * fit.backward.updates in UPDATES:
            logit = partial(logits, to_numpy(state.params), activation=fit.backward.activation)
            cost = constraint_cost(state, FEATURES, fit.backward)(*scouts)
            found[str(times * fit.backward.updates)] = {
                "logit_of_scouts": np.quantile(logit(extract(FEATURES, *scouts)), QUANTILES).tolist(),
                "logit_of_demos": np.quantile(logit(extract(FEATURES, *pairs(demos.trajectories))), QUANTILES).tolist(),
                "cost_deviation": float(np.std(cost)),
                "cost_above_0.99": share(cost > 0.99),
                "mean_cost_by_fine_bin": means_by_bin(scouts[0][:, 0], cost, FINE_EDGES),
            }
    return found


def pretrain(seed: int) -> AgentState:
    """An agent that never heard of a constraint, with both critics."""
    key, env = jax.random.key(seed), TASK.make_env(LAGRANGIAN.num_envs)
    agent = init_agent(generator(key), TASK, LAGRANGIAN)
    for index in range(PRETRAINING):
        agent, _ = forward_step(jax.random.fold_in(key, index), agent, TASK, env, None, LAGRANGIAN)
    return agent


def turn(agent: AgentState, config: ForwardConfig, seed: int) -> dict[str, Any]:
    """Link 3: the forward step under the true cost, and the truth about the agent before it and after each."""
    key, env = jax.random.key(seed + 1000), TASK.make_env(config.num_envs)
    curve = [{"steps": 0, **evaluate_policy(SCENARIO, policy_of(agent, TASK, config), EPISODES, seed)._asdict()}]
    for index in range(TURNING):
        agent, info = forward_step(jax.random.fold_in(key, index), agent, TASK, env, true_cost(SCENARIO), config)
        truth = evaluate_policy(SCENARIO, policy_of(agent, TASK, config), EPISODES, seed + index + 1)
        sizes = {"multiplier": info.multiplier, "cost_advantage_std": info.cost_advantage_std}
        curve.append({"steps": (index + 1) * info.steps, **truth._asdict(), **sizes})
    return {"curve": curve}


def study_turning(seed: int, tick: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Every arm of link 3 from one pre-trained agent, which is trained when the first arm needs it."""
    trained: list[AgentState] = []
    fresh = init_agent(generator(jax.random.key(seed + 500)), TASK, LAGRANGIAN)

    def run(config: ForwardConfig, is_fresh: bool) -> dict[str, Any]:
        if not is_fresh and not trained:
            trained.append(pretrain(seed))
        return turn(fresh if is_fresh else trained[0], config, seed)

    for number, (name, (config, is_fresh)) in enumerate(ARMS.items()):
        found = kept(
            CACHE / f"turning-{seed}-{number}.json", (PRETRAINING, TURNING, config), partial(run, config, is_fresh)
        )
        tick(f"link 3, seed {seed}, {name}: violation rates {[round(p['violation_rate'], 2) for p in found['curve']]}")
        yield {"arm": name, "seed": seed, "curve": found["curve"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    demos = load_demos(DEMOS)
    items = len(SEEDS) * (1 + len(FITS) + len(SATURATION)) + len(TURNED_SEEDS) * len(ARMS)
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn()) as progress:
        bar = progress.add_task("collapse", total=items)

        def tick(text: str) -> None:
            progress.advance(bar)
            progress.console.print(text, highlight=False, soft_wrap=True)

        evidence: dict[int, Recorded] = {}
        for seed in SEEDS:
            evidence[seed] = recorded(seed, demos)
            tick(f"scouts of seed {seed}: returns {evidence[seed].card['returns']}")
        links: list[Rows] = []
        for name, judge, fits in (("evidence", judge_fit, FITS), ("saturation", judge_saturation, SATURATION)):
            links.append([])
            for (number, (variant, fit)), seed in product(enumerate(fits.items()), SEEDS):
                make = partial(judge, fit, evidence[seed], demos, seed)
                found = kept(CACHE / f"{name}-{seed}-{number}.json", (fit, fit.backward), make)
                links[-1].append({"variant": variant, "seed": seed, **found})
                tick(f"{name}, seed {seed}, {variant}: hit rate {found.get('hit_rate', 'not measured')}")
        links.append([row for seed in TURNED_SEEDS for row in study_turning(seed, tick)])
    lowest = float(np.min(pairs(demos.trajectories)[0][:, 0]))
    facts = {
        "command": COMMAND, "task": TASK.name, "versions": library_versions(),
        "bin_edges": EDGES, "fine_bin_edges": FINE_EDGES, "settings": CONFIG,
        "demonstrations": {"mean_return": float(np.mean(demos.trajectories.returns)), "lowest_x": lowest},
        "scouts": {seed: {k: e.card[k] for k in ("rounds", "returns")} for seed, e in evidence.items()},
    }  # fmt: skip
    write_studies(facts, links, arguments.out)


if __name__ == "__main__":
    main()
