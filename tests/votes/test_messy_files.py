"""Files as people have them: read as meant, or refused with what to do."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import InputError, load_votes
from judgepanel.words.sentences import column_options

LABELS = "1010110010"
VOTES = ("1010110110", "1110100010", "0010110011")
JUDGES = ("ann", "bob", "cid")


def write(cells, separator=","):
    rows = [list(cells), *zip(*cells.values(), strict=True)]
    return "\n".join(separator.join(row) for row in rows) + "\n"


def columns(words=("0", "1"), **more):
    """The votes above in other words, with more columns between the label and the judges."""
    rename = {"0": words[0], "1": words[1]}
    named = dict(zip(JUDGES, VOTES, strict=True))
    return {
        "item_id": [f"q{n}" for n in range(10)],
        "label": [rename[bit] for bit in LABELS],
        **more,
        **{judge: [rename[bit] for bit in bits] for judge, bits in named.items()},
    }


def read(text, name="v.csv", **given):
    data = text.encode() if isinstance(text, str) else text
    return load_votes(data, name=name, **given)


def same_votes(loaded):
    votes = loaded.votes
    expected = np.array([[int(bit) for bit in bits] for bits in VOTES], dtype=np.int8).T
    return (
        votes.judges == JUDGES
        and np.array_equal(votes.votes, expected)
        and votes.labels.tolist() == [int(bit) for bit in LABELS]
    )


MAJORITY = [str(int(sum(map(int, bits)) > 1)) for bits in zip(*VOTES, strict=True)]
MODELS = {"model_a": ["gpt", "llama"] * 5, "model_b": ["llama", "gpt"] * 5}
WORDS = {
    "yes/no": ("No", "Yes"), "correct/incorrect": ("incorrect", "correct"),
    "pass/fail": ("FAIL", "PASS"), "passed/failed": ("failed", "passed"),
    "true/false": ("False", "True"), "A/B": ("B", "A"), "[[A]]/[[B]]": ("[[B]]", "[[A]]"),
    "model_a/model_b": ("model_b", "model_a"), "1/2": ("2", "1"), "1.0/2.0": ("2.0", "1.0"),
    "decimals": ("0.0", "1.0"),
}  # fmt: skip
DATES = [f"2024-05-{n + 1:02d}" for n in range(10)]
TEXTS = [f"Which of the two answers to question {n} is the better and why" for n in range(10)]
MORE = {
    "a timestamp": {"timestamp": [f"{date} 10:00:00" for date in DATES]},
    "dates of another name": {"when": DATES},
    "a prompt": {"prompt": TEXTS},
    "texts of another name": {"what": TEXTS},
    "responses": {"response_a": TEXTS, "response_b": TEXTS[::-1]},
    "a difficulty": {"difficulty": [str(n) for n in range(10)]},
    "a difficulty in words": {"difficulty": ["easy", "hard"] * 5},
    "is_hard": {"is_hard": ["0", "1"] * 5},
    "a category": {"category": ["math", "code"] * 5},
    "a majority": {"majority_vote": MAJORITY},
    "a mean": {"mean": ["0.3", "0.7"] * 5},
    "a constant": {"version": ["v1"] * 10},
    "an index column": {"Unnamed: 0": [str(n) for n in range(10)]},
    "an annotator": {"annotator": ["eve", "dan"] * 5},
    "models": MODELS,
    "a feature": {"feat_x": [str(n) for n in range(10)]},
}


@pytest.mark.parametrize(("words", "more"), [*itertools.product(WORDS, [None, *MORE])])
def test_every_form_is_read_beside_every_other_column(words, more):
    assert same_votes(read(write(columns(WORDS[words], **({} if more is None else MORE[more])))))


TOGETHER = [
    pair for pair in itertools.combinations(MORE, 2) if not {*MORE[pair[0]]} & {*MORE[pair[1]]}
]


def test_any_two_other_columns_are_told_from_judges_together():
    for (one, other), words in zip(TOGETHER, itertools.cycle(WORDS), strict=False):
        cells = columns(WORDS[words], **MORE[one], **MORE[other])
        assert same_votes(read(write(cells), task="pairwise")), (one, other, words)


def test_names_of_models_are_verdicts_beside_the_columns_that_say_who_wrote():
    cells = columns(**MODELS)
    for name in ("label", *JUDGES):
        pairs = zip(cells[name], MODELS["model_a"], MODELS["model_b"], strict=True)
        cells[name] = [first if bit == "1" else second for bit, first, second in pairs]
    loaded = read(write(cells))
    assert same_votes(loaded)
    assert any(note.startswith("Names of models are read") for note in loaded.warnings)


@pytest.mark.parametrize("name", ["winner", "preference"])
def test_a_winner_is_the_label_of_a_wide_file_without_another(name):
    cells = columns(("model_b", "model_a"))
    loaded = read(write({name if key == "label" else key: cells[key] for key in cells}))
    assert same_votes(loaded)
    assert loaded.roles.label_column == name


def test_ties_and_words_without_a_verdict_are_missing_and_counted():
    cells = columns(("B", "A"))
    cells["ann"][:3] = ["unsure", "tie", "-"]
    loaded = read(write(cells))
    assert loaded.votes.votes[:3, 0].tolist() == [-1, -1, -1]
    assert any(note.startswith("2 cells say that there is no verdict") for note in loaded.warnings)


def test_rows_that_repeat_each_other_are_read_once():
    text = write(columns())
    loaded = read(text + "".join(line + "\n" for line in text.splitlines()[1:3]))
    assert same_votes(loaded)
    assert "2 rows repeat another row and are read once." in loaded.warnings


def test_an_annotator_beside_repeated_rows_leaves_a_file_wide():
    text = write(columns(("No", "Yes"), annotator=["eve", "dan"] * 5))
    assert same_votes(read(text + text.splitlines()[1] + "\n"))


def test_a_first_column_without_a_name_is_an_index():
    loaded = read(write({"": [str(n) for n in range(10)], **columns()}))
    assert same_votes(loaded)
    assert loaded.roles.columns[0].reason == "an index column"


@pytest.mark.parametrize(
    ("words", "form"), [(("No", "Yes"), "yes/no"), (("2", "1"), "1/2"), (("0", "1"), "0/1")]
)
def test_the_form_of_the_verdicts_is_known(words, form):
    assert read(write(columns(words))).forms == form


def test_an_index_column_does_not_tell_repeated_rows_apart():
    cells = columns(**{"Unnamed: 0": [str(n) for n in range(10)]})
    last = ",".join([column[0] if name != "Unnamed: 0" else "10" for name, column in cells.items()])
    assert same_votes(read(write(cells) + last + "\n"))


def test_a_note_names_what_was_left_out_and_why():
    notes = read(write(columns(**MORE["a timestamp"], **MORE["a majority"]))).warnings
    (note,) = [note for note in notes if note.startswith("Not read as judges")]
    assert "'timestamp' (dates or times)" in note
    assert "'majority_vote' (named as something computed from the judges)" in note
    assert "--judge-columns" in note


def test_a_judge_that_equals_the_majority_of_the_others_is_left_out():
    bits = np.random.default_rng(0).integers(0, 2, (400, 5))
    cells = {f"j{k}": [str(bit) for bit in bits[:, k]] for k in range(5)}
    cells["all"] = [str(int(row.sum() > 2)) for row in bits]
    text = write({"label": [str(n % 2) for n in range(400)], **cells})
    loaded = read(text)
    assert loaded.votes.judges == ("j0", "j1", "j2", "j3", "j4")
    roles = {role.column: role for role in loaded.roles.columns}
    assert roles["all"].role == "ignore"
    assert roles["all"].reason == "equal to the majority of the other judges"
    assert read(text, judge_columns=[*cells]).votes.judges == (*cells,)


def test_a_majority_is_told_from_a_judge_that_follows_it_at_first():
    """More rows than are looked at first, and the copy of a judge in those alone."""
    bits = np.random.default_rng(1).integers(0, 2, (6_000, 5)).astype(np.int8)
    most = (bits.sum(axis=1) > 2).astype(np.int8)
    at_first = np.where(np.arange(6_000) < 5_500, most, bits[:, 0])
    cells = {f"j{k}": bits[:, k].astype(str).tolist() for k in range(5)}
    label = (np.arange(6_000) % 2).astype(str).tolist()

    def judges(**more):
        added = {name: votes.astype(str).tolist() for name, votes in more.items()}
        return read(write({"label": label, **cells, **added})).votes.judges

    assert judges(all=most) == tuple(cells)
    assert judges(part=at_first) == (*cells, "part")


def test_columns_chosen_by_hand_have_their_roles_and_are_written_into_commands():
    cells = columns(odd=["x", "y"] * 5, level=["low", "high"] * 5)
    loaded = read(write(cells), ignore=["odd"], features=["level"])
    assert same_votes(loaded)
    options = column_options(loaded)
    pairs = list(zip(options[::2], options[1::2], strict=True))
    assert pairs[-2:] == [("--feature-column", "level"), ("--ignore", "odd")]
    loaded = read(write(cells), judge_columns=["bob", "ann"])
    assert loaded.votes.judges == ("bob", "ann")
    assert ("--judge-columns", "ann") in zip(*[iter(column_options(loaded))] * 2, strict=True)


def test_two_features_of_one_name_are_refused():
    cells = columns(feat_level=["x", "y"] * 5, level=["low", "high"] * 5)
    with pytest.raises(InputError, match="'level': this feature is called as 'feat_level' is"):
        read(write(cells), features=["level"])


@pytest.mark.parametrize(
    ("form", "task"),
    [("yes/no", "pointwise"), ("pass/fail", "pointwise"), ("A/B", "pairwise"), ("0/1", "pairwise")],
)
def test_words_of_good_and_bad_make_items_single_responses_unless_said(form, task):
    text = write(columns({**WORDS, "0/1": ("0", "1")}[form]))
    loaded = read(text)
    assert loaded.votes.task == task
    assert any("--task pairwise" in note for note in loaded.warnings) == (task == "pointwise")
    for said in ("pairwise", "pointwise"):
        assert read(text, task=said).votes.task == said


@pytest.mark.parametrize(
    ("header", "cells", "verdicts", "task"),
    [
        ("system", "{s}", ("0", "1"), "pointwise"),
        ("system", "{s}", ("A", "B"), "pairwise"),
        ("system", "{s}", ("1", "2"), "pairwise"),
        ("system_a,system_b", "{s},{t}", ("0", "1"), "pairwise"),
        ("topic", "{s}", ("0", "1"), "pairwise"),
    ],
)
def test_items_of_one_system_are_single_responses_or_votes_compare(header, cells, verdicts, task):
    rows = "".join(
        f"q{i},{verdicts[i % 2]},{cells.format(s='xy'[i % 3 > 0], t='yx'[i % 3 > 0])},"
        f"{verdicts[i // 2 % 2]},{verdicts[i % 2]}\n"
        for i in range(24)
    )
    loaded = load_votes(f"item_id,label,{header},a,b\n{rows}".encode(), name="v.csv")
    assert loaded.votes.task == task
    said = [note for note in loaded.warnings if "--task pairwise" in note]
    assert bool(said) == (task == "pointwise")


REFUSED = {
    "a half-binary column": (columns(x=["0", "1", "0.3"] + ["1"] * 7), {}, "--ignore"),
    "words that nobody knows": (columns(x=["up", "down"] * 5), {}, "--ignore"),
    "1 and 2 beside 0": (columns(x=["1", "2"] * 5), {}, "--ignore"),
    "1 and 2 of single responses": (columns(("2", "1")), {"task": "pointwise"}, "--label-column"),
    "better beside good": (columns(("B", "A"), x=["yes", "no"] * 5), {}, "--ignore"),
    "an unknown column to ignore": (columns(), {"ignore": ["z"]}, "--ignore"),
    "one column, two roles": (columns(), {"ignore": ["ann"], "features": ["ann"]}, "--ignore"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_be_a_guess_is_refused_with_a_remedy(case):
    cells, given, remedy = REFUSED[case]
    with pytest.raises(InputError) as caught:
        read(write(cells), **given)
    assert remedy in str(caught.value)


def test_numbers_on_a_scale_that_no_other_column_has_are_no_judge():
    loaded = read(write(columns(x=[str(n) for n in range(10)])))
    assert same_votes(loaded)
    assert any(
        "'x' (numbers from 0 to 9, a scale that no other" in note for note in loaded.warnings
    )


def test_two_columns_that_may_be_the_label_are_refused():
    cells = columns(("B", "A"))
    cells["winner"] = cells.pop("label")
    cells["preference"] = cells["winner"]
    with pytest.raises(InputError, match=r"there is no label column.*--label-column"):
        read(write(cells))


@settings(max_examples=30, deadline=None)
@given(
    order=st.permutations(["item_id", "label", "timestamp", *JUDGES]),
    form=st.sampled_from(sorted(WORDS)),
    separator=st.sampled_from(",;\t"),
)
def test_order_form_and_separator_do_not_change_the_matrix(order, form, separator):
    cells = columns(WORDS[form], **MORE["a timestamp"])
    votes = read(write({name: cells[name] for name in order}, separator), task="pairwise").votes
    assert votes.with_judges(JUDGES).sha256 == read(write(columns())).votes.sha256


@settings(max_examples=30, deadline=None)
@given(
    names=st.lists(st.text("abcäß _-.?🦜", min_size=1, max_size=9), min_size=5, max_size=5),
    order=st.permutations(range(5)),
    separator=st.sampled_from(",;\t"),
)
def test_roles_that_are_given_make_names_order_and_separator_of_no_matter(names, order, separator):
    cells = [*columns().values()]
    names = [f"x{n}{name}x" for n, name in enumerate(names)]
    text = write({names[n]: cells[n] for n in order}, separator)
    item, label, *judges = names
    roles = {"id_column": item, "label_column": label, "judge_columns": judges}
    votes = read(text, task="pairwise", **roles).votes.with_judges(judges)
    plain = read(write(columns())).votes
    assert np.array_equal(votes.votes, plain.votes)
    assert np.array_equal(votes.labels, plain.labels)
    assert votes.item_ids == plain.item_ids


def test_many_different_grades_with_decimal_commas_are_those_with_decimal_points():
    """Small ones are written 1,5e-05; as words they would be texts, and their judges be lost."""
    rng = np.random.default_rng(0)
    grades = {judge: rng.random(60) ** 12 for judge in JUDGES}
    cells = {"item_id": [f"q{n}" for n in range(60)], "label": [str(n % 2) for n in range(60)]}
    cells |= {judge: [repr(float(grade)) for grade in own] for judge, own in grades.items()}
    assert any("e-" in cell for cell in cells["ann"])
    commas = {name: [cell.replace(".", ",") for cell in own] for name, own in cells.items()}
    points = read(write(cells), thresholds=0.01)
    assert points.votes.judges == JUDGES
    assert read(write(commas, ";"), thresholds=0.01).votes.sha256 == points.votes.sha256


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Votes of March", "Votes of March"),
        (",,Votes of March,,", "Votes of March"),
        ('"Votes, as of March",,,,', "Votes, as of March"),
    ],
)
def test_a_title_above_the_header_is_left_out_and_named(title, shown):
    text = f"{title}\r\n\r\n" + write(columns()).replace("\n", "\r\n")
    loaded = read(text)
    assert same_votes(loaded)
    assert f"Row 1 is left out, a title above the header: '{shown}'." in loaded.warnings
    with pytest.raises(InputError, match=r"v\.csv, row 4, column 'ann'.*perhaps"):
        read(text.replace("q0,1,1,", "q0,1,perhaps,"))


@pytest.mark.parametrize(
    "start", ["Votes, as of March\n", "item_id,,,,\nq1,1,0,1,1\n", "Votes\n" * 20]
)
def test_what_may_be_a_header_is_not_taken_for_a_title(start):
    with pytest.raises(InputError, match=r"a title|has no name"):
        read(f"{start}{write(columns())}")


def test_numbers_with_decimal_commas_describe_items_as_numbers_do():
    features = read(write(columns(length=[f"{n},{n}" for n in range(10)]), ";")).votes.features
    assert features["length"].tolist() == [n + n / 10 for n in range(10)]


def test_what_may_be_thousands_is_not_taken_for_decimals():
    lengths = [f"{n + 1},250" for n in range(9)] + ["980"]
    assert read(write(columns(length=lengths), ";")).votes.features["length"].tolist() == lengths
