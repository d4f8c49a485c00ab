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
_ASKED = "asked"
"""What a trial was asked to try; one that goes on under another number remembers it."""


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
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    return len(study.get_trials(deepcopy=False, states=done))


def waits(study: Any) -> bool:
    """Is there a trial that was asked for, and not begun? One that has died is asked for again."""
    optuna = require_optuna()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
    return bool(study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)))


def is_making(study: Any) -> bool:
    """Is a trial being made, or was when its process was killed?"""
    from optuna.trial import TrialState

    return bool(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def patience() -> float:
    """Seconds after which a trial that is being made lives."""
    return _GRACE + _HEARTBEAT


def ask_for(study: Any, wanted: list[dict[str, Any]]) -> None:
    """Have these tried in this order before anything is drawn, but for those that are tried, were,
    or wait for it already."""
    from optuna.trial import TrialState

    known = [
        trial.user_attrs.get(_ASKED)
        for trial in study.get_trials(deepcopy=False)
        # one that was stopped or killed waits under another number
        if trial.state != TrialState.FAIL
    ]
    for params in wanted:
        if params not in known:
            study.enqueue_trial(params, user_attrs={_ASKED: params})


def worth(trial: Any) -> float | None:
    """What a trial that came to its end is worth; of a pruned one Optuna keeps the last report as
    its value."""
    from optuna.trial import TrialState

    if trial.state != TrialState.COMPLETE:
        return None
    return float(trial.value)
