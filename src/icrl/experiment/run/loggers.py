"""Loggers for the tools that people have: CSV, TensorBoard, Weights & Biases. Each is a callback of
a run.

All log what `metrics.jsonl` holds, by environment steps; TensorBoard and W&B also the settings, ζ's
picture of each round (where one can be drawn) and the final scores. A logger that fails says so
once and is switched off; the run goes on.
"""

import csv
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from icrl.errors import InputError, unknown_name
from icrl.experiment.run.callbacks import Callback, Started, StopRun
from icrl.files import write_whole
from icrl.json_files import to_json
from icrl.methods.learners import Snapshot
from icrl.rounds import Progress
from icrl.types import Scores
from icrl.versions import PACKAGE
from icrl.words import in_markdown

Picture = Callable[[Snapshot], bytes | None]
"""ζ after a round as PNG; None: there is none to draw."""
Say = Callable[[str], None]

CSV = "metrics.csv"
TENSORBOARD = "tensorboard"


def make_logger(name: str, picture: Picture, say: Say) -> Callback:
    """The logger called `csv`, `tensorboard` or `wandb`; `say` hears of what goes wrong."""
    loggers: dict[str, Callable[[], Callback]] = {
        "csv": CsvLogger,
        "tensorboard": lambda: TensorBoardLogger(picture),
        "wandb": lambda: WandbLogger(picture),
    }
    if name not in loggers:
        raise unknown_name("logger", name, loggers)
    try:
        return Guarded(name, loggers[name](), say)
    except ImportError as error:
        raise InputError(
            f"--log {name} needs the extra '{name}' ({error}): pip install 'icrl[{name}]'."
        ) from error


class Guarded(Callback):
    """Another callback, whose failures do not end the run: a full disk or a lost network is said
    once."""

    def __init__(self, name: str, inner: Callback, say: Say) -> None:
        self.name = name
        self.inner = inner
        self.say = say
        self.works = True

    def _try(self, moment: Callable[[], None]) -> None:
        if not self.works:
            return
        try:
            moment()
        # A callback may end a run on purpose: that is no failure.
        except StopRun:
            raise
        except Exception as error:  # other people's code: whatever it raises, the run is worth more
            self.works = False
            self.say(
                f"--log {self.name} failed and is off from here on ({type(error).__name__}: "
                f"{error})."
            )

    def on_start(self, started: Started) -> None:
        """Handed on."""
        self._try(lambda: self.inner.on_start(started))

    def on_update(self, progress: Progress) -> None:
        """Handed on."""
        self._try(lambda: self.inner.on_update(progress))

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """Handed on."""
        self._try(lambda: self.inner.on_round(snapshot, metrics))

    def on_checkpoint(self, path: Path, seconds: float) -> None:
        """Handed on."""
        self._try(lambda: self.inner.on_checkpoint(path, seconds))

    def on_end(self, scores: Scores, details: dict[str, Any]) -> None:
        """Handed on."""
        self._try(lambda: self.inner.on_end(scores, details))


class CsvLogger(Callback):
    """`metrics.csv` in the run's directory: a row per round, written anew each time, whole or not
    at all."""

    def __init__(self) -> None:
        self.path = Path(CSV)
        self.rows: list[dict[str, Any]] = []

    def on_start(self, started: Started) -> None:
        """Find the place, and the rows of a run that goes on."""
        self.path = started.directory / CSV
        self.rows = list(started.before)

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """Write all rows; a number that only later rounds have is a column of all."""
        self.rows.append(to_json(metrics))
        # Anew each time: the phases of a run log different numbers, and a header cannot be appended
        # to.
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_whole(self.path, text.getvalue().encode())


