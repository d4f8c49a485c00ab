"""Zeta fitted afresh to all evidence: of as few features, presuming as much innocence, as the evidence allows.

A rule is about few features; want of skill and style show in all of them, a little in each (fidelity F20, F21). So zeta
sees one feature, where one is enough to convict; else all, kept to few by a group lasso.
"""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from icrl.config import BackwardConfig, LearnConfig
from icrl.constraint.backward_step import (
    BackwardInfo,
    ConstraintState,
    backward_step,
    constraint_cost,
    init_constraint,
)
from icrl.constraint.features import Features, extract
from icrl.constraint.network import logits, to_numpy
from icrl.constraint.objective import Objective
from icrl.demos.dataset import Demonstrations
from icrl.evidence import Evidence, convicts, dismiss, most_convicted, newly_forbidden
from icrl.trajectories import pairs_of, select
from icrl.types import AnyArray, CostFunction, FloatArray, Trajectories

_STRENGTHS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Shares of the presumption of innocence that are tried."""
_LASSOS = (1.0, 0.5)
"""Shares of the sparsity over features that are tried."""
_AS_MUCH = 0.995
"""Share of a conviction rate that counts as all of it."""
_ALLOWED = 0.05
"""Logit of ζ on the demonstrated step that it allows least, once it is raised to allow all."""
_FEW = 3
"""Features that are tried alone."""


class Fit(NamedTuple):
    """A fitted zeta."""

    state: ConstraintState
    info: BackwardInfo
    cost: CostFunction
    """1 − ζ"""
    convicted: float
    """Share that it forbids of the steps of the scout whom it convicts most."""


def fit_zeta(
    rng: np.random.Generator,
    demos: Trajectories,
    evidence: Evidence,
    innocents: Trajectories | None,
    features: Features,
    config: LearnConfig,
    objective: Objective,
) -> Fit:
    """Zeta fitted afresh to all evidence (fidelity F22): of one feature, if it then convicts `restart_above` of what a
    scout did.

    Over all features the sparsity is halved once where zeta convicts too little with it: scouts showed little, or the
    rule needs many. The presumption of innocence is that of `presumable`.
    """
    least, lasso = config.restart_above or 0.0, config.backward.feature_sparsity
    data = _Data(demos, evidence, innocents, features, objective)
    one = _fit_one_feature(rng, data, config.backward, least) if lasso > 0 else None
    if one is not None:
        return _clearing_demos(one, data, config.backward)
    for share in _LASSOS:
        fit = _fit_presuming(rng, data, replace(config.backward, feature_sparsity=share * lasso), least)
        if fit.convicted >= least or lasso == 0:
            break
    return _clearing_demos(fit, data, config.backward)


def fit_or_dismiss(
    rng: np.random.Generator,
    demos: Demonstrations,
    evidence: Evidence,
    innocents: Trajectories | None,
    features: Features,
    config: LearnConfig,
    objective: Objective,
    constraint: ConstraintState,
    obeyed: CostFunction | None,
) -> tuple[ConstraintState, BackwardInfo, Evidence, bool]:
    """Zeta fitted to all evidence, that evidence, and that zeta moved.

    Where the newest of it is an agent's under `constraint` (whose cost it `obeyed`), and shows nothing that is missing
    from that, the agent is merely better than the expert: its samples are dismissed and zeta stays.
    """
    fit = fit_zeta(rng, demos.trajectories, evidence, innocents, features, config, objective)
    if obeyed is None or convicts(evidence, obeyed, fit.cost, config.restart_above or 0.0):
        return fit.state, fit.info, evidence, True
    still = fit.info._replace(updates_made=0)
    return constraint, still, dismiss(evidence, demos, config.evidence_margin), False


class _Data(NamedTuple):
    """What zeta is fitted to."""

    demos: Trajectories
    evidence: Evidence
    innocents: Trajectories | None
    features: Features
    objective: Objective

    @property
    def guilty(self) -> Trajectories:
        return select(self.evidence.trajectories, self.evidence.weights > 0)


def _fit(start: ConstraintState, data: _Data, config: BackwardConfig) -> Fit:
    innocents = data.innocents if config.presumption > 0 else None
    state, info = backward_step(
        start, data.demos, data.evidence.trajectories, data.features, config, data.evidence.weights, data.objective,
        innocents,
    )  # fmt: skip
    cost = constraint_cost(state, data.features, config)
    return Fit(state, info, cost, most_convicted(data.evidence, cost))


def _fit_presuming(rng: np.random.Generator, data: _Data, config: BackwardConfig, least: float) -> Fit:
    """The fit of the strength that `presumable` takes."""
    start = init_constraint(rng, data.features, config)
    strengths = _STRENGTHS if data.innocents is not None and config.presumption > 0 else (0.0,)
    fits = [_fit(start, data, replace(config, presumption=share * config.presumption)) for share in strengths]
    return fits[presumable([fit.convicted for fit in fits], least)]


def presumable(convicted: list[float], least: float) -> int:
    """Which of several fits to take, by the share that each convicts: the first presumes most, the last no
    innocence.

    Chance may do what is forbidden as often as scouts do (half of all random moves go anticlockwise). Where a fit
    convicts as much as the last, its presumption clears nothing that the evidence speaks against: the first such fit.
    Where every bit of presumption clears something (what scouts do for want of skill), the first that convicts `least`.
    """
    for index, share in enumerate(convicted[:-1]):
        if share >= _AS_MUCH * convicted[-1]:
            return index
    return next((index for index, share in enumerate(convicted) if share >= least), len(convicted) - 1)


def _fit_one_feature(rng: np.random.Generator, data: _Data, config: BackwardConfig, least: float) -> Fit | None:
    """The zeta of one feature that convicts most, less its share of demonstrated steps, if that is `least`; None: there
    is none. Tried are the features in which most of the evidence lies beyond all demonstrations."""
    shares = beyond_demonstrations(data.demos, data.guilty, data.features)
    order = [int(index) for index in np.argsort(-shares, kind="stable")[:_FEW] if shares[index] > 0]
    alone = replace(config, feature_sparsity=0.0)
    fits = [_fit_presuming(rng, _seeing(data, feature), alone, least) for feature in order]
    merits = [fit.convicted - newly_forbidden(data.demos, None, fit.cost) for fit in fits]
    if max(merits, default=0.0) < least:
        return None
    best = int(np.argmax(merits))
    return _written_in_all(rng, fits[best], order[best], data.features, config)


def _clearing_demos(fit: Fit, data: _Data, config: BackwardConfig) -> Fit:
    """The same zeta, raised until it allows every demonstrated step: demonstrations obey the constraint.

    Unless that would acquit most of the evidence: then a few demonstrated steps lie deep in what is forbidden.
    """
    lowest = float(np.min(logits(to_numpy(fit.state.params), _steps(data.features, data.demos), config.activation)))
    if lowest >= 0:
        return fit
    *before, last = fit.state.params
    state = fit.state._replace(params=(*before, last._replace(bias=last.bias + (_ALLOWED - lowest))))
    cost = constraint_cost(state, data.features, config)
    convicted = most_convicted(data.evidence, cost)
    return fit._replace(state=state, cost=cost, convicted=convicted) if convicted >= fit.convicted / 2 else fit


def _seeing(data: _Data, feature: int) -> _Data:
    """The same data for a zeta that sees one feature alone."""
    every, only = data.features, slice(feature, feature + 1)
    parts = replace(
        every, names=every.names[only], columns=every.columns[only], lower=every.lower[only], upper=every.upper[only]
    )
    return data._replace(features=parts)


def _written_in_all(
    rng: np.random.Generator, fit: Fit, feature: int, features: Features, config: BackwardConfig
) -> Fit:
    """The same zeta as one of all features, whose weights are 0 but for the one."""
    whole, (first, *rest) = init_constraint(rng, features, config), fit.state.params
    weight = jnp.zeros_like(whole.params[0].weight).at[feature].set(first.weight[0])
    state = whole._replace(
        params=(first._replace(weight=weight), *rest),
        rounds_done=fit.state.rounds_done,
        updates_done=fit.state.updates_done,
    )
    return fit._replace(state=state)


def beyond_demonstrations(demos: Trajectories, guilty: Trajectories, features: Features) -> FloatArray:
    """[f]: the share of the evidence's steps that lie, in each feature by itself, where no demonstration ever was."""
    shown, done = _steps(features, demos), _steps(features, guilty)
    return np.asarray(np.mean((done < shown.min(axis=0)) | (done > shown.max(axis=0)), axis=0), np.float64)


def _steps(features: Features, trajectories: Trajectories) -> AnyArray:
    """[n, f]: all steps, as zeta sees them."""
    pairs = pairs_of(trajectories)
    return np.asarray(extract(features, pairs.observations, pairs.actions))
