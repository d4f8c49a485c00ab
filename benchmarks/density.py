"""How dense is a code base? Per 1,000 lines: conditional expressions, `a, b = x, y`, lines of
comments, and of docstrings (those under fields and constants count too).

    python benchmarks/density.py src/icrl PATH...

Give other packages' folders to stand beside ours. Prints a Markdown table; nothing is judged.
"""

import ast
import io
import statistics
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

WIDE = 88
"""Columns beyond which a line counts as wide: the width of most formatters."""


@dataclass
class Density:
    """Counts over the files of a folder."""

    files: int = 0
    lines: int = 0
    conditionals: int = 0
    tuples: int = 0
    comments: int = 0
    docstrings: int = 0
    wide: int = 0
    sizes: tuple[int, ...] = ()

    def per_thousand(self, count: int) -> str:
        return f"{1000 * count / max(self.lines, 1):.1f}"


def is_tuple_assignment(node: ast.AST) -> bool:
    """`a, b = x, y`: several thoughts on one line. Unpacking a call is none."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    return any(isinstance(target, ast.Tuple) for target in node.targets)


def docstring_lines(node: ast.AST) -> int:
    """Lines of a text that stands by itself: what a module, function, field or constant is."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return 0
    if not isinstance(node.value.value, str):
        return 0
    return (node.end_lineno or node.lineno) - node.lineno + 1


def measure(paths: list[Path]) -> Density:
    """Count over Python files."""
    found = Density()
    sizes = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        tree = ast.walk(ast.parse(text))
        for node in tree:
            found.conditionals += isinstance(node, ast.IfExp)
            found.tuples += is_tuple_assignment(node)
            found.docstrings += docstring_lines(node)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found.comments += sum(token.type == tokenize.COMMENT for token in tokens)
        found.wide += sum(len(line) > WIDE for line in lines)
        found.lines += len(lines)
        found.files += 1
        sizes.append(len(lines))
    found.sizes = tuple(sizes)
    return found


def row(name: str, found: Density) -> str:
    cells = [
        name,
        str(found.files),
        str(found.lines),
        str(round(statistics.median(found.sizes))),
        found.per_thousand(found.conditionals),
        found.per_thousand(found.tuples),
        found.per_thousand(found.comments),
        found.per_thousand(found.docstrings),
        f"{100 * found.wide / max(found.lines, 1):.1f} %",
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> None:
    print(
        "| | files | lines | median file | `x if c else y` | `a, b = x, y` | comments | docstrings "
        "| wide lines |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for argument in arguments:
        path = Path(argument)
        files = [path]
        if path.is_dir():
            files = sorted(path.rglob("*.py"))
        print(row(argument, measure(files)))


if __name__ == "__main__":
    main(sys.argv[1:] or ["src/icrl"])
