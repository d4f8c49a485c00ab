"""The records of the methods that ship: how each learns, and how its constraint presses."""

import pytest

from icrl.baselines.binary_classifier import cross_entropy
from icrl.constraint.objective import loss
from icrl.errors import InputError
from icrl.methods.binary_classifier import BINARY_CLASSIFIER
from icrl.methods.gail_constraint import GAIL_CONSTRAINT
from icrl.methods.greedy import GREEDY
from icrl.methods.icrl import ICRL
from icrl.methods.learners import learner_of, run_greedy, run_nominal
from icrl.methods.record import Method, Presses
from icrl.methods.references import EXPERT_AGENT, NOMINAL_AGENT


def test_algorithm_1_and_both_baselines_differ_in_their_loss_and_how_zeta_presses():
    assert ICRL.objective() is loss
    assert BINARY_CLASSIFIER.objective() is GAIL_CONSTRAINT.objective() is cross_entropy
    presses = [method.presses for method in (ICRL, BINARY_CLASSIFIER, GAIL_CONSTRAINT)]
    assert presses == [Presses.cost, Presses.cost, Presses.bonus]


def test_the_baselines_run_in_the_papers_loop_whatever_the_preset():
    for method in (BINARY_CLASSIFIER, GAIL_CONSTRAINT):
        for preset in ("default", "paper", "authors"):
            assert method.preset(preset, "lap-grid").scouts == 0
    assert ICRL.preset("default", "lap-grid").scouts > 0
    assert ICRL.preset("paper", "lap-grid").scouts == 0


def test_greedy_infers_in_small_worlds_and_has_nothing_to_sweep():
    assert GREEDY.needs_tabular
    assert not GREEDY.sweepable
    assert learner_of(GREEDY) is run_greedy


def test_references_learn_no_constraint_and_only_the_expert_is_told_the_truth():
    assert learner_of(NOMINAL_AGENT) is run_nominal
    assert not NOMINAL_AGENT.learns
    assert not EXPERT_AGENT.learns
    assert (NOMINAL_AGENT.needs_truth, EXPERT_AGENT.needs_truth) == (False, True)
    with pytest.raises(InputError, match="told the true constraint"):
        learner_of(EXPERT_AGENT)


def test_a_preset_may_have_a_look_of_its_own():
    assert ICRL.look().name == "ICRL (ours)"
    assert ICRL.look("paper").label == "paper"
    assert GREEDY.look("paper").label == "greedy (paper)"


def test_a_method_says_how_it_learns_once():
    with pytest.raises(InputError, match="in one way, got 2"):
        Method(name="x", label="x", summary="", objective=lambda: loss, learner=lambda: run_greedy)
    with pytest.raises(InputError, match="in one way, got 0"):
        Method(name="x", label="x", summary="")
