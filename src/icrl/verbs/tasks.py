"""`icrl tasks`."""

from icrl.errors import InputError


def run(arguments: list[str]) -> None:
    """`icrl tasks`."""
    if arguments and arguments[0] not in ("-h", "--help"):
        raise InputError(f"icrl tasks takes no arguments, got {' '.join(arguments)}.")
    from rich.console import Console

    from icrl.report.summary import print_tasks
    from icrl.tasks.registry import SCENARIOS, make_scenario

    print_tasks([make_scenario(name) for name in SCENARIOS], Console())
