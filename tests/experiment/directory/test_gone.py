"""Settings that are gone: a file that names one is read while it did nothing."""

import dataclasses
import json

import pytest

from icrl.config import LearnConfig
from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import newest_checkpoint, write_checkpoint
from icrl.experiment.directory.config_file import read_config
from icrl.experiment.directory.gone import GONE, without_gone
from icrl.experiment.directory.parsing import dotted_names
from icrl.experiment.directory.spec import spec_from_json
from icrl.json_files import to_json
from small_runs import tiny_spec

OLD = {"steps": 9, "forward": {"clip": 0.1, "noise_memory": 0.0, "final_log_std": None}}


def older(spec, **forward):
    """The `config.json` of an earlier version."""
    content = json.loads(json.dumps(to_json(dataclasses.asdict(spec))))
    content["config"]["forward"] |= {"noise_memory": 0.0, "final_log_std": None, **forward}
    return content


def test_what_did_nothing_is_left_out_and_all_else_stays():
    assert without_gone(OLD) == {"steps": 9, "forward": {"clip": 0.1}}
    assert without_gone({"noise_memory": 0.0}) == {"noise_memory": 0.0}  # of no table: a mistake
    assert without_gone({"forward": {"noise_memory": 0.7}}) == {"forward": {"noise_memory": 0.7}}
    assert without_gone({"forward": {"noise_memory": False}})["forward"] == {"noise_memory": False}


def test_nothing_is_gone_that_is_there():
    assert not set(GONE) & set(dotted_names(LearnConfig))


def test_an_older_run_is_the_same_run():
    spec = tiny_spec()
    assert spec_from_json(older(spec)) == spec


def test_an_older_run_that_used_it_is_refused():
    with pytest.raises(InputError, match="does not know: noise_memory"):
        spec_from_json(older(tiny_spec(), noise_memory=0.7))


def test_an_older_file_of_settings_is_read(tmp_path):
    path = tmp_path / "best.toml"
    path.write_text('[forward]\nclip = 0.1\nfinal_log_std = "none"\nnoise_memory = 0.0\n')
    assert read_config(path).changes(LearnConfig()).forward.clip == 0.1
    path.write_text("[forward]\nnoise_memory = 0.7\n")
    with pytest.raises(InputError, match=r"forward\.noise_memory"):
        read_config(path)


def test_an_older_checkpoint_is_gone_on_from(tmp_path):
    write_checkpoint(tmp_path, 1, 5, int, {"task": "x", "config": OLD})
    here = {"task": "x", "config": {"steps": 9, "forward": {"clip": 0.1}}}
    found = newest_checkpoint(tmp_path, int, here)
    assert found is not None
    assert found.value == 5
