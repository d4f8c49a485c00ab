"""What sweeps leave behind, written by hand."""

import json


def write_sweep(path, settings, rows, **told):
    """The directory of a sweep; rows are (trial, objective, state, a choice of each setting)."""
    path.mkdir(parents=True)
    dimensions = [{"name": name, "choices": choices} for name, choices in settings.items()]
    (path / "sweep.json").write_text(json.dumps({**told, "dimensions": dimensions}))
    lines = [",".join(["trial", "objective", "state", *settings])]
    lines += [",".join(map(str, row)) for row in rows]
    (path / "trials.csv").write_text("\n".join(lines) + "\n")
    return path
