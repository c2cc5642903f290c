"""Role files: a written file reads the same votes again, and an error in one is reported."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import InputError, load_votes
from judgepanel.votes.cells import MEANT
from judgepanel.votes.choices import Choices, read_roles, roles_text, with_roles

WIDE = "qid,gold,topic,note,prompt_id,a,b,majority\n" + "".join(
    f"q{i},{i % 2},{'xy'[i % 3 > 0]},text {i},p{i // 2},{i % 2},1,{i % 2}\n" for i in range(9)
)
LONG = "item,judge,vote,label,when\n" + "".join(
    f"q{i},{name},{i % 2},{i % 2},2024-01-01\n" for i in range(6) for name in ("a", "b")
)


def again(loaded, data, folder, **labels):
    """The votes of the same file, read with the roles as they were."""
    path = folder / "roles.toml"
    path.write_text(roles_text(loaded), encoding="utf-8")
    return load_votes(data.encode(), name="v.csv", **with_roles(path, {}), **labels)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (WIDE, {"id_column": "qid"}),
        (WIDE, {"id_column": "qid", "judge_columns": ["b", "a"], "task": "pointwise"}),
        (WIDE,
            {"id_column": "qid", "features": ["a"], "ignore": ["topic"], "label_column": "gold"}),
        (WIDE, {"ignore": ["qid"]}),
        (LONG, {}),
        (LONG, {"features": ["when"], "id_column": "item"}),
    ],
)  # fmt: skip
def test_the_roles_of_a_file_read_the_same_votes_again(data, options, tmp_path):
    loaded = load_votes(data.encode(), name="v.csv", **options)
    other = again(loaded, data, tmp_path)
    assert (other.votes.sha256, other.roles.used) == (loaded.votes.sha256, loaded.roles.used)


def test_with_labels_from_another_file_their_column_is_the_label(tmp_path):
    votes = "\n".join(",".join(line.split(",")[:3]) for line in LONG.splitlines())
    labels = b"item,truth\n" + b"".join(b"q%d,%d\n" % (i, i % 2) for i in range(6))
    loaded = load_votes(votes.encode(), name="v.csv", labels=labels)
    assert 'label = "truth"' in roles_text(loaded)
    assert again(loaded, votes, tmp_path, labels=labels).votes.sha256 == loaded.votes.sha256


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_name_of_a_column_comes_back(tmp_path_factory, name):
    judges = (f"x{name}x", f"y{name}y")
    quoted = ",".join('"' + judge.replace('"', '""') + '"' for judge in judges)
    data = f"item_id,label,{quoted}\na,1,1,0\nb,0,0,0\nc,1,0,1\nd,0,0,1\n"
    loaded = load_votes(data.encode(), name="v.csv")
    path = tmp_path_factory.getbasetemp() / "any-roles.toml"
    path.write_bytes(roles_text(loaded).encode())
    assert read_roles(path)["judge_columns"] == loaded.roles.judge_columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label = gold", "r.toml: not a TOML file: Invalid value (at line 1, column 9); allowed: "),
        ("x = " + "[" * 100_000, "r.toml: not a TOML file: "),
        ('lable = "x"',
            "r.toml: there is no such key (found 'lable'); allowed: task, records, item_id"),
        ("label = 3", "r.toml: label is not a text (found '3'); allowed: label = \"...\""),
        ('judges = "a"', "r.toml: judges is not a list of column names (found 'a'); allowed: "),
        ("judges = [1]", "r.toml: judges is not a list of column names"),
        ('task = "x"', "r.toml: there is no such task (found 'x'); allowed: pairwise, pointwise"),
        ("#" * (1 << 20) + "#", "r.toml: too large; allowed: at most 1 MiB"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_one_sentence(text, message, tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_roles(path)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^gone\.toml: there is no such file; check its name"):
        read_roles(tmp_path / "gone.toml")


def test_what_is_given_beside_the_file_comes_first(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('label = "gold"\nignore = ["a"]\n')
    given = {"label_column": None, "ignore": ["b"], "id_column": None}
    assert with_roles(path, given) == {"label_column": "gold", "ignore": ["b"], "id_column": None}


@pytest.mark.parametrize("meant", [5, [1], {"a": 1}, "maybe", 1.5])
def test_a_word_has_one_of_four_meanings(meant):
    with pytest.raises(InputError, match="the meaning of a word cannot be read"):
        Choices.of(words={"good": meant})


def test_meanings_are_read_whatever_their_case_and_words_may_have_commas():
    words = {"so, so": " Tie", "good": 1, "bad": "0", "none": None}
    meanings = {"so, so": MEANT["tie"], "good": 1, "bad": 0, "none": -1}
    assert dict(Choices.of(words=words).words) == meanings


def test_labels_that_are_cut_at_zero_are_cut_there_again(tmp_path):
    rows = "".join(f"q{i},{i % 5 - 2},{i % 2},{i % 3 % 2}\n" for i in range(20))
    text = f"item_id,label,a,b\n{rows}"
    loaded = load_votes(text.encode(), name="v.csv", label_threshold=0)
    assert "label_threshold = 0" in roles_text(loaded)
    assert again(loaded, text, tmp_path).votes.sha256 == loaded.votes.sha256
