"""A run by its result or its directory, a task by its name or itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from icrl.api.inputs import directory_of, find_scenario, scenario_for
from icrl.errors import InputError
from icrl.tasks.lap_grid import lap_grid

SCENARIO = lap_grid()
RAN = SimpleNamespace(directory=Path("runs/here"), scenario=SCENARIO)
CONFIG = {"task": "bridges"}


def test_a_task_may_be_named_or_given_and_ones_own_has_no_truth():
    assert find_scenario("lap-grid").task.name == "lap-grid"
    assert find_scenario(SCENARIO) is SCENARIO
    own = find_scenario(SCENARIO.task)
    assert own.task is SCENARIO.task
    assert not own.truth_known


def test_where_a_run_is():
    assert directory_of(RAN) == directory_of("runs/here") == Path("runs/here")


def test_what_the_caller_says_comes_before_the_result_and_that_before_the_record():
    assert scenario_for(RAN, CONFIG, SCENARIO.task, False).task is SCENARIO.task
    assert scenario_for(RAN, CONFIG, None, False) is SCENARIO
    assert scenario_for("runs/here", CONFIG, None, False).task.name == "bridges"


def test_code_that_only_a_run_names_is_not_executed():
    with pytest.raises(InputError, match="--allow-import"):
        scenario_for("runs/here", {"task": "theirs:make_env"}, None, False)
