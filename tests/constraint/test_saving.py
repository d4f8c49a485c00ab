"""A constraint takes the place of another: whatever moment a kill comes at, the old one or
the new one can be read."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import Layer
from icrl.constraint.saved import CARD, NEXT_CARD, TENSORS
from icrl.errors import InputError

# For every moment a process is forked that kills itself at the n-th call of one of these
# functions: all that came
# earlier is on the disk. (Forked from a process of its own: that of the tests has threads.)
KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_saving import constraint

def killing(call):
    def counted(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return counted

for moment in range(1, 100):
    folder = os.path.join(sys.argv[1], str(moment))
    constraint(1.0).save(folder)
    child = os.fork()
    if child == 0:
        left = moment
        for name in ("fsync", "replace", "open", "unlink"):
            setattr(os, name, killing(getattr(os, name)))
        Path.open = killing(Path.open)
        constraint(2.0).save(folder)
        constraint(3.0).save(folder)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
"""


def constraint(bias: float) -> LearnedConstraint:
    features = Features(
        names=("x",),
        columns=(0,),
        lower=(-1.0,),
        upper=(1.0,),
        num_observations=1,
        num_actions=1,
        discrete=False,
    )
    layer = Layer(np.array([[1.0]], np.float32), np.array([bias], np.float32))
    return LearnedConstraint(features=features, params=(layer,), card={"bias": bias})


def test_a_kill_at_any_moment_loses_neither_the_old_nor_the_new(tmp_path: Path) -> None:
    words = [str(tmp_path), str(Path(__file__).parent)]
    subprocess.run([sys.executable, "-c", KILLED, *words], check=True)
    folders = list(tmp_path.iterdir())
    assert 15 < len(folders) < 99
    seen = set()
    for folder in folders:
        found = load_constraint(folder)
        bias = float(found.params[0].bias[0])
        assert found.card == {"bias": bias}
        seen.add(bias)
        # and the next save finds its way, whatever was left behind
        constraint(4.0).save(folder)
        assert load_constraint(folder).card == {"bias": 4.0}
        assert sorted(path.name for path in folder.iterdir() if not path.name.endswith(".tmp")) == [
            CARD,
            TENSORS,
        ]
    assert seen == {1.0, 2.0, 3.0}


def test_a_card_that_belongs_to_other_tensors_is_still_refused(tmp_path: Path) -> None:
    constraint(1.0).save(tmp_path / "a")
    constraint(2.0).save(tmp_path / "b")
    (tmp_path / "a" / CARD).write_bytes((tmp_path / "b" / CARD).read_bytes())
    with pytest.raises(InputError, match="do not belong together"):
        load_constraint(tmp_path / "a")
    (tmp_path / "a" / NEXT_CARD).write_text("{")  # what is no card helps nobody
    with pytest.raises(InputError, match="do not belong together"):
        load_constraint(tmp_path / "a")


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    constraint(1.0).save(tmp_path)
    constraint(2.0).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [CARD, TENSORS, "thesis.tex"]
