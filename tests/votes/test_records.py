"""JSON documents with several lists: the one that holds the votes is named by its path."""

import gzip
import json

import pytest

import judgepanel as jp
from judgepanel.intake.answer import Ask
from judgepanel.intake.process import read_apart
from judgepanel.votes import InputError, choices, formats, load_votes
from judgepanel.words.sentences import column_options

ROWS = [{"item_id": f"q{n}", "label": n % 2, "ann": n // 2 % 2, "bob": 1} for n in range(8)]
SEVERAL = {"run": {"steps": [{"name": "x"}]}, "results": {"items": ROWS, "a.b": ROWS[:4]}}
DATA = json.dumps(SEVERAL, indent=1).encode()


def test_several_lists_are_refused_with_their_paths():
    with pytest.raises(InputError) as refusal:
        load_votes(DATA, name="v.json")
    assert str(refusal.value) == (
        "v.json: several lists of records: 'run.steps', 'results.items', 'results.a.b'; allowed: "
        "one list of votes; name it with --records, or on Start under List of records."
    )
    assert refusal.value.choices == ("run.steps", "results.items", "results.a.b")


@pytest.mark.parametrize("name", ["v.json", "v.json.gz", "v", "v.jsonl"])
def test_the_named_list_is_read_whatever_the_name_of_the_file(name):
    data = gzip.compress(DATA) if name.endswith("gz") else DATA
    loaded = load_votes(data, name=name, records="results.items")
    assert loaded.votes == load_votes(json.dumps(ROWS).encode(), name="v.json").votes
    assert load_votes(data, name=name, records="results.a.b").votes.n_items == 4


def test_the_path_is_kept_by_the_command_and_by_a_file_of_roles(tmp_path):
    loaded = load_votes(DATA, name="v.json", records="results.items")
    options = column_options(loaded)
    assert options[options.index("--records") + 1] == "results.items"
    roles, votes = tmp_path / "roles.toml", tmp_path / "v.json"
    roles.write_text(choices.roles_text(loaded))
    votes.write_bytes(DATA)
    assert choices.with_roles(roles, {})["records"] == "results.items"
    assert load_votes(votes, **choices.with_roles(roles, {})).votes == loaded.votes
    with pytest.raises(InputError, match="no such list of records"):
        jp.load(votes, roles=roles, records="results")


@pytest.mark.parametrize(
    ("data", "name", "path", "sentence"),
    [
        (DATA, "v.json", "results", "there is no such list of records .found 'results'.*'run.st"),
        (DATA, "v.json", "", "there is no such list"),
        (json.dumps(ROWS).encode(), "v.json", "items", "no such list.*no object of this"),
        (b"item_id,label,ann\nq1,1,1\n", "v.csv", "items", "not one JSON document"),
        (b'{"x": [{"y": 1}]}\n{"x": []}', "v.jsonl", "x", "not one JSON document"),
        (b'{"x": {"y": []}}', "v.json", "x.y", "no such list.*no object of this"),
    ],
    ids=["not a list", "no path", "a list itself", "CSV", "JSON Lines", "an empty list"],
)
def test_a_path_to_no_list_is_refused_with_what_there_is(data, name, path, sentence):
    with pytest.raises(InputError, match=sentence):
        load_votes(data, name=name, records=path)


def test_a_reading_process_takes_the_path_and_answers_with_the_lists():
    ask = Ask("v.json", len(DATA), choices=choices.Choices(records="results.items"))
    assert read_apart(ask, DATA).preview.n_rows == len(ROWS)
    answer = read_apart(Ask("v.json", len(DATA)), DATA)
    assert answer.refusal.choices == ("run.steps", "results.items", "results.a.b")


@pytest.mark.parametrize("name", ["v.json", "v.jsonl"])
def test_a_judge_keeps_its_column_in_records_where_others_are_absent(name):
    records = [
        {"item_id": "q1", "label": 1, "judge_a": {"verdict": 1}, "judge_b": {"verdict": 0}},
        {"item_id": "q2", "label": 0, "judge_b": {"verdict": 1}},
        {"item_id": "q3", "label": 0, "judge_a": {"verdict": 0}, "judge_b": {"verdict": 0}},
    ]
    text = json.dumps(records) if name == "v.json" else "\n".join(map(json.dumps, records))
    table = formats.read_table(text.encode(), name)
    assert table.frame["judge_a.verdict"].tolist() == ["1", "", "0"]
    assert table.frame["judge_b.verdict"].tolist() == ["0", "1", "0"]


def test_an_item_keeps_its_id_and_label_beside_those_inside_it():
    votes = [{"id": "v1", "judge": "a", "verdict": 1}, {"id": "v2", "judge": "b", "verdict": 0}]
    records = [
        {"id": "q1", "label": 1, "meta": {"label": "easy"}, "votes": votes},
        {"id": "q2", "meta": {"label": "hard"}, "votes": votes},
    ]
    frame = formats.read_table(json.dumps(records).encode(), "v.json").frame
    assert frame["id"].tolist() == ["q1", "q1", "q2", "q2"]
    assert frame["votes.id"].tolist() == ["v1", "v2"] * 2
    assert frame["label"].tolist() == ["1", "1", "", ""]
    assert frame["meta.label"].tolist() == ["easy", "easy", "hard", "hard"]


def test_two_keys_of_one_column_are_refused():
    records = [{"item_id": "q1", "a.b": 1, "b": 0, "a": {"b": 0}}]
    with pytest.raises(InputError, match="two keys of record 1 lead to the same column"):
        formats.read_table(json.dumps(records).encode(), "v.json")


@pytest.mark.parametrize(
    ("name", "end"), [("v.json", ",\n"), ("v.jsonl", "\n"), ("v.jsonl", "\n\n")]
)
def test_a_refusal_names_the_line_or_record_of_the_file_not_of_what_is_unfolded(name, end):
    verdicts = [{"judge": judge, "verdict": 1} for judge in "abc"]
    records = [{"item_id": f"q{n}", "label": n % 2, "votes": verdicts} for n in range(3)]
    records[2]["votes"] = [*verdicts[:2], {"judge": "c", "verdict": "maybe"}]
    text = end.join(map(json.dumps, records))
    with pytest.raises(InputError) as refusal:
        load_votes((f"[{text}]" if name == "v.json" else text).encode(), name=name)
    assert (refusal.value.row, refusal.value.value) == (5 if end == "\n\n" else 3, "maybe")
