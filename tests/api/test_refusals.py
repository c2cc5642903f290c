"""The Python interface refuses what the command line refuses, with the same one-sentence error."""

import pandas as pd
import pytest

import judgepanel as jp
from judgepanel.cli import main
from judgepanel.votes.delimited import FRAME
from judgepanel.votes.errors import SAMPLE_FOLDER, in_terminal

SAMPLE = SAMPLE_FOLDER / "clean_pairwise_votes.csv"


@pytest.fixture(scope="module")
def votes():
    return jp.load(SAMPLE)


def refused_by_the_command_line(capsys, *words):
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("judgepanel: ")


def refusal(call, *arguments, **options):
    with pytest.raises(jp.InputError) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"id": ["q1", "q2"], "a": [1, 0], "b": [0, 1]}, "there is no label column"),
        ({"label": [None, None], "a": [1, 0]}, "all labels are missing"),
        ({"label": [1, 2], "a": [1, 0]}, "labels on a scale: 1 (1), 2 (1) (found '2')"),
        ({"label": ["hm", "ah"], "a": [1, 0]}, "not a label; unknown: 'hm' (1), 'ah' (1)"),
        ({"label": [1, 0], "a": [1, 7]}, "a column of numbers from 1 to 7 (found '7')"),
        ({"id": ["q1", "q1"], "label": [1, 0], "a": [1, 0]}, "this item id is already in row"),
        ({"label": [1, 0]}, "there are no judge columns"),
    ],
)
def test_a_frame_is_refused_as_the_file_of_it(capsys, tmp_path, columns, says):
    frame = pd.DataFrame(columns)
    path = tmp_path / "votes.parquet"
    frame.to_parquet(path, index=False)
    sentence = refusal(jp.from_frame, frame)
    assert says in sentence
    line = refused_by_the_command_line(capsys, "inspect", path)
    assert in_terminal(sentence) == line.replace(path.name, FRAME)


def test_a_column_given_twice_is_refused_as_in_a_file(capsys, tmp_path):
    frame = pd.DataFrame([[1, 1, 0], [0, 0, 1]], columns=["label", "a", "a"])
    path = tmp_path / "votes.csv"
    path.write_text("label,a,a\n1,1,0\n0,0,1\n", encoding="utf-8")
    line = refused_by_the_command_line(capsys, "inspect", path)
    assert refusal(jp.from_frame, frame) == line.replace("votes.csv, row 1", FRAME)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame({"label": [], "a": []}), "columns but no rows"),
        (pd.DataFrame({"label": [1, 0], "a": [[1], [0]]}), "nested or binary values"),
        (pd.DataFrame({"label": [1, 0], "": [1, 0]}), "column 2 has no name"),
    ],
)
def test_a_frame_that_is_no_table_of_votes_is_refused(frame, says):
    sentence = refusal(jp.from_frame, frame)
    assert sentence.startswith(f"{FRAME}: ") or sentence.startswith(f"{FRAME}, ")
    assert says in sentence


def test_a_feature_that_is_no_column_is_refused():
    frame = pd.DataFrame({"label": [1, 0], "a": [1, 0]})
    sentence = refusal(jp.from_frame, frame, features=["length"])
    assert "'length': there is no such column; allowed: label, a" in sentence


def test_an_unknown_study_is_refused_with_the_known_ones(capsys, votes):
    sentence = refusal(jp.study, "label_budgets", votes)
    assert sentence.startswith("unknown study (found 'label_budgets'); allowed: panel_curve, ")
    assert refused_by_the_command_line(capsys, "study", "label_budgets", SAMPLE) == sentence


@pytest.mark.parametrize(
    ("words", "call", "options"),
    [
        (("study", "label_budget"), ("label_budget",), {"foo_bar": 3}),
        (("study", "label_budget"), ("label_budget",), {"budgets": "many"}),
        (("study", "label_budget"), ("label_budget",), {"budgets": 2.5}),
        (("study", "reliability"), ("reliability",), {"splits": 1}),
        (("study", "reliability"), ("reliability",), {"fraction": 2.0}),
        (("study", "reliability"), ("reliability",), {"jobs": 0}),
        (("study", "method_grid"), ("method_grid",), {"aggregators": "best"}),
        (("study", "value"), ("value",), {"calibrator": 1}),
    ],
)
def test_an_option_is_refused_with_the_same_sentence(capsys, votes, words, call, options):
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    line = refused_by_the_command_line(capsys, *words, SAMPLE, *given)
    assert refusal(jp.study, *call, votes, **options) == line


def test_the_commands_of_their_own_say_their_name(capsys, votes):
    line = refused_by_the_command_line(capsys, "recommend", SAMPLE, "--k", "3")
    assert refusal(jp.recommend, votes, k=3) == line
    line = refused_by_the_command_line(capsys, "curve", SAMPLE, "--budgets", "20")
    assert refusal(jp.curve, votes, budgets=20) == line


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"splits": "many"}, "--splits takes a whole number (found 'many')"),
        ({"splits": 2.5}, "--splits takes a whole number (found '2.5')"),
        ({"seed": None}, "--seed takes a whole number (found 'None')"),
        ({"orientation": "upside down"}, "unknown orientation (found 'upside down'); allowed: "),
        ({"judges": ["nobody"]}, "nobody"),
        ({"group_duplicates": 3}, "--group-duplicates is a yes or no (found '3')"),
    ],
)
def test_a_setting_that_is_none_is_refused(votes, options, says):
    assert says in refusal(jp.study, "judges", votes, **options)


def test_what_is_not_votes_is_refused_with_how_to_get_some():
    assert refusal(jp.curve, pd.DataFrame({"label": [1]})) == (
        "these are not votes (found 'DataFrame'); "
        "allowed: what jp.load(path) or jp.from_frame(frame) returns."
    )


def test_votes_without_labels_are_refused_by_every_study():
    frame = pd.DataFrame({"a": [1, 0] * 10, "b": [1, 1, 0, 0] * 5})
    unlabelled = jp.from_frame(frame, need_labels=False)
    for call in (jp.inspect, jp.curve, jp.recommend):
        assert "all labels are missing" in refusal(call, unlabelled)


def test_a_panel_of_other_judges_is_refused(tmp_path):
    (tmp_path / "panel.json").write_text("{}", encoding="utf-8")
    assert "not a panel file" in refusal(jp.load_panel, tmp_path / "panel.json")
    assert "there is no such file" in refusal(jp.load_panel, tmp_path / "nowhere.json")
