"""`icrl export DIR --out constraint.onnx`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class ExportArgs:
    """Write a learned constraint as an ONNX model,
    from raw pairs to feasibility (needs the extra 'onnx')."""

    directory: Positional[Path]
    """A run directory that learned a constraint, or the constraint's own folder."""
    out: Path | None = None
    """Where to write, with the suffix .onnx; None: constraint.onnx in that directory."""


def run(arguments: list[str]) -> None:
    """`icrl export DIR --out constraint.onnx`."""
    args = tyro.cli(ExportArgs, prog="icrl export", args=arguments)
    out = args.out or args.directory / "constraint.onnx"
    if out.suffix != ".onnx":
        raise InputError(f"--out {out}: the suffix is {out.suffix!r}, expected .onnx.")
    from rich.console import Console

    from icrl.experiment.directory.provenance import open_constraint
    from icrl.interop.onnx_export import export_onnx

    constraint = open_constraint(str(args.directory))
    path = export_onnx(constraint, out)
    features = constraint.features
    action = f"int64 [batch], 0..{features.num_actions - 1}" if features.discrete else (
        f"float32 [batch, {features.num_actions}]"
    )  # fmt: skip
    console = Console(highlight=False, soft_wrap=True)
    say(console, f"Wrote {path} ({path.stat().st_size / 1e3:.1f} kB)")
    console.print(
        f"  inputs   observation  float32 [batch, {features.num_observations}]", markup=False
    )
    console.print(f"           action       {action}", markup=False)
    console.print(
        f"  output   feasibility  float32 [batch]; infeasible below {constraint.threshold:g}",
        markup=False,
    )
