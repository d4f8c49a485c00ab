"""Demonstrations as tables, one row per step: CSV, and Parquet with the extra `tables`."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

import numpy as np

from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations, Episode, stack_episodes, to_floats
from icrl.demos.formats_npz import format_card, parse_card
from icrl.demos.reading import reading, require_extra, require_size
from icrl.errors import InputError, unknown_name
from icrl.files import write_through
from icrl.types import AnyArray

INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*")
CARD_KEY = b"icrl_card"
"""Key of the card in a Parquet file's own metadata."""
MOST_COLUMNS = 10_000
"""More columns are refused."""
MOST_CSV_BYTES = 10**9
"""A larger CSV is refused: as text in memory it takes ten times its size. npz and
Parquet take their own."""
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What other programs put between columns, where a comma belongs."""


@dataclass(frozen=True, kw_only=True)
class ColumnMapping:
    """Which column of a table (CSV, Parquet) holds what:
    `ColumnMapping(observations=("pos",), actions=("push",))`."""

    observations: tuple[str, ...]
    """One column per observation dimension, in the task's order."""
    actions: tuple[str, ...]
    """One column per action dimension; one column of integers is a discrete action."""
    episode: str | None = "episode"
    """Which episode a row belongs to (any label); None: the file is one episode."""
    step: str | None = None
    """Consecutive integers within an episode; None: rows are in order."""
    reward: str | None = None
    """Reward of the step; None: unknown."""

    def __post_init__(self) -> None:
        """A single name without its comma would be taken letter by letter."""
        for role in ("observations", "actions"):
            if isinstance(name := getattr(self, role), str):
                raise InputError(
                    f"ColumnMapping: {role} is the text {name!r}, expected names: write "
                    f"({name!r},)."
                )


def infer_mapping(header: Sequence[str]) -> ColumnMapping:
    """The mapping of a table with columns `episode`, `step`, `reward`,
    `obs_*` or `obs[...]`, `action*`."""
    observations = _by_number([name for name in header if name.startswith(("obs_", "obs["))])
    actions = _by_number([name for name in header if name.startswith("action")])
    for what, found in (
        ("episode", "episode" in header),
        ("obs_*", observations),
        ("action*", actions),
    ):
        if not found:
            alike = [name for name in header if fnmatchcase(name.strip().lower(), what)]
            if alike:
                hint = f" ({alike[0]!r} differs only in case or spaces)"
            else:
                hint = ""
            raise InputError(
                f"no column is called {what}{hint}; the columns are {', '.join(header[:12])}: "
                "rename them, or say which is which: --columns.episode run --columns.observations "
                "pos vel --columns.actions push (--columns.episode None: every file is one "
                "episode); in Python icrl.ColumnMapping(episode=..., observations=(...), "
                "actions=(...))."
            )
    step = None
    if "step" in header:
        step = "step"
    reward = None
    if "reward" in header:
        reward = "reward"
    return ColumnMapping(observations=observations, actions=actions, step=step, reward=reward)


def _by_number(names: list[str]) -> tuple[str, ...]:
    # Exports often sort columns as text: obs_10 before obs_2. Where numbers follow names
    # (obs_pos_0, obs_pos_1, obs_vel_0), the file's order is kept.
    matches = [match for name in names if (match := re.search(r"[_\[](\d+)\]?$", name))]
    if (
        len(matches) == len(names)
        and len({match.string[: match.start()] for match in matches}) == 1
    ):
        return tuple(match.string for match in sorted(matches, key=lambda match: int(match[1])))
    return tuple(names)


def load_csv(path: Path, columns: ColumnMapping | None = None) -> Demonstrations:
    """Read a CSV file with a header line."""
    with reading(path, "CSV"):
        require_size(path.stat().st_size, MOST_CSV_BYTES)
        # utf-8-sig: spreadsheets begin a file with a mark that would else be a part of its first
        # name.
        with path.open(newline="", encoding="utf-8-sig") as stream:
            # strict: a quote that never closes is an error, and not the rest of the file in one
            # cell.
            rows = csv.reader(stream, strict=True)
            header = next(rows, [])
            _require_commas(header)
            _require_header(header)
            mapping = columns or infer_mapping(header)
            places = {name: index for index, name in enumerate(header)}
            # Only these are kept: logs often have many columns more, and text takes ten times its
            # size.
            wanted = {name: places[name] for name in _used(mapping, header)}
            texts: dict[str, list[str]] = {name: [] for name in wanted}
            lines: list[int] = []
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise InputError(
                        f"line {rows.line_num} has {len(row)} fields, the header {len(header)}: "
                        "cut short?"
                    )
                lines.append(rows.line_num)
                for name, index in wanted.items():
                    texts[name].append(row[index])
        numeric = {
            name: _parse_numbers(name, texts[name], lines)
            for name in wanted
            if name != mapping.episode
        }
        if mapping.episode is not None:
            labels = texts[mapping.episode]
        else:
            labels = None
        return _build(numeric, labels, mapping, {"source": path.name, "format": "csv"})