class TensorBoardLogger(Callback):
    """Event files in `tensorboard/` of the run's directory, by TensorBoard's own writer."""

    def __init__(self, picture: Picture) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
        from tensorboard.summary.writer import event_file_writer

        self.protos = (event_pb2, summary_pb2, tensor_pb2)
        self.make_writer = event_file_writer.EventFileWriter
        self.writer: Any = None
        self.picture = picture
        self.steps = 0

    def on_start(self, started: Started) -> None:
        """The settings, as text."""
        self.writer = self.make_writer(str(started.directory / TENSORBOARD))
        # TensorBoard shows text as Markdown, in which four spaces begin a block of code.
        text = "\n".join(
            ["    " + line for line in json.dumps(to_json(started.config), indent=2).splitlines()]
        )
        self._add([self._text("config", text)])

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """Every number, words and lists (why ζ moved, rivals) as text, and ζ's picture."""
        self.steps = snapshot.steps
        values = self._scalars(metrics)
        for name, value in to_json(metrics).items():
            if isinstance(value, str):
                values.append(self._text(name, in_markdown(value)))
            elif isinstance(value, list):
                values.append(self._text(name, in_markdown(json.dumps(value))))
        picture = self.picture(snapshot)
        if picture is not None:
            _, summary, _ = self.protos
            width, height = _size_of(picture)
            image = summary.Summary.Image(
                height=height, width=width, colorspace=4, encoded_image_string=picture
            )
            values.append(summary.Summary.Value(tag="constraint/picture", image=image))
        self._add(values)

    def on_end(self, scores: Scores, details: dict[str, Any]) -> None:
        """The final scores under `scores/`."""
        self._add(self._scalars(_final(scores, details)))
        self.writer.close()

    def _scalars(self, numbers: dict[str, Any]) -> list[Any]:
        _, summary, _ = self.protos
        return [
            summary.Summary.Value(tag=name, simple_value=float(value))
            for name, value in numbers.items()
            if isinstance(value, int | float)
        ]

    def _text(self, name: str, text: str) -> Any:
        _, summary, tensor = self.protos
        plugin = summary.SummaryMetadata.PluginData(plugin_name="text")
        dtype_string = 7  # DT_STRING of TensorFlow's types.proto
        return summary.Summary.Value(
            tag=name,
            metadata=summary.SummaryMetadata(plugin_data=plugin),
            tensor=tensor.TensorProto(dtype=dtype_string, string_val=[text.encode()]),
        )

    def _add(self, values: Sequence[Any]) -> None:
        event, summary, _ = self.protos
        made = event.Event(
            wall_time=time.time(), step=self.steps, summary=summary.Summary(value=values)
        )
        self.writer.add_event(made)
        # At once: TensorBoard is looked at while a run goes on, and a run may be killed.
        self.writer.flush()


class WandbLogger(Callback):
    """A run of Weights & Biases in `wandb/` of the run's directory; offline unless WANDB_MODE says
    otherwise."""

    def __init__(self, picture: Picture) -> None:
        import wandb

        self.wandb: Any = wandb
        self.run: Any = None
        self.picture = picture

    def on_start(self, started: Started) -> None:
        """Begin; no account is asked for."""
        config = started.config
        self.run = self.wandb.init(
            project=os.environ.get("WANDB_PROJECT", PACKAGE),
            name=started.directory.name,
            group=f"{config.get('task')}-{config.get('method')}",
            dir=str(started.directory),
            config=to_json(config),
            # Nothing leaves the machine unless the user says so.
            mode=os.environ.get("WANDB_MODE", "offline"),
            # Its words would tear the live display apart.
            settings=self.wandb.Settings(silent=True),
        )

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """Every number, and ζ's picture."""
        logged = {name: value for name, value in to_json(metrics).items() if value is not None}
        picture = self.picture(snapshot)
        if picture is not None:
            from PIL import Image

            logged["constraint/picture"] = self.wandb.Image(Image.open(io.BytesIO(picture)))
        self.run.log(logged, step=snapshot.steps)

    def on_end(self, scores: Scores, details: dict[str, Any]) -> None:
        """The final scores as the run's summary."""
        self.run.summary.update(_final(scores, details))
        self.run.finish()


def _final(scores: Scores, details: dict[str, Any]) -> dict[str, Any]:
    """The numbers of `scores.json` under `scores/`."""
    constraint = details.get("constraint", {})
    found = {f"scores/{name}": value for name, value in to_json(scores).items()}
    found |= {f"scores/constraint/{name}": value for name, value in to_json(constraint).items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _size_of(png: bytes) -> tuple[int, int]:
    """Width and height stand at the same place in every PNG."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
