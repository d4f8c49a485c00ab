"""Per-run data of a results folder, which only scripts read: one compressed file a suite.

`read` and `write` take the path without its ending: `results/shapes/runs` is
`results/shapes/runs.json.gz`. By hand: `zcat results/shapes/runs.json.gz | python -m json.tool`.
"""

import gzip
import json
from pathlib import Path
from typing import Any


def write(path: Path, content: Any) -> None:
    """As compressed JSON, the same bytes for the same content; a plain file of old is removed."""
    data = json.dumps(content, separators=(",", ":")).encode()
    # no time in it, or every run of a script would look like a change
    path.with_suffix(".json.gz").write_bytes(gzip.compress(data, mtime=0))
    path.with_suffix(".json").unlink(missing_ok=True)


def read(path: Path) -> Any:
    """What was written; None: nothing was yet. A plain file of old is read too."""
    packed = path.with_suffix(".json.gz")
    if packed.exists():
        return json.loads(gzip.decompress(packed.read_bytes()))
    plain = path.with_suffix(".json")
    if plain.exists():
        return json.loads(plain.read_text())
    return None