def load_parquet(path: Path, columns: ColumnMapping | None = None) -> Demonstrations:
    """Read a Parquet file; one that `save_parquet` wrote keeps its card."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise require_extra("pyarrow", "tables", path) from error
    with (
        reading(path, "Parquet"),
        pq.ParquetFile(str(path), page_checksum_verification=True) as file,
    ):
        header = list(file.schema_arrow.names)
        _require_header(header)
        mapping = columns or infer_mapping(header)
        wanted = _used(mapping, header)
        require_size(file.metadata.num_rows * len(wanted) * 8)
        # The size was checked by what the file declares, before anything is unpacked.
        table = file.read(columns=wanted, use_threads=False)
        numeric = {
            name: table.column(name).to_numpy() for name in wanted if name != mapping.episode
        }
        labels = None
        if mapping.episode is not None:
            if table.column(mapping.episode).null_count:
                raise InputError(
                    f"column {mapping.episode} has empty cells: every row needs its episode."
                )
            labels = [str(label) for label in table.column(mapping.episode).to_pylist()]
        text = (file.schema_arrow.metadata or {}).get(CARD_KEY)
        if text is not None:
            card = parse_card(text.decode())
        else:
            card = {"source": path.name, "format": "parquet"}
        return _build(numeric, labels, mapping, card)


def save_csv(demos: Demonstrations, path: Path) -> None:
    """Write one row per step; numbers in the shortest form that reads back to the same bits.

    The card is not kept.
    """
    table = _flatten(demos)

    def write(stream: IO[bytes]) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        # tolist() widens float32 to Python floats without changing the value.
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
        text.flush()
        # Else the wrapper would close the stream, which is not its own.
        text.detach()

    write_through(path, write)


def save_parquet(demos: Demonstrations, path: Path) -> None:
    """Write one row per step, with the card in the file's metadata and checksums on the pages."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise require_extra("pyarrow", "tables", path) from error
    table = pa.table(_flatten(demos)).replace_schema_metadata(
        {CARD_KEY: format_card(demos).encode()}
    )
    write_through(path, lambda stream: pq.write_table(table, stream, write_page_checksum=True))


def _flatten(demos: Demonstrations) -> dict[str, AnyArray]:
    trajectories = demos.trajectories
    mask = demos.trajectories.mask
    episode, step = np.nonzero(mask)
    table: dict[str, AnyArray] = {"episode": episode, "step": step}
    for index, name in enumerate(demos.observation_names):
        table[name if name.startswith("obs_") else f"obs[{name}]"] = trajectories.observations[
            ..., index
        ][mask]
    if demos.discrete:
        table["action"] = trajectories.actions[mask]
    else:
        for index, name in enumerate(demos.action_names):
            table[name if name.startswith("action_") else f"action[{name}]"] = trajectories.actions[
                ..., index
            ][mask]
    if demos.has_rewards:
        table["reward"] = trajectories.rewards[mask]
    return table


def _require_commas(header: list[str]) -> None:
    if not header:
        raise InputError(
            "the file is empty, or its first line is: expected a header such as "
            "episode,obs_0,obs_1,action_0, then one line per step: export it again."
        )
    for delimiter, called in DELIMITERS.items():
        if len(header) == 1 and delimiter in header[0]:
            raise InputError(
                f"its columns are separated by {called} ({header[0]!r:.60}), expected commas: "
                "export it with commas between columns and points in numbers (1.5)."
            )


def _require_header(header: list[str]) -> None:
    if len(header) > MOST_COLUMNS:
        raise InputError(
            f"has {len(header):,} columns, the most that is read is {MOST_COLUMNS:,}: leave out "
            "those that hold "
            "neither observations nor actions; if you expect fewer, lines and columns are "
            "interchanged."
        )
    counts = Counter(header)
    if len(counts) != len(header):
        twice = next(name for name, count in counts.items() if count > 1)
        raise InputError(f"two columns are called {twice!r}: names must differ.")


