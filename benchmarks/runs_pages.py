"""What the benchmarks that read many runs have in common:
which runs, and the page that is written about them."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import per_run
from rich.progress import track

from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.json_files import to_json
from icrl.report.records import RunRecord, read_groups
from icrl.report.table import as_markdown
from icrl.visited import VISITED

Reader = Callable[[RunRecord], tuple[list[str], dict[str, Any]]]
"""The cells of a run's row, and all that is said of it."""


def write_page(
    doc: str, name: str, title: str, headers: Sequence[str], note: str, read: Reader
) -> None:
    """Read the finished runs of a directory that have a constraint and a record of their agents;
    write NAME.md, NAME.json.gz.

    `--first` reads only the lowest seed of each method.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", action="store_true", help="the lowest seed of each method alone")
    arguments = parser.parse_args()
    runs = [
        (group.name, run)
        for group in read_groups([arguments.runs])
        for run in [run for run in group.finished if _can_be_read(run)][
            : 1 if arguments.first else None
        ]
    ]
    rows, found = [], []
    for method, run in track(runs, "reading"):
        cells, said = read(run)
        rows.append([method, str(run.seed), *cells])
        found.append({"run": run.name, "task": run.task, "seed": run.seed, **said})
    first = " --first" if arguments.first else ""
    command = f"python benchmarks/{name}_runs.py {arguments.runs} --out {arguments.out}{first}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = as_markdown(["method", "seed", *headers], rows)
    (arguments.out / f"{name}.md").write_text(
        f"# {title}\n\n{table}\n{note}\n\nMade by `{command}`.\n"
    )
    per_run.write(arguments.out / name, to_json(found))


def _can_be_read(run: RunRecord) -> bool:
    return (run.directory / CONSTRAINT).is_dir() and (run.directory / VISITED).exists()
