"""A constraint on disk: two files, without jax or pickle.

A directory holds `constraint.safetensors` (zeta's layers, its table or its region) and `card.json`
(what the inputs are, where it came from). A checksum ties them together. While a constraint takes
the place of another, the new card lies beside the old one as `.card.json.next`: whatever moment a
kill comes at, one of the two cards belongs to the tensors.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from icrl.config import Activation
from icrl.constraint.features import Features
from icrl.constraint.network import Layer, Params
from icrl.constraint.region import Region, RegionAxis
from icrl.constraint.table import Table
from icrl.errors import InputError
from icrl.files import (
    MOST_JSON_BYTES,
    make_folder,
    move_into_place,
    not_written,
    read_bytes,
    write_whole,
)
from icrl.json_files import parse_json
from icrl.types import AnyArray

TENSORS = "constraint.safetensors"
CARD = "card.json"
NEXT_CARD = f".{CARD}.next"
"""The card of the constraint that is being saved."""
FORMAT = "icrl-constraint-1"
MAX_BYTES = 10**9
"""Tensors of more bytes are refused: a constraint of the sizes in use has less than
a thousandth of this."""
MAX_WIDTH = 1_000_000
"""Most observations, and most actions, that a card may state: more means a damaged card."""

Made = TypeVar("Made")


class Saved(Protocol):
    """What is written of a `LearnedConstraint`."""

    @property
    def features(self) -> Features:
        """What zeta looks at."""

    @property
    def params(self) -> Params:
        """Its layers; none when it is a table or a region."""

    @property
    def activation(self) -> Activation:
        """Non-linearity of the hidden layers."""

    @property
    def table(self) -> Table | None:
        """Zeta as a table."""

    @property
    def region(self) -> Region | None:
        """Zeta as a region."""

    @property
    def threshold(self) -> float:
        """A pair is feasible when zeta is at least this."""

    @property
    def card(self) -> dict[str, Any]:
        """Provenance."""


def write_constraint(constraint: Saved, directory: str | os.PathLike[str]) -> None:
    """Write both files. A kill at any moment leaves the old ones or these."""
    tensors = _tensors(constraint)
    data = save_tensors({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
    definition = _definition(constraint)
    card = {
        "definition": definition,
        "checksum": _checksum(definition, data),
        "provenance": constraint.card,
    }
    try:
        # NaN is not JSON, though Python writes and reads it: other readers would refuse the card.
        text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the constraint's card holds what JSON cannot: {error}. Use plain values."
        ) from error
    path = Path(directory)
    make_folder(path)
    # Three moves, each whole or not at all: finish what an earlier kill left half done, put the new
    # card beside the old one, put the tensors. From then on the next card is the right one, and the
    # last line makes it the card.
    _settle(path)
    write_whole(path / NEXT_CARD, (text + "\n").encode())
    write_whole(path / TENSORS, data)
    _settle(path)


def read_constraint(directory: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """What `write_constraint` wrote, made of its fields; anything else is an `InputError`."""
    path = Path(directory)
    data = _read(path / TENSORS, MAX_BYTES)
    next_card = path / NEXT_CARD
    # a kill came between the two files: the card that belongs to these tensors is the next one
    if next_card.exists() and _ties(next_card, data) and not _ties(path / CARD, data):
        text = _read(next_card, MOST_JSON_BYTES)
    else:
        text = _read(path / CARD, MOST_JSON_BYTES)
    try:
        card = parse_json(text)
        definition = card["definition"]
        provenance = card["provenance"]
        if not isinstance(definition, dict) or not isinstance(provenance, dict):
            raise TypeError("definition and provenance must be objects")
        if definition["format"] != FORMAT:
            raise InputError(
                f"{path / CARD}: expected format {FORMAT!r}, got {definition['format']!r:.40}."
            )
        checksum = card["checksum"]
        features, threshold = _parse_definition(definition)
        # the first cards had no kind: they are networks
        parse = {"network": _parse_network, "table": _parse_table, "region": _parse_region}[
            definition.get("kind", "network")
        ]
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{path / CARD} is not the card of a constraint: {error!r:.200}. Save the constraint "
            "again."
        ) from error
    try:
        constraint = make(
            features=features,
            threshold=threshold,
            card=provenance,
            **parse(load_tensors(data), definition),
        )
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{path / TENSORS} does not hold the constraint of its card: {error!s:.300}"
        ) from error
    # Last: what is wrong with one file by itself has a better message of its own.
    if checksum != _checksum(definition, data):
        raise InputError(
            f"{path}: {TENSORS} and the definition in {CARD} do not belong together (checksum "
            "differs): one was edited, damaged or is from another run. Save the constraint again, "
            "or copy both files from one place."
        )
    return constraint


def _tensors(constraint: Saved) -> dict[str, AnyArray]:
    """What `constraint.safetensors` holds."""
    if constraint.region is not None:
        region = constraint.region
        nodes = {
            f"axis{i}.nodes": np.asarray(axis.nodes, np.float64)
            for i, axis in enumerate(region.axes)
        }
        return nodes | {"depth": region.depth}
    if constraint.table is not None:
        return {
            "table.rows": constraint.table.rows,
            "table.feasibility": constraint.table.feasibility,
        }
    tensors: dict[str, AnyArray] = {}
    for i, layer in enumerate(constraint.params):
        tensors |= {f"layer{i}.weight": layer.weight, f"layer{i}.bias": layer.bias}
    return tensors


def _definition(constraint: Saved) -> dict[str, Any]:
    """All of `card.json` that decides what the function is."""
    features = constraint.features
    table = constraint.table
    form: dict[str, Any]
    if constraint.region is not None:
        region = constraint.region
        form = {
            "kind": "region",
            "axes": [list(axis.columns) for axis in region.axes],
            "caution": region.caution,
            "evidence_depth": region.evidence_depth,
        }
    elif table is None:
        sizes = [features.num_features, *(int(layer.bias.shape[0]) for layer in constraint.params)]
        form = {"kind": "network", "activation": constraint.activation.value, "layer_sizes": sizes}
    else:
        form = {"kind": "table", "table_sizes": [*table.rows.shape, table.num_actions]}
    return {
        "format": FORMAT,
        "features": list(features.names),
        "columns": list(features.columns),
        "lower": list(features.lower),
        "upper": list(features.upper),
        "num_observations": features.num_observations,
        "num_actions": features.num_actions,
        "discrete": features.discrete,
        **form,
        "threshold": constraint.threshold,
    }


def _parse_definition(definition: dict[str, Any]) -> tuple[Features, float]:
    """The inverse of `_definition`, as far as both kinds share it."""
    features = Features(
        names=tuple(_text(name) for name in definition["features"]),
        columns=tuple(_whole(column) for column in definition["columns"]),
        lower=tuple(_number(value) for value in definition["lower"]),
        upper=tuple(_number(value) for value in definition["upper"]),
        num_observations=_whole(definition["num_observations"]),
        num_actions=_whole(definition["num_actions"]),
        discrete=_truth(definition["discrete"]),
    )
    counts = {len(features.names), len(features.columns), len(features.lower), len(features.upper)}
    width = features.num_observations + features.num_actions
    if len(counts) != 1 or not features.names or not all(0 <= c < width for c in features.columns):
        raise ValueError(
            f"{sorted(counts)} feature names, columns and bounds over a vector of {width}"
        )
    if len(set(features.names)) != len(features.names) or len(set(features.columns)) != len(
        features.columns
    ):
        raise ValueError("a feature is named twice")
    if not all(low <= high for low, high in zip(features.lower, features.upper, strict=True)):
        raise ValueError("a lower bound is above the upper one")
    return features, _number(definition["threshold"])


def _number(value: Any) -> float:
    """A number that float32 holds; neither true nor text in quotes."""
    # `type`, not `isinstance`: true is an int in Python. "not <=" also refuses NaN.
    if type(value) not in (int, float) or not abs(value) <= float(np.finfo(np.float32).max):
        raise ValueError(f"expected a finite number, got {value!r:.40}")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_WIDTH:
        raise ValueError(f"expected a whole number from 0 to {MAX_WIDTH}, got {value!r:.40}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r:.40}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r:.40}")
    value.encode()  # half of a surrogate pair passes for text until it is written
    return value


def _parse_region(tensors: dict[str, AnyArray], definition: dict[str, Any]) -> dict[str, Any]:
    """The region over the axes that the card states."""
    blocks = [tuple(_whole(column) for column in block) for block in definition["axes"]]
    expected = sorted(["depth", *(f"axis{i}.nodes" for i in range(len(blocks)))])
    if sorted(tensors) != expected:
        raise InputError(
            f"expected the tensors {', '.join(expected)}, got {', '.join(sorted(tensors))}."
        )
    if not all(
        block and block == tuple(range(block[0], block[0] + len(block))) for block in blocks
    ):
        raise ValueError(f"an axis must be one column or several in a row, got {blocks!r:.80}")
    if tensors["depth"].dtype != np.float32 or any(
        tensors[n].dtype != np.float64 for n in expected if n != "depth"
    ):
        raise ValueError("depth must be float32, nodes float64")
    axes = tuple(
        RegionAxis(columns=block, nodes=tensors[f"axis{i}.nodes"]) for i, block in enumerate(blocks)
    )
    region = Region(
        axes=axes,
        depth=tensors["depth"],
        evidence_depth=_number(definition["evidence_depth"]),
        caution=_number(definition["caution"]),
    )
    return {"region": region}


def _parse_table(tensors: dict[str, AnyArray], definition: dict[str, Any]) -> dict[str, Any]:
    """The table of the sizes that the card states."""
    if sorted(tensors) != ["table.feasibility", "table.rows"]:
        raise InputError(
            f"expected the tensors table.rows, table.feasibility, got {', '.join(sorted(tensors))}."
        )
    table = Table(rows=tensors["table.rows"], feasibility=tensors["table.feasibility"])
    sizes = [*table.rows.shape, table.num_actions]
    stated = [_whole(size) for size in definition["table_sizes"]]
    if sizes != stated:
        raise InputError(f"the card states a table of sizes {stated}, the file holds {sizes}.")
    return {"table": table}


def _parse_network(tensors: dict[str, AnyArray], definition: dict[str, Any]) -> dict[str, Any]:
    """Layers of the sizes that the card states, and their activation."""
    sizes = [_whole(size) for size in definition["layer_sizes"]]
    names = [f"layer{i}.{part}" for i in range(len(sizes) - 1) for part in ("weight", "bias")]
    if sorted(names) != sorted(tensors):
        raise InputError(
            f"expected the tensors {', '.join(names)}, got {', '.join(sorted(tensors)) or 'none'}."
        )
    params = tuple(
        Layer(tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"]) for i in range(len(sizes) - 1)
    )
    shapes = [list(layer.weight.shape) for layer in params]
    if shapes != [[n, m] for n, m in itertools.pairwise(sizes)]:
        raise InputError(
            f"the card states layers of sizes {sizes}, the file holds weights of shapes {shapes}."
        )
    return {"params": params, "activation": Activation(definition["activation"])}


def _checksum(definition: dict[str, Any], data: bytes) -> str:
    """SHA-256 of the definition (canonical JSON) and the tensors."""
    # Without the provenance: a card may be given notes without becoming another constraint's.
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode() + data).hexdigest()


def _ties(card: Path, data: bytes) -> bool:
    """Does this card belong to the tensors `data`? A card that cannot be read does not."""
    try:
        content = json.loads(read_bytes(card, MOST_JSON_BYTES))
        return bool(content["checksum"] == _checksum(content["definition"], data))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _settle(path: Path) -> None:
    """Where the next card belongs to the tensors that are there, it becomes the card."""
    try:
        data = read_bytes(path / TENSORS, MAX_BYTES)
    except FileNotFoundError:
        return  # nothing was saved here yet
    except OSError as error:
        raise not_written(path / TENSORS, error) from error
    if not _ties(path / NEXT_CARD, data):
        return
    move_into_place(path / NEXT_CARD, path / CARD)


def _read(path: Path, most_bytes: int) -> bytes:
    """The bytes of a file that must exist."""
    try:
        return read_bytes(path, most_bytes)
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): a learned constraint is a directory with "
            f"{TENSORS} and {CARD}."
        ) from error
