"""Settings that earlier versions had: files that name them, at the value that did nothing, are
read as if they did not.

So an older run can still be reported, gone on with and made again. At any other value it is
another run than this version can make, and the reader says that it does not know the setting.
"""

from typing import Any

from icrl.experiment.directory.parsing import NONE

GONE: dict[str, tuple[Any, ...]] = {
    "forward.final_log_std": (None, NONE),
    "forward.noise_memory": (0, 0.0),
}
"""Dotted name, and the values that did nothing."""


def without_gone(settings: Any, prefix: str = "") -> Any:
    """Nested settings, as a file has them, without those that are gone and did nothing."""
    if not isinstance(settings, dict):
        return settings
    kept = {}
    for name, value in settings.items():
        dotted = f"{prefix}{name}"
        # `False` equals 0 in Python; in a file it is a mistake, which the reader names
        did_nothing = value in GONE.get(dotted, ()) and not isinstance(value, bool)
        if not did_nothing:
            kept[name] = without_gone(value, f"{dotted}.")
    return kept
