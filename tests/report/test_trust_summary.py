"""What `icrl evaluate` says beside its tables."""

from io import StringIO

import pytest
from rich.console import Console

from icrl.evaluate import Truth
from icrl.report.trust_summary import print_constraint_truth, print_rim


def said_by(show):
    out = StringIO()
    show(Console(file=out, width=300))
    return out.getvalue()


@pytest.mark.parametrize(("true_return", "explained"), [(95.0, False), (60.0, True)])
def test_a_true_return_much_lower_than_what_is_earned_is_explained(true_return, explained):
    truth = Truth(
        true_return=true_return, violation_rate=0.02, nominal_return=100.0, violating_episodes=0.4
    )
    said = said_by(lambda console: print_rim(truth, console))
    assert ("cut the rim" in said) is explained
    assert ("40%" in said) is explained


def test_hit_rate_and_false_alarms_are_printed():
    found = {
        "pairs": 10,
        "confusion": {
            "forbidden_judged_infeasible": 3,
            "forbidden_judged_feasible": 1,
            "allowed_judged_infeasible": 0,
            "allowed_judged_feasible": 6,
        },
        "hit_rate": 0.75,
        "false_alarm_rate": 0.0,
        "auc": None,
        "iou": 0.75,
        "calibration": {"error": 0.1},
    }
    assert "Hit rate 75.0% of what is forbidden, false alarms 0.0%" in said_by(
        lambda console: print_constraint_truth(found, console)
    )
