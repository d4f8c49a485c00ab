"""Settings as a file: written whole, read back the same, changed by flags; what is wrong is
named."""

import json
import tomllib
from dataclasses import replace

import pytest

from icrl.cli import main
from icrl.config import Weights
from icrl.errors import InputError
from icrl.experiment.directory.config_file import read_config
from icrl.experiment.directory.run_directory import without_times
from icrl.json_files import write_json
from icrl.methods.registry import preset
from icrl.verbs.learn import as_toml, parse
from small_runs import TINY_FLAGS


def written(tmp_path, text, name="my.toml"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("task", ["lap-grid", "ant-wall"])
@pytest.mark.parametrize("name", ["default", "paper"])
def test_what_is_written_reads_back_the_same(tmp_path, task, name):
    args = parse([task, "--preset", name, "--seed", "3", "--features", "x", "y"])
    again = parse(["--config", written(tmp_path, as_toml(args))])
    assert again == replace(args, config_file=again.config_file)


def test_columns_and_own_environments_are_written_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    make = "def make():\n    return gymnasium.make('Pendulum-v1')\n"
    (tmp_path / "my_module.py").write_text(f"import gymnasium\n\n\n{make}")
    flags = [
        "--columns.observations",
        "a",
        "b",
        "--columns.actions",
        "c",
        "--columns.episode",
        "None",
    ]
    args = parse(["my_module:make", "--horizon", "30", "--env-timeout", "None", *flags])
    assert (args.columns.episode, args.env.env_timeout) == (None, None)
    again = parse([f"--config={written(tmp_path, as_toml(args))}"])
    assert again == replace(args, config_file=again.config_file)


@pytest.mark.parametrize(
    "name", ['"', "\\", "\n", "\x7f", "\x1b[31m", "\u6e29\u5ea6", "\U0001f600", "'''", "[x]"]
)
def test_names_of_any_letters_read_back_the_same(tmp_path, name):
    flags = ["--columns.observations", name, "--columns.actions", "c", "--demos", name]
    args = parse(["lap-grid", *flags])
    again = parse([f"--config={written(tmp_path, as_toml(args))}"])
    assert (again.columns.observations, again.demos) == ((name,), name)


def test_a_column_that_is_not_there_is_said_by_a_word(tmp_path):
    table = '[columns]\nobservations = ["a"]\nactions = ["c"]\nepisode = "none"\n'
    assert parse(["--config", written(tmp_path, table)]).columns.episode is None
    # JSON has a null: there it is somebody's name
    write_json(tmp_path / "config.json", {"columns": {"episode": "none"}})
    assert read_config(tmp_path).tables["columns"] == {"episode": "none"}


def test_a_file_changes_the_preset_and_flags_change_the_file(tmp_path):
    file = written(
        tmp_path, 'task = "ant-wall"\nseed = 7\nscouts = 1\n[forward]\nclip = 0.1\ngamma = 0.9\n'
    )
    args = parse(["--config", file, "--forward.clip", "0.3", "--seed", "8"])
    assert (args.task, args.seed, args.config.scouts) == ("ant-wall", 8, 1)
    assert (args.config.forward.clip, args.config.forward.gamma) == (0.3, 0.9)
    base = preset("default", "ant-wall")
    assert args.config.steps == base.steps
    assert args.config.backward == base.backward


def test_the_preset_and_the_method_of_a_file_are_the_ones_it_changes(tmp_path):
    file = written(tmp_path, 'method = "binary-classifier"\npreset = "paper"\nsteps = 9000\n')
    args = parse(["ant-wall", "--config", file])
    assert args.config == replace(preset("paper", "ant-wall", "binary-classifier"), steps=9000)
    assert parse(["ant-wall", "--config", file, "--preset", "default"]).preset == "default"


def test_sizes_that_only_fit_together_can_be_changed_together(tmp_path):
    file = written(tmp_path, "[forward]\nnum_envs = 3\nrollout_steps = 50\nminibatch = 75\n")
    assert parse(["lap-grid", "--config", file]).config.forward.minibatch == 75


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[forward]\nlearning_rat = 1",
            r"unknown setting 'forward.learning_rat': did you mean 'forward.learning_rate'",
        ),
        ("scouting = 3", "unknown setting 'scouting': did you mean 'scouts'"),
        ("learning_rate = 3", "did you mean '(forward|backward).learning_rate'"),
        ("[forwrd]\nclip = 0.1", "unknown setting 'forwrd': did you mean 'forward'"),
        ("[forward.multiplyer]\nbudget = 1", "did you mean 'forward.multiplier'"),
        ("steps = 1.5", "steps is 1.5, expected int"),
        ("seed = true", "seed is True, expected int"),
        (
            '[backward]\nweights = "stp"',
            "backward.weights is 'stp', expected one of trajectory, step, none",
        ),
        ("forward = 3", "forward is 3, expected a table"),
        ("env = 3", "env is 3, expected a table"),
        ("steps = -1", "setting steps = -1 is out of range"),
        ("steps = = 1", "cannot be read as TOML"),
        ('constraint = "runs/a"', "use icrl transfer"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as error:
        read_config(tmp_path / written(tmp_path, text))
    assert "my.toml" in str(error.value)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_config(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[1]", "expected a JSON object"),
        ('{"seed": NaN}', "expected a finite number"),
        ('{"seed": true}', "seed is True, expected int"),
    ],
)
def test_what_is_wrong_with_a_run_is_named_once(tmp_path, text, message):
    (tmp_path / "config.json").write_text(text)
    for named in (tmp_path, tmp_path / "config.json"):
        with pytest.raises(InputError, match=message) as error:
            read_config(named)
        assert str(error.value).count("config.json") == 1


def test_none_is_written_as_a_word(tmp_path):
    file = written(
        tmp_path, 'features = "none"\n[backward]\nmax_kl_old_new = 3\nweights = "none"\n'
    )
    config = parse(["lap-grid", "--preset", "paper", "--config", file]).config
    assert config.features is None
    assert config.backward.max_kl_old_new == 3
    assert config.backward.weights is Weights.none


def test_a_run_can_be_made_again_from_its_config(tmp_path, capsys):
    main(
        [
            "learn",
            "lap-grid",
            "--steps",
            "1824",
            "--seed",
            "4",
            "--out",
            str(tmp_path / "one"),
            *TINY_FLAGS,
        ]
    )
    main(["learn", "--config", str(tmp_path / "one"), "--out", str(tmp_path / "two")])
    one, two = (
        json.loads((tmp_path / name / "config.json").read_text()) for name in ("one", "two")
    )
    assert one == two
    metrics = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    ]
    for first, second in zip(*metrics, strict=True):
        assert without_times(first) == without_times(second)
    capsys.readouterr()
    main(["learn", "--config", str(tmp_path / "one" / "config.json"), "--print-config"])
    printed = tomllib.loads(capsys.readouterr().out)
    assert (printed["seed"], printed["steps"], printed["forward"]["hidden"]) == (4, 1824, [16])
    write_json(tmp_path / "one" / "config.json", {**one, "constraint": "somewhere"})
    with pytest.raises(SystemExit):
        main(["learn", "--config", str(tmp_path / "one")])
