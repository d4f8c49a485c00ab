"""Demonstrations as npz: the package's own format.

Never pickled; the same content gives the same bytes.
"""

import io
import json
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from icrl.demos.dataset import MAX_BYTES, REWARDS_UNKNOWN, Demonstrations, to_floats
from icrl.demos.reading import read_npz, reading
from icrl.errors import InputError
from icrl.files import write_through
from icrl.types import AnyArray, Trajectories

REQUIRED = ("observations", "actions", "lengths")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member: the earliest a zip file can hold."""


def load_npz(path: Path) -> Demonstrations:
    """Read `observations`, `actions`, `lengths`, and `rewards` and `card` where there are any."""
    with reading(path, "npz"):
        arrays = read_npz(path, (*REQUIRED, "rewards", "card"), MAX_BYTES)
        missing = [name for name in REQUIRED if name not in arrays]
        if missing:
            raise InputError(
                f"has no {', '.join(missing)}; it holds {', '.join(sorted(arrays)) or 'nothing'}: "
                "save observations [N, T, o], actions [N, T, a] (or [N, T] integers), lengths [N], "
                "and rewards [N, T] if known."
            )
        if "card" in arrays:
            card = parse_card(str(arrays["card"].item()))
        else:
            card = {}
        return build_demos(arrays, card)


def save_npz(demos: Demonstrations, path: Path) -> None:
    """Write atomically, without time stamps."""
    arrays = {
        "observations": demos.trajectories.observations,
        "actions": demos.trajectories.actions,
        "lengths": demos.trajectories.lengths,
        "card": np.array(format_card(demos)),
    }
    if demos.has_rewards:
        arrays["rewards"] = demos.trajectories.rewards

    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            # In one order, and without times: the same content gives the same bytes, so that a
            # checksum tells.
            for name in sorted(arrays):
                member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
                member.compress_type = zipfile.ZIP_DEFLATED
                # Zip files differ between systems by this byte alone.
                member.create_system = 3
                data = io.BytesIO()
                np.lib.format.write_array(
                    data, np.asarray(arrays[name], order="C"), allow_pickle=False
                )
                archive.writestr(member, data.getvalue())

    write_through(path, write)


def build_demos(arrays: dict[str, AnyArray], card: dict[str, Any]) -> Demonstrations:
    """Demonstrations from padded arrays; the names of the columns travel in the card."""
    observations = to_floats("observations", arrays["observations"])
    actions, discrete = tell_actions(arrays["actions"])
    # Taken out of the card: they are fields from here on, and would be written twice.
    names = {key: _names(card.pop(key, []), key) for key in ("observation_names", "action_names")}
    if "rewards" in arrays:
        rewards = to_floats("rewards", arrays["rewards"])
    else:
        rewards = np.zeros(observations.shape[:2])
        card |= REWARDS_UNKNOWN
    lengths = arrays["lengths"]
    if lengths.dtype.kind not in "iu":
        raise InputError(f"lengths have dtype {lengths.dtype}, expected integers.")
    trajectories = Trajectories(
        observations=observations, actions=actions, rewards=rewards, lengths=lengths
    )
    return Demonstrations(trajectories=trajectories, discrete=discrete, card=card, **names)


def tell_actions(actions: AnyArray) -> tuple[AnyArray, bool]:
    """Actions and whether they are discrete:
    integers [..., T] (or [..., T, 1]) are, everything else is continuous."""
    integers = actions.dtype.kind in "iu"
    # One column of whole numbers is one choice, with an axis of its own or without.
    if integers and actions.ndim == 3 and actions.shape[2] == 1:
        actions = actions[..., 0]
    if integers and actions.ndim == 2:
        return actions.astype(np.int64), True
    return to_floats("actions", actions), False


def format_card(demos: Demonstrations) -> str:
    """The card and the names of the columns as JSON, in ASCII."""
    names = {
        "observation_names": list(demos.observation_names),
        "action_names": list(demos.action_names),
    }
    try:
        return json.dumps(demos.card | names, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the card cannot be JSON ({error}): keep to text, numbers, lists and dicts."
        ) from error


def parse_card(text: str) -> dict[str, Any]:
    """The inverse of `format_card`."""
    card = json.loads(text)
    if not isinstance(card, dict):
        raise InputError(f"its card is a JSON {type(card).__name__}, expected an object.")
    return card


def _names(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{key} in its card is {value!r:.60}, expected a list of names.")
    return tuple(value)
