"""The time to read is proportional to the length of what is read, whatever it contains.

At 5 MB a quadratic reader takes minutes to hours, so the budget of CPU time can be several times
what these readers take.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from judgepanel.decision.panel_file import load_panel
from judgepanel.votes import InputError, cells, limits, load, load_votes, outputs
from tests.hostile import attacks

LARGEST = 5 * attacks.MIB
BUDGET_SECONDS = 60.0

TEXTS = {
    "winwin": "win", "better": "better", "better and words": "better one ",
    "verdicts": "verdict is ", "judged": "judg", "ties": " tie", "first person": "\ni choose ",
    "open quotes": "“", "quotation marks": '"', "apostrophes": "'a", "brackets": "[[",
    "bracket and blanks": "[[a ", "bold": "** ", "fences": "```\n", "block quotes": "> \n",
    "open reasoning": "<think>", "closed reasoning": "</think>", "tokens": "<|a",
    "fields": '{"answer":"answer":', "line ends": "\n x", "ligatures": "ﷺ",
}  # fmt: skip

NUMBERS: dict[str, Callable[[str], str]] = {
    "an integer": "{}x".format, "a fraction": "1.{}x".format,
    "a fraction without a whole": ".{}x".format, "an exponent": "1e{}x".format,
    "all of them": "{0}.{0}e{0}x".format,
}  # fmt: skip


def is_read_in_time(read):
    began = time.process_time()
    with suppress(InputError):
        read()
    assert time.process_time() - began < BUDGET_SECONDS


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_verdict_is_read_in_linear_time(text):
    output = text * (LARGEST // len(text.encode()))
    is_read_in_time(lambda: outputs.read_verdict(output))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.csv", attacks.newlines_in_the_header),
        ("v.csv", attacks.open_quote),
        ("v.csv", lambda size: b"\n" * size + b"a,b\n1,1\n"),
        ("v.csv", lambda size: b'a,b\n"' + b'""' * (size // 2) + b'",1\n'),
        ("v.csv", lambda size: b'a,b\n"' + b"\r" * size + b'",1\n'),
        ("v.jsonl", attacks.keys_repeated),
        ("v.jsonl", attacks.keys_new_in_each_line),
        ("v.jsonl", lambda size: attacks.nested(size // 2)),
        ("v.jsonl", lambda size: b"\n" * size + b'{"a":1}\n'),
        ("v.jsonl", lambda size: b'{"a":"' + b"\\" * size + b'"}\n'),
        ("v.jsonl", lambda size: b'{"a":' + b"1" * size + b"}\n"),
        ("v.csv.gz", attacks.empty_members),
        ("v.zip", lambda size: attacks.many_members(size // 200)),
        ("results.json", lambda size: b'{"results":[' + b'"' + b'\\"' * (size // 2) + b'"]}'),
    ],
)
def test_a_file_is_read_in_linear_time(name, content, monkeypatch):
    # So that it is the reader which has to bear it, and not a limit that saves it.
    for limit in ("MAX_CELL", "MAX_NAME", "MAX_VALUES", "MAX_DEPTH"):
        monkeypatch.setattr(limits, limit, 10**9)

    data = content(LARGEST)
    is_read_in_time(lambda: load.open_table(data, name))


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_what_is_nearly_a_number_is_told_from_one_in_linear_time(text):
    word = text("1" * LARGEST)
    assert not cells.is_number(word)
    is_read_in_time(lambda: cells.is_number(word))


def votes_with(column, word):
    """Four items as CSV, the last of them with this word in this column."""
    rows = [{"item_id": f"q{k}", "label": str(k % 2), "j1": "1", "feat_x": "1"} for k in range(4)]
    rows[-1][column] = word
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]).encode()


@pytest.mark.parametrize("column", ["label", "j1", "feat_x"])
def test_a_cell_that_is_nearly_a_number_is_read_or_refused_in_linear_time(column, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CELL", 10**9)
    if column == "feat_x":
        features = load_votes(votes_with(column, "11x"), name="v.csv").votes.features
        assert features["x"].tolist() == ["1", "1", "1", "11x"]
    else:
        with pytest.raises(InputError, match=f"row 5, column '{column}'"):
            load_votes(votes_with(column, "11x"), name="v.csv")
    data = votes_with(column, "1" * LARGEST + "x")
    is_read_in_time(lambda: load_votes(data, name="v.csv"))


def test_a_panel_file_is_read_in_linear_time():
    data = attacks.keys_repeated(LARGEST)
    is_read_in_time(lambda: load_panel(data))


def test_the_first_key_that_is_given_twice_is_named():
    with pytest.raises(InputError, match="row 1, column 'b': this key is given twice"):
        load.open_table(b'{"a":1,"b":1,"c":1,"c":1,"b":1}\n', "v.jsonl")
    with pytest.raises(InputError, match=r"the key 'b' is given twice"):
        load_panel('{"a":1,"b":1,"c":1,"c":1,"b":1}')
