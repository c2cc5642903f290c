"""Judges and pairs that no run could use are refused before anything is paid."""

import json
import os

import pytest

from judgepanel.cli import main
from tests.hostile.collecting import judge, prepared
from tests.hostile.hostile_endpoint import DIGITS


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("label", "maybe", "column 'label': not a label; unknown: 'maybe' (1)"),
        ("group_id", "", "column 'group_id': the group is empty"),
        ("feat_x", "inf", "column 'feat_x': an infinite number"),
    ],
)
def test_what_votes_would_be_refused_for_is_refused_before_anything_is_paid(
    tmp_path, here, capsys, column, value, sentence
):
    run = prepared(tmp_path, judge(here.url, "fine"))
    pairs = {"id": "q", "prompt": "p", "output_1": "x", "output_2": "y"}
    rows = [pairs | {column: "1"}, pairs | {"id": "r", column: value}]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(run) == 2
    assert f"pairs.jsonl, row 2, {sentence}" in capsys.readouterr().err
    assert here.requests == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"name": "a\0b"}, "has a name that a file of votes would not give back"),
        ({"name": " x"}, "has a name that a file of votes would not give back"),
        ({"name": "'=x"}, "has a name that a file of votes would not give back"),
        ({"name": "x" * 1000}, "has a name that a file of votes would not give back"),
        ({"model": "m\0"}, "has a control character in model"),
        ({"prompt": "../prompt.txt"}, "this prompt is not beside the file (found 'prompt.txt')"),
        ({"prompt": "/etc/passwd"}, "this prompt is not beside the file (found 'passwd')"),
        ({"prompt": "a\0b"}, "has a control character in prompt"),
        ({"prompt": "pipe"}, "this prompt is no file (found 'pipe')"),
        ({"prompt": "large"}, "this prompt is too long (found 'large')"),
        ({"base_url": "http://user:sk-1@h/v1"}, "has an address with a user, a query or a"),
        ({"base_url": "http://h/v1?key=sk-1"}, "has an address with a user, a query or a"),
        ({"base_url": "http://h/v1#sk-1"}, "has an address with a user, a query or a"),
        ({"base_url": "http:///v1"}, "has no address"),
        ({"base_url": "http://[::"}, "has no address"),
        ({"base_url": "http://h:99999/v1"}, "has no address"),
        ({"base_url": "http://h/\r\nx: y"}, "has no address"),
        ({"proxy": "socks5://h"}, "has a proxy without an address"),
        ({"proxy": "http://user:sk-1@h"}, "has an address with a user, a query or a"),
    ],
)
def test_hostile_judges_are_refused_in_one_sentence(tmp_path, here, capsys, settings, sentence):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * 1_000_001)
    assert main(prepared(tmp_path, judge(here.url, "fine", **settings))) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line
    assert "sk-1" not in line
    assert here.requests == []


@pytest.mark.parametrize(
    "text", [f"seed = {DIGITS * 20}", f"seed = 0x{'f' * 9000}", "judge = " + "[" * 100_000]
)
def test_a_file_of_judges_that_no_parser_takes_is_refused(tmp_path, here, capsys, text):
    assert main(prepared(tmp_path, text)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("judgepanel: judges.toml: ")
