"""Wrong pairs, judges and prompts are refused in one sentence, before any call."""

import json

import pytest

from judgepanel.collect import Journal, read_judges, read_pairs
from judgepanel.votes import InputError

GOOD = '[[judge]]\nname = "x"\nmodel = "m"\nbase_url = "http://localhost:1/v1"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "judges.toml: names no judge; allowed: a [[judge]] table for each judge."),
        ("judge = 3", "judges.toml: names no judge"),
        ("[[judge", "judges.toml: is not TOML"),
        (GOOD + GOOD, "judges.toml: this judge is given twice (found 'x')"),
        ("sed = 1\n" + GOOD, "judges.toml: there is no such setting (found 'sed')"),
        ('seed = "1"\n' + GOOD, "judges.toml: seed or both_orders has another type"),
        (GOOD + "api_key = 'sk-1'", "judges.toml: judge 'x' has a key in the file"),
        (GOOD + "colour = 1", "judges.toml: judge 'x' has an unknown setting (found 'colour')"),
        (GOOD + "max_tokens = 'many'", "judges.toml: judge 'x' has another type for max_tokens"),
        (GOOD + "max_tokens = true", "judges.toml: judge 'x' has another type for max_tokens"),
        (GOOD + "max_tokens = 0", "judges.toml: judge 'x' has max_tokens out of range (found '0')"),
        (GOOD + "temperature = nan", "judges.toml: judge 'x' has temperature out of range"),
        (GOOD + "prompt = 'none.txt'", "judges.toml: there is no such prompt (found 'none.txt')"),
        (GOOD + "prompt = 'bare.txt'", "bare.txt: the prompt has no place for response_b"),
        ('[[judge]]\nname = "x"\nmodel = "m"', "judges.toml: judge 'x' has no base_url"),
        (GOOD.replace("http:", "ftp:"), "judges.toml: judge 'x' has no address"),
    ],
)
def test_wrong_judges_are_refused(tmp_path, text, sentence):
    (tmp_path / "bare.txt").write_text("{instruction} {response_a}")
    path = tmp_path / "judges.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_judges(path)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"id": "q", "output_1": "x", "output_2": "y"}, "there is no column for the instruction"),
        ({"id": "q", "prompt": "p", "output_2": "y"}, "there is no column for the first response"),
        ({"prompt": "p", "output_1": "x", "output_2": "y"}, "there is no column for the item's id"),
        ({"id": "q", "prompt": "p", "output_1": " ", "output_2": "y"}, "the response is empty"),
        ({"id": "", "prompt": "p", "output_1": "x", "output_2": "y"}, "the item id is empty"),
    ],
)
def test_wrong_pairs_are_refused(row, sentence):
    with pytest.raises(InputError) as caught:
        read_pairs(json.dumps(row).encode(), "pairs.jsonl")
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("pairs.jsonl")


def test_an_item_given_twice_is_refused():
    line = json.dumps({"id": "q", "prompt": "p", "output_1": "x", "output_2": "y"})
    with pytest.raises(InputError, match="this item id is already in row 1"):
        read_pairs(f"{line}\n{line}".encode(), "pairs.jsonl")


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "outputs.jsonl").write_text('{"not": "ours"}\n')
    with (
        Journal(tmp_path) as journal,
        pytest.raises(InputError, match="row 1: not a finished call"),
    ):
        list(journal.entries())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written to"), Journal(tmp_path / "file"):
        pass
