"""Words of others are letters wherever they are shown: on a terminal, in Markdown, in a figure."""

import io
import shlex
import warnings

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from icrl.cli import main
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.demos.check import describe, render_report
from icrl.demos.formats import load_demos
from icrl.experiment.run.display import LiveDisplay
from icrl.explain.reading import read_constraint
from icrl.report.canvas import blank_figure, save_figure
from icrl.report.constraint_picture import draw_constraint
from icrl.report.explain_picture import draw_reading
from icrl.report.records import Group
from icrl.tasks.task import Scenario, Task
from icrl.types import Trajectories
from icrl.words import from_markdown, in_markdown, one_line, printable, quoted, say, shown
from small_runs import TINY_FLAGS

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
NASTY = [
    "cost_$x_{1$",
    "$$",
    "[/b]",
    "[bold]x",
    "<script>alert(1)</script>",
    ESCAPE,
    "a|b",
    "line\nbreak",
    "\u202eabc",
]


@pytest.mark.parametrize("name", NASTY)
def test_a_terminal_is_given_letters_alone(name):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None, width=200)
    say(console, name)
    table = Table(title=shown(name))
    table.add_column("name")
    table.add_row(shown(name))
    console.print(table)
    text = file.getvalue()
    assert not [letter for letter in "\x1b\x07\u202e" if letter in text]
    assert text.count(one_line(name)) >= 2  # all of it is there to be read, markup too


def test_what_is_harmless_stays_as_it_is():
    text = "ζ ≥ ½: x[3], naïve — 日本\n\tok"
    assert printable(text) == text


def test_what_cannot_be_seen_is_spelt_out():
    assert one_line("a\u2028b\u200bc\xadd\ud800\t\xa0") == "a\\u2028b\\u200bc\\xadd\\ud800\\t\xa0"


@pytest.mark.parametrize("name", NASTY)
def test_what_markdown_shows_can_be_read_back(name):
    assert from_markdown(in_markdown(name)) == one_line(name)


def test_markdown_shows_names_and_obeys_none():
    assert in_markdown("<b>&|`x`[a](b)") == "&lt;b&gt;&amp;\\|\\`x\\`\\[a\\](b)"
    assert "\n" not in in_markdown("a\nb")
    assert in_markdown("icrl-long, ICRL (ours)") == "icrl-long, ICRL (ours)"


def test_a_label_breaks_no_table():
    from icrl.report.table import markdown_table

    text = markdown_table([Group(task="lap-grid", label=f"<img src=x>|{ESCAPE}", runs=())], {})
    assert "<img" not in text
    assert "\x1b" not in text
    assert {line.replace("\\|", "").count("|") for line in text.strip().splitlines()} == {14}


def small_world(name):
    """A constraint over a feature of that name, its task, and a few pairs."""
    names = (name, "other")
    features = Features(
        names=names,
        columns=(0, 1),
        lower=(-5.0, -5.0),
        upper=(5.0, 5.0),
        num_observations=2,
        num_actions=1,
        discrete=False,
    )
    layer = Layer(np.array([[-9.0], [0.0]], np.float32), np.array([2.0], np.float32))
    constraint = LearnedConstraint(features=features, params=(layer,))
    rng = np.random.default_rng(0)
    pairs = Trajectories(
        observations=rng.normal(size=(3, 20, 2)).astype(np.float32),
        actions=rng.uniform(-1, 1, (3, 20, 1)).astype(np.float32),
        rewards=np.zeros((3, 20)),
        lengths=np.full(3, 20),
    )
    import gymnasium as gym

    task = Task(
        name=f"task {name}",
        make_env=lambda num_envs: None,
        observation_space=gym.spaces.Box(-5, 5, (2,)),
        action_space=gym.spaces.Box(-1, 1, (1,)),
        observation_names=names,
        action_names=("push",),
        horizon=20,
    )
    return constraint, Scenario(task=task), pairs


@pytest.mark.parametrize("name", NASTY)
def test_pictures_take_any_name(tmp_path, name):
    constraint, scenario, pairs = small_world(name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # not every letter is in every font
        draw_constraint(scenario, constraint, pairs, pairs, tmp_path / "constraint.png")
        draw_reading(read_constraint(constraint, pairs, None), name, tmp_path / "explain.png")
    for path in tmp_path.iterdir():
        assert path.read_bytes()[:4] == b"\x89PNG"


def test_a_figure_shows_a_dollar_as_a_dollar(tmp_path):
    with blank_figure((2, 2)) as figure:
        axes = figure.subplots()
        axes.set_xlabel(r"$\frac{")
        save_figure(figure, tmp_path / "a.svg", dpi=50)
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_a_run_may_be_put_where_markup_would_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["learn", "lap-grid", "--out", "[/b]", "--steps", "912", *TINY_FLAGS])
    said = capsys.readouterr().out
    assert "Everything is in [/b]" in said
    assert "Look at [/b]/constraint.png" in said


def test_the_display_shows_its_title_as_it_is():
    file = io.StringIO()
    display = LiveDisplay("icrl on [/b]", 10, Console(file=file, force_terminal=True, width=100))
    with display:
        pass
    assert "icrl on [/b]" in file.getvalue()


def test_columns_of_others_are_letters_in_the_report_on_demonstrations(tmp_path):
    header = f"episode,obs[{ESCAPE}],obs[[/b]],action_0"
    rows = [
        f"{episode},{0.1 * step},{step},{0.3 * step}" for episode in range(2) for step in range(5)
    ]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]) + "\n")
    file = io.StringIO()
    console = Console(file=file, width=200)
    console.print(render_report(describe(load_demos(tmp_path / "a.csv"), None)))
    assert "\x1b" not in file.getvalue()
    assert "[/b]" in file.getvalue()
    assert "\\x1b[2J" in file.getvalue()


def test_an_error_carries_no_escapes_to_the_terminal(capsys):
    with pytest.raises(SystemExit):
        main(["demos", "check", f"{ESCAPE}.npz"])
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\\x1b[2J" in said


def test_a_name_in_a_command_is_one_word_of_it():
    assert quoted("runs/x") == "runs/x"
    assert shlex.split(f"icrl render {quoted('a b; <c>')}") == ["icrl", "render", "a b; <c>"]