def _used(mapping: ColumnMapping, header: list[str]) -> list[str]:
    single = {role: getattr(mapping, role) for role in ("episode", "step", "reward")}
    roles = [(role, name) for role, name in single.items() if name is not None]
    roles += [("observations", name) for name in mapping.observations]
    roles += [("actions", name) for name in mapping.actions]
    known = set(header)
    for role, name in roles:
        if name not in known:
            raise InputError(
                f"{unknown_name('column', name, header)} Say which with "
                f"--columns.{role}{' (or None)' if role in single else ''}; in Python "
                f"icrl.ColumnMapping({role}=...)."
            )
    if not mapping.observations or not mapping.actions:
        raise InputError(
            "the column mapping names no observations or no actions: name at least one of each."
        )
    return list(dict.fromkeys(name for _, name in roles))


def _parse_numbers(name: str, texts: list[str], lines: list[int]) -> AnyArray:
    """One column; `lines` are the file's own line numbers, the header's being 1."""
    # At most 18 digits: those fit into 64 bits, and a longer number is a float or damage.
    if all(INTEGER.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts], dtype=np.int64)
    values = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            # Python reads 1_0 as ten; in a log it is damage.
            values[row] = float(text.replace("_", "?"))
        except ValueError as error:
            raise InputError(
                f"line {lines[row]}, column {name} holds {text!r:.40}, expected a number: correct "
                "it, or leave the episode out."
            ) from error
    return values


def _build(
    numeric: dict[str, AnyArray],
    labels: list[str] | None,
    mapping: ColumnMapping,
    card: dict[str, Any],
) -> Demonstrations:
    actions, discrete = _table_actions(numeric, mapping)
    observations = np.stack(
        [to_floats(f"values of {n}", numeric[n]) for n in mapping.observations], axis=1
    )  # [rows, o]
    if mapping.reward is None:
        rewards = None
    else:
        rewards = to_floats(f"values of {mapping.reward}", numeric[mapping.reward])
    order = None
    if mapping.step is not None:
        order = numeric[mapping.step]
    episodes = []
    for rows in _episode_rows(len(observations), labels, order):
        episode = Episode(observations[rows], actions[rows], None)
        if rewards is not None:
            episode = episode._replace(rewards=rewards[rows])
        episodes.append(episode)
    trajectories, known = stack_episodes(episodes)
    names = tuple(_bare(name, "obs") for name in mapping.observations)
    choices = tuple(str(name) for name in card.pop("action_names", []))
    # The header has them: two sources could disagree.
    card.pop("observation_names", None)
    if not known:
        card = card | REWARDS_UNKNOWN
    if not discrete:
        choices = tuple(_bare(name, "action") for name in mapping.actions)
    return Demonstrations(
        trajectories=trajectories,
        discrete=discrete,
        card=card,
        observation_names=names,
        action_names=choices,
    )


def _table_actions(numeric: dict[str, AnyArray], mapping: ColumnMapping) -> tuple[AnyArray, bool]:
    first = numeric[mapping.actions[0]]
    # Whole numbers in one column are choices; a continuous action that happens to be whole is
    # written as 1.0.
    if len(mapping.actions) == 1 and first.dtype.kind in "iu":
        return first.astype(np.int64), True
    # [rows, a]
    return np.stack(
        [to_floats(f"values of {n}", numeric[n]) for n in mapping.actions], axis=1
    ), False


def _bare(name: str, prefix: str) -> str:
    if name.startswith(f"{prefix}[") and name.endswith("]"):
        return name[len(prefix) + 1 : -1]
    return name


def _episode_rows(
    num_rows: int, labels: list[str] | None, steps: AnyArray | None
) -> list[AnyArray]:
    """Row numbers of each episode, in the order of its steps;
    episodes in the order in which they appear."""
    if num_rows == 0:
        return []
    order_of = {label: index for index, label in enumerate(dict.fromkeys(labels or ["0"]))}
    if labels is None:
        episode = np.zeros(num_rows, dtype=np.int64)
    else:
        episode = np.array([order_of[label] for label in labels])
    if steps is None:
        order = np.argsort(episode, kind="stable")
    else:
        if steps.dtype.kind not in "iu":
            raise InputError(f"the step column has dtype {steps.dtype}, expected integers.")
        # Rows may be in any order (databases return them so): the step column says which follows
        # which.
        order = np.lexsort((steps, episode))
        jump = np.flatnonzero(
            (np.diff(episode[order]) == 0) & (steps[order][1:] != steps[order][:-1] + 1)
        )
        if jump.size:
            label = list(order_of)[episode[order][jump[0]]]
            before = steps[order][jump[0]]
            after = steps[order][jump[0] + 1]
            raise InputError(
                f"episode {label} goes from step {before} to step {after}, expected {before + 1}: "
                "steps are missing, doubled, or two episodes share a label."
            )
    return np.split(order, np.flatnonzero(np.diff(episode[order])) + 1)
