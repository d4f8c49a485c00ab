"""The law of the house: who may import whom, and what stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from icrl.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "icrl"
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
COLUMNS = 100

# Storeys of the house: a room may import from below and what SAME_STOREY allows, never from above.
STOREYS = [
    {
        "types",
        "errors",
        "config",
        "runtime",
        "interrupts",
        "trajectories",
        "files",
        "json_files",
        "versions",
        "words",
        "codec",
        "growing",
        "memory",
        "spans",
    },
    {"tasks", "demos", "agent", "constraint", "tabular", "search"},
    {
        "learn",
        "by_search",
        "by_gradient",
        "contest",
        "finding",
        "progress",
        "trials",
        "state",
        "evidence",
        "rounds",
        "transfer",
        "evaluate",
        "baselines",
        "presets",
        "visited",
        "interop",
        "experiment.directory",  # what lies on disk, which trust reads too
    },
    {"methods"},
    {"trust", "explain"},
    {"experiment.run"},
    {"experiment.engine"},
    {"experiment.suite", "experiment.bench"},
    {"experiment", "report"},
    {"api"},
    {"cli", "verbs", "__main__"},
]
SAME_STOREY = {
    # `task.py` is the noun that every room of the first storey may hold
    ("demos", "tasks"),
    ("agent", "tasks"),
    ("constraint", "tasks"),
    ("tabular", "tasks"),
    ("tabular", "demos"),
    ("tabular", "constraint"),  # the exact form of Algorithm 1 moves the same zeta
    ("errors", "errors"),
    ("config", "errors"),
    ("types", "errors"),
    ("trajectories", "types"),
    ("files", "errors"),
    ("runtime", "versions"),
    ("runtime", "errors"),
    ("experiment.directory", "visited"),  # the record is one of a run's files
    ("codec", "errors"),
    ("codec", "types"),
    ("growing", "types"),
    ("json_files", "errors"),
    ("json_files", "files"),
    ("search", "constraint"),  # what is found is a region, which zeta is
    ("learn", "by_search"),
    ("learn", "by_gradient"),
    ("learn", "state"),
    ("learn", "rounds"),
    ("by_search", "evidence"),
    ("by_search", "state"),
    ("by_search", "rounds"),
    ("by_search", "trials"),
    ("by_search", "contest"),
    ("by_search", "finding"),
    ("by_search", "progress"),
    ("contest", "evidence"),
    ("contest", "finding"),
    ("contest", "state"),
    ("contest", "trials"),
    ("finding", "evidence"),
    ("finding", "rounds"),
    ("finding", "state"),
    ("finding", "trials"),
    ("progress", "evidence"),
    ("progress", "state"),
    ("trials", "evidence"),
    ("by_gradient", "state"),
    ("by_gradient", "rounds"),
    ("state", "evidence"),
    ("state", "rounds"),
    ("baselines", "learn"),
    ("transfer", "rounds"),
    ("trust", "explain"),  # both ask what ζ says of the recorded pairs
    ("cli", "verbs"),
    ("__main__", "cli"),
}
LEARNERS = {
    "agent",
    "constraint",
    "learn",
    "by_search",
    "by_gradient",
    "contest",
    "finding",
    "trials",
    "progress",
    "state",
    "search",
    "evidence",
    "rounds",
    "transfer",
    "baselines",
    "methods",
    "tabular",
    # what is said without the truth cannot see it
    "demos",
    "visited",
    "trust",
    "explain",
    "interop",
}
TRUTH = {
    "icrl.tasks.truth",
    "icrl.tasks.shapes.truth",
    "icrl.tasks.shapes.experts",  # who keeps a rule knows it
    "icrl.tasks.shapes.scenarios",
    "icrl.evaluate",
}
# train, script or score the expert: the one who knows the law
MAY_SEE_TRUTH = {"icrl.demos.collect", "icrl.demos.scripted", "icrl.demos.references"}


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module):
    """`icrl.agent.state` -> `agent`, `icrl.experiment.run.one_run` -> `experiment.run`;
    the package itself -> ``."""
    names = module.split(".")[1:]
    if names[:1] == ["experiment"]:
        return ".".join(names[:2])
    return names[0] if names else ""


MODULES = {module_name(path) for path in FILES}


def imports_of(path):
    """Every `icrl` module that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{path.name}: imports are absolute, so that the law can be read off them"
            )
            assert node.module is not None
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return {name for name in found if name == "icrl" or name.startswith("icrl.")}


