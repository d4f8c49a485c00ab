"""The study of a sweep: what Optuna keeps of its trials, in one SQLite file."""

import os
import warnings
from pathlib import Path
from typing import Any

from filelock import FileLock

from icrl.errors import InputError
from icrl.versions import PACKAGE

STUDY = PACKAGE
DATABASE = "sweep.db"
MAKING = ".sweep.db.lock"
_HEARTBEAT = 10
_GRACE = 30
"""Seconds: how often a trial says that it lives, and after how long a silence it is tried again."""
_STARTUP = 4
"""Trials before any is pruned."""
_RETRIES = 20
"""How often a trial that died with its sweep goes on."""


def require_optuna() -> Any:
    """Optuna, which the extra 'sweep' brings."""
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            f"icrl sweep needs the extra 'sweep' ({error}): pip install 'icrl[sweep]'."
        ) from error
    return optuna


def open_study(directory: Path, seed: int = 0) -> Any:
    """The study in a sweep's directory, made if there is none; needs the extra 'sweep'."""
    optuna = require_optuna()
    # what ends a trial is told by us, without a traceback
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # two that make the tables at once would fail
    with FileLock(directory / MAKING), warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{directory / DATABASE}",
            # SQLite lets one write at a time: others wait instead of failing.
            engine_kwargs={"connect_args": {"timeout": 60}},
            heartbeat_interval=_HEARTBEAT,
            grace_period=_GRACE,
            heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(
                _RETRIES
            ),
        )
        study = optuna.create_study(
            study_name=STUDY,
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=_STARTUP),
        )
        made = len(study.get_trials(deepcopy=False))
        # a sweep that goes on, or a second process: with the same seed it would try the same again
        if made:
            seed += 1_000_003 * made + os.getpid()
        study.sampler = optuna.samplers.TPESampler(seed=seed % 2**32, constant_liar=True)
        return study


def num_done(study: Any) -> int:
    """Trials that were finished or pruned; one that was killed is not: it is tried again."""
    return len(study.get_trials(deepcopy=False, states=done_states()))


def worth(trial: Any) -> float | None:
    """What a trial that came to its end is worth; of a pruned one Optuna keeps the last report as
    its value."""
    from optuna.trial import TrialState

    if trial.state != TrialState.COMPLETE:
        return None
    return float(trial.value)


def done_states() -> tuple[Any, ...]:
    """Of trials that were finished or pruned."""
    from optuna.trial import TrialState

    return (TrialState.COMPLETE, TrialState.PRUNED)
