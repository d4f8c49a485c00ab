"""Tables as text: Markdown for people, CSV in which nothing is a formula."""

import pytest

from icrl.report.cells import Table, fenced


def test_numbers_stand_to_the_right():
    table = Table(["method", "return"], [["ours", "60.0"]])
    assert table.markdown() == "| method | return |\n| --- | ---: |\n| ours | 60.0 |\n"


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("1,234,567", "1234567"),
        ("-1,234.5", "-1234.5"),
        ("-0.25", "-0.25"),
        ("1e-05", "1e-05"),
        ("-", "-"),  # nothing to say
        ("=1+1", "'=1+1"),
        ("@name", "'@name"),
        ("+cmd", "'+cmd"),
        ("a, b", '"a, b"'),
    ],
)
def test_a_cell_of_csv_is_a_number_or_text_never_a_formula(cell, written):
    assert Table(["x"], [[cell]]).csv() == f"x\n{written}\n"


def test_nothing_in_a_block_of_code_can_end_it():
    assert fenced(["icrl learn x"]) == "```\nicrl learn x\n```"
    assert fenced(["echo ```` "]).splitlines()[0] == "`" * 5