IMPORTS = {module_name(path): imports_of(path) for path in FILES}


def storey(name):
    levels = [level for level, rooms in enumerate(STOREYS) if name in rooms]
    assert len(levels) == 1, (
        f"room {name!r} has no storey: add it to STOREYS, where the design says it belongs"
    )
    return levels[0]


def law_abiding(importer, imported):
    """May the module `importer` import the module `imported`?"""
    above, below = room(importer), room(imported)
    return above == below or storey(below) < storey(above) or (above, below) in SAME_STOREY


def test_there_is_something_to_judge():
    assert len(FILES) > 30
    assert "icrl.agent.state" in IMPORTS["icrl.agent.rollout"]
    assert "icrl.tasks.truth" in IMPORTS["icrl.tasks.lap_grid"]


def test_imports_point_downwards():
    broken = [
        f"{importer} imports {imported}"
        for importer, modules in IMPORTS.items()
        for imported in modules
        if importer not in ({"icrl"} | MAY_SEE_TRUTH)
        and imported != "icrl"
        and not law_abiding(importer, imported)
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("icrl.agent.state", "icrl.constraint.network", False),
        ("icrl.constraint.network", "icrl.agent.state", False),
        ("icrl.agent.state", "icrl.learn", False),
        ("icrl.types", "icrl.tasks.task", False),
        ("icrl.learn", "icrl.agent.state", True),
        ("icrl.cli", "icrl.experiment.run.one_run", True),
        ("icrl.experiment.run.one_run", "icrl.cli", False),
        ("icrl.experiment.run.one_run", "icrl.experiment.directory.spec", True),
        ("icrl.experiment.directory.spec", "icrl.experiment.run.one_run", False),
        ("icrl.experiment.suite.suite", "icrl.experiment.engine.engine", True),
        ("icrl.experiment.engine.worker", "icrl.experiment.suite.suite", False),
        ("icrl.trust.of_run", "icrl.experiment.directory.spec", True),
        ("icrl.trust.of_run", "icrl.experiment.run.one_run", False),
        ("icrl.report.table", "icrl.experiment.suite.statistics", True),
        ("icrl.agent.state", "icrl.tasks.task", True),
        ("icrl.tasks.task", "icrl.agent.state", False),
    ],
)
def test_the_law_itself(importer, imported, allowed):
    assert law_abiding(importer, imported) is allowed


def test_agent_and_constraint_never_meet():
    for importer, modules in IMPORTS.items():
        others = {"agent": "constraint", "constraint": "agent"}.get(room(importer))
        assert others not in {room(module) for module in modules}, importer


def reachable(start):
    """All `icrl` modules that importing `start` pulls in."""
    seen, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += IMPORTS.get(module, set())
    return seen


def test_nothing_that_learns_can_reach_the_truth():
    learners = [
        module for module in IMPORTS if room(module) in LEARNERS and module not in MAY_SEE_TRUTH
    ]
    assert len(learners) > 15
    leaks = {
        module: sorted(reachable(module) & TRUTH)
        for module in learners
        if reachable(module) & TRUTH
    }
    assert leaks == {}


def test_the_truth_is_imported_by_scenarios_alone():
    importers = {module for module, modules in IMPORTS.items() if "icrl.tasks.truth" in modules}
    assert importers <= {module for module in MODULES if room(module) == "tasks"}
    assert not importers & {
        "icrl.tasks.task",
        "icrl.tasks.batched",
        "icrl.tasks.registry",
        "icrl.tasks.single",
    }


def test_the_truth_of_shapes_is_imported_by_scenarios_and_experts_alone():
    importers = {
        module for module, modules in IMPORTS.items() if "icrl.tasks.shapes.truth" in modules
    }
    assert importers == {"icrl.tasks.shapes.scenarios", "icrl.tasks.shapes.experts"}
    knowing = {"icrl.tasks.shapes.scenarios", "icrl.tasks.shapes.experts"}
    importers = {module for module, modules in IMPORTS.items() if modules & knowing}
    assert importers == {"icrl.demos.scripted"}


def test_no_import_cycles():
    for module, modules in IMPORTS.items():
        for imported in modules - {module, "icrl"}:
            assert module not in reachable(imported), f"{module} and {imported} import each other"


NAMED_ELSEWHERE = {
    ("icrl", "versions.py"): "the package's own name",
    ("greedy", "agent/policy_file.py"): "a way to act, not to learn",
    ("expert", "types.py"): "what the cards of demonstrations call it",
    ("nominal", "types.py"): "what the cards of demonstrations call it",
    ("expert", "demos/scripted.py"): "an entry of a card: who demonstrated",
}
"""Where a word that is a method's name stands for something else."""


def words_of(path):
    """Every string of a file that is one whole word of the command line."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    strings = [
        node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return {node.value for node in strings if id(node) not in parts}


def test_the_name_of_a_method_stands_in_one_file():
    for name in METHODS:
        files = [path.relative_to(SOURCE).as_posix() for path in FILES if name in words_of(path)]
        homes = [file for file in files if (name, file) not in NAMED_ELSEWHERE]
        assert len(homes) <= 1, name
        assert all(home.startswith("methods/") for home in homes), homes
        assert files, name


COURT = re.compile(
    r"\b(lawful|unlawful|convict|acquit|innocen|presum|dismiss|guilt)\w*", re.IGNORECASE
)
RECORDS = {"decisions", "collapse.md"}
"""Pages that say what was done, in the words of then."""


def test_a_reader_needs_no_words_of_a_court():
    pages = [path for path in (ROOT / "docs").rglob("*.md") if not RECORDS & set(path.parts)]
    found = {
        path.relative_to(ROOT).as_posix(): words
        for path in [*FILES, *pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        if (words := sorted({word[0] for word in COURT.finditer(path.read_text(encoding="utf-8"))}))
    }
    assert found == {}


def test_there_is_no_drawer_for_everything():
    assert [
        path.name for path in FILES if path.stem in {"utils", "util", "helpers", "common", "misc"}
    ] == []


def test_nothing_is_silenced():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for word in ("type: " + "ignore", "no" + "qa", "TO" + "DO", "FIX" + "ME"):
            assert word not in text, f"{word} in {path.name}"


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples", "docs"])
def test_no_line_is_wider_than_100_columns(folder):
    """Ruff lets lines pass that hold no space, or end in an address."""
    wide = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if len(line) > COLUMNS
    ]
    assert wide == []


def test_test_files_have_names_of_their_own():
    names = [path.name for path in TESTS]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("icrl.constraint.learned", ("jax", "mujoco", "matplotlib")),
        ("icrl.tasks.lap_grid", ("jax", "mujoco", "matplotlib", "PIL")),
        ("icrl.interop.wrappers", ("jax", "mujoco", "matplotlib", "torch")),
        ("icrl.interop.shield", ("jax", "mujoco", "matplotlib")),
        ("icrl.interop.onnx_export", ("jax", "mujoco", "onnx")),
        ("icrl.interop.relabel", ("jax", "mujoco", "minari")),
        ("icrl.config", ("jax", "numpy")),
        ("icrl.methods.registry", ("jax", "mujoco", "matplotlib")),
    ],
)
def test_what_must_be_light_is_light(module, heavy):
    code = f"import sys, {module}; print(sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_room_needs_what_only_unix_has():
    """The lock is a library's: `fcntl` would keep suites from Windows."""
    unix = {"fcntl", "termios", "pwd", "grp", "resource", "pty"}
    found = {}
    for path in FILES:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = {
            alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        if names & unix:
            found[path.name] = names & unix
    assert found == {}
