"""Grades: read where a guess is safe or a threshold is given, cut into votes, written and kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgepanel as jp
from judgepanel.votes import InputError, load_votes, write_votes
from judgepanel.votes.choices import Choices, Thresholds, roles_text, with_roles
from judgepanel.votes.delimited import read_frame
from judgepanel.votes.formats import read_table
from judgepanel.votes.grades import Scale, graded_judges
from judgepanel.votes.matrix import orient
from judgepanel.votes.roles import guess_roles
from judgepanel.votes.simulate import one_class
from judgepanel.words.sentences import column_options

LABELS = ["1", "0", "1", "0", "1", "0"]
PROBABILITIES = {
    "ann": ["0.9", "0.2", "0.5", "0.01", "", "0.7"],
    "bob": ["0,8", "1.0", "0.6", "tie", "NA", "0.3"],
}
DIFFERENCES = {"ann": ["3", "-2", "0", "-1", "", "1.5"], "bob": ["-4", "-1", "2", "9", "tie", "1"]}
SCORES = {"ann": ["5", "1", "3", "2", "", "4"], "bob": ["1", "2", "3", "4", "5", "1"]}


def wide(judges):
    rows = [["label", *judges], *zip(LABELS, *judges.values(), strict=True)]
    return "\n".join(";".join(row) for row in rows).encode()


def long(judges):
    rows = [
        (f"{item}", judge, cell, LABELS[item])
        for judge, cells in judges.items()
        for item, cell in enumerate(cells)
    ]
    return "\n".join(";".join(row) for row in [("item", "judge", "score", "label"), *rows]).encode()


@pytest.mark.parametrize("layout", [wide, long])
@pytest.mark.parametrize(
    ("cells", "thresholds", "cut", "form"),
    [
        (PROBABILITIES, None, 0.5, "probabilities cut at 0.5"),
        (DIFFERENCES, None, 0.0, "differences of ratings cut at 0"),
        (SCORES, 3, 3.0, "scores cut at 3"),
        (SCORES, {"ann": 3, "bob": 3.0}, 3.0, "scores cut at 3"),
        (SCORES, {"": 3, "bob": 3.0}, 3.0, "scores cut at 3"),
    ],
    ids=["probabilities", "differences", "scores", "scores by judge", "scores of all others"],
)
def test_a_vote_is_a_grade_cut_at_the_threshold(layout, cells, thresholds, cut, form):
    loaded = load_votes(layout(cells), name="v.csv", thresholds=thresholds)
    votes = loaded.votes
    for position, judge in enumerate(votes.judges):
        for row, cell in enumerate(cells[judge]):
            here = (row, position)
            if cell in ("", "NA", "tie"):
                assert np.isnan(votes.grades[here])
                assert votes.votes[here] == -1
                assert (votes.ties is not None and votes.ties[here]) == (cell == "tie")
                continue
            grade = float(cell.replace(",", "."))
            assert votes.grades[here] == grade
            assert votes.votes[here] == (-1 if grade == cut else grade > cut)
            assert (votes.ties is not None and votes.ties[here]) == (grade == cut)
    assert votes.thresholds.tolist() == [cut, cut]
    assert loaded.forms == "0/1"  # The label's: how grades are read is said once, in a note.
    assert any(note.startswith(f"Read as {form}, higher for label 1") for note in loaded.warnings)
    given, on_it = (~np.isnan(votes.grades)).sum(), (votes.grades == cut).sum()
    assert any(note.startswith(f"{given} grades, of which {on_it} ") for note in loaded.warnings)


def test_a_frame_is_read_as_a_file_is():
    cells = {"label": [1, 0, 1, 0], "ann": [0.9, 0.2, np.nan, 0.5], "b": [0.1, 0.6, 0.6, 0.1]}
    frame = pd.DataFrame({name: column * 5 for name, column in cells.items()})
    with pytest.warns(jp.DataWarning) as told:
        votes = jp.from_frame(frame).matrix
    sentences = [str(warning.message) for warning in told]
    assert [text.split(",")[0] for text in sentences] == [
        "Read as probabilities cut at 0.5",
        "35 grades",
    ]
    with pytest.warns(jp.DataWarning):
        cut = jp.from_frame(frame, thresholds=0.3).matrix
    assert votes.votes[:4].tolist() == [[1, 0], [0, 1], [-1, 1], [-1, 0]]
    assert cut.votes[:4].tolist() == [[1, 0], [0, 1], [-1, 1], [1, 0]]
    file = frame.to_csv(index=False).encode()
    assert load_votes(file, name="v.csv", task="pairwise").votes.sha256 == votes.sha256


def test_one_judge_gives_grades_and_another_verdicts():
    cells = {"ann": SCORES["ann"], "bob": ["A", "B", "tie", "", "A", "B"], "cy": list("101010")}
    loaded = load_votes(wide(cells), name="v.csv", thresholds=2.5)
    assert loaded.votes.votes[:, 1].tolist() == [1, 0, -1, -1, 1, 0]
    assert loaded.votes.thresholds.tolist()[0] == 2.5
    assert np.isnan(loaded.votes.thresholds[1:]).all()
    assert loaded.votes.grades[:, 1:].size == np.isnan(loaded.votes.grades[:, 1:]).sum()
    assert load_votes(long(cells), name="v.csv", thresholds=2.5).votes == replace(
        loaded.votes, item_ids=tuple("012345")
    )


@pytest.mark.parametrize(
    ("cells", "thresholds", "problem"),
    [
        (SCORES, None, r"column 'ann'.*numbers from 1 to 5 \(found '5'\).*--threshold"),
        (PROBABILITIES | {"cy": ["1", "0", "0.3", "1", "1", "1"]}, None, "not a verdict"),
        (SCORES | {"cy": ["-1", *"23451"]}, None, "not a verdict"),
        (SCORES | {"cy": ["A", *"23451"]}, 3,
            r"'cy': a verdict in a column of scores \(found 'A'\)"),
        (SCORES | {"cy": ["-1", *"10101"]}, 3, "'cy': -1 may be a grade or a missing vote"),
        (SCORES | {"cy": ["-1", *"10101"]}, {"": 3, "ann": 2}, "'cy': -1 may be a grade"),
        (SCORES, {"": float("inf"), "ann": 2}, "a threshold is not finite"),
        (SCORES, {"zoe": 3}, r"no such judge \(found 'zoe'\); allowed: 'ann', 'bob'"),
        (SCORES, float("nan"), "a threshold is not finite"),
        ({"ann": ["A", *"010101"[1:]]}, {"ann": 0.5}, "row 2, column 'ann': a verdict in a "),
    ],
)  # fmt: skip
def test_numbers_that_would_be_a_guess_are_refused(cells, thresholds, problem):
    with pytest.raises(InputError, match=problem):
        load_votes(wide(cells), name="v.csv", thresholds=thresholds)


def test_probabilities_are_known_beside_judges_with_votes():
    votes = load_votes(wide(PROBABILITIES | {"cy": list("110010")}), name="v.csv").votes
    assert votes.thresholds.tolist()[:2] == [0.5, 0.5]
    assert np.isnan(votes.thresholds[2])
    assert votes.votes[:, 2].tolist() == [1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("code", ["-1", "-99", "99"])
def test_a_code_outside_the_range_of_grades_is_no_grade(code):
    cells = {"ann": [code, "0.2", "0.5", "0.01", "0.9", "0.7"], "bob": PROBABILITIES["bob"]}
    votes = load_votes(wide(cells), name="v.csv").votes
    assert np.isnan(votes.grades[0, 0])
    assert votes.votes[:, 0].tolist() == [-1, 0, -1, 0, 1, 1]


def test_the_form_of_verdicts_beside_grades_names_their_columns():
    text = "label,ann,bob\n" + "1,0.7,yes\n0,0.2,no\n1,0.9,no\n0,0.4,yes\n"
    loaded = load_votes(text.encode(), name="v.csv", thresholds={"ann": 0.5}, task="pairwise")
    assert loaded.forms == "0/1 in 'label'; yes/no in 'bob'"


def test_a_half_beside_0_and_1_is_a_tie():
    loaded = load_votes(wide({"ann": ["1", "0", "0.5", "0,5", "", "1"]}), name="v.csv")
    assert loaded.votes.votes[:, 0].tolist() == [1, 0, -1, -1, -1, 1]
    assert loaded.votes.ties[:, 0].tolist() == [False, False, True, True, False, False]
    assert loaded.votes.grades is None
    assert "0.5 is read as a tie: 'ann'." in loaded.warnings
    assert loaded.forms == "0/1"


@pytest.mark.parametrize("name", ["v.csv", "v.csv.gz", "v.parquet", "v.jsonl"])
@pytest.mark.parametrize(
    ("cells", "cut"), [(PROBABILITIES, None), (DIFFERENCES, None), (SCORES, 3)]
)
def test_what_is_written_is_read_back_bit_for_bit(cells, cut, name, tmp_path):
    votes = load_votes(wide(cells | {"cy": cells["ann"]}), name="v.csv", thresholds=cut).votes
    write_votes(votes, tmp_path / name)
    assert load_votes(tmp_path / name, thresholds=cut).votes.sha256 == votes.sha256


@pytest.mark.parametrize(
    ("thresholds", "written"),
    [
        (3, ["3"]),
        ({"ann": 3, "bob": 2.5}, ["ann=3", "bob=2.5"]),
        (Thresholds(3, {"bob": 2.5}), ["3", "bob=2.5"]),
        ({"": 3, "bob": 2.5}, ["3", "bob=2.5"]),
    ],
)
def test_roles_and_command_read_the_same_grades_again(thresholds, written, tmp_path):
    loaded = load_votes(wide(SCORES), name="v.csv", thresholds=thresholds)
    path = tmp_path / "roles.toml"
    path.write_text(roles_text(loaded))
    again = load_votes(wide(SCORES), name="v.csv", **with_roles(path, {"thresholds": None}))
    assert again.votes.sha256 == loaded.votes.sha256
    assert with_roles(path, {"thresholds": 0.0})["thresholds"] == 0.0
    options = column_options(loaded)
    assert [options[at + 1] for at, word in enumerate(options) if word == "--threshold"] == written


@pytest.mark.parametrize(
    ("text", "thresholds"),
    [
        ("thresholds = 3", Thresholds(3)),
        ("[thresholds]\nbob = 2.5", Thresholds(by_judge={"bob": 2.5})),
        (
            "[thresholds]\ndefault = 3\n[thresholds.by_judge]\nbob = 2.5",
            Thresholds(3, {"bob": 2.5}),
        ),
        ('[thresholds]\n"" = 3\nbob = 2.5', Thresholds(3, {"bob": 2.5})),  # As written before.
        # Judges may have any name.
        (
            "[thresholds]\ndefault = 3\nby_judge = 2",
            Thresholds(None, {"default": 3, "by_judge": 2}),
        ),
    ],
)
def test_a_file_of_roles_has_thresholds_for_all_judges_and_for_some(text, thresholds, tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text(text)
    assert with_roles(path, {})["thresholds"] == thresholds


@pytest.mark.parametrize(
    "text",
    [
        'thresholds = "3"',
        "thresholds = [3]",
        '[thresholds]\nbob = "3"',
        "[thresholds]\ndefault = true\n[thresholds.by_judge]\nbob = 3",
        "[thresholds]\nann = 3\n[thresholds.by_judge]\nbob = 3",
    ],
)
def test_thresholds_that_are_no_numbers_are_refused(text, tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="thresholds are not numbers"):
        with_roles(path, {})


def judges_with_grades(cells, task="pairwise"):
    table = read_table(wide(cells), "v.csv")
    return list(graded_judges(table, guess_roles(table, Choices()), task))


def test_judges_with_grades_are_listed_with_their_range_and_the_scale_that_is_guessed():
    ann, bob = judges_with_grades(PROBABILITIES)
    assert (ann.judge, ann.lowest, ann.highest) == ("ann", 0.01, 0.9)
    assert ann.scale == bob.scale == Scale("probabilities", 0.5)
    mixed = SCORES | {"cy": ["-1", *"10101"], "di": list("101010"), "eve": ["A"] * 6}
    ann, bob, cy = judges_with_grades(mixed)
    assert [judge.scale for judge in (ann, bob, cy)] == [None] * 3
    assert ann.has_grades
    assert (cy.judge, cy.has_grades) == ("cy", False)


@pytest.mark.parametrize("cells", ["101010", "121212", "0.5 0 1 0 1 1", "-1 0 1 0 1 1", "ABABAB"])
def test_no_judge_of_verdicts_is_listed(cells):
    words = cells.split() if " " in cells else list(cells)
    assert judges_with_grades({"ann": words, "bob": words[::-1]}) == []


def graded():
    return load_votes(wide(PROBABILITIES), name="v.csv").votes


def test_grades_follow_items_and_judges_and_enter_the_hash():
    votes = graded()
    assert votes.with_judges(["bob"]).thresholds.tolist() == [0.5]
    some = votes.with_items(np.array([3, 0])).with_judges(["ann"])
    assert (some.grades.tolist(), some.margins.tolist()) == ([[0.01], [0.9]], [[0.49], [0.4]])
    plain = replace(votes, grades=None, thresholds=None)
    farther = replace(votes, grades=np.where(votes.grades == 0.9, 0.8, votes.grades))
    assert len({votes.sha256, plain.sha256, farther.sha256}) == 3
    nothing = np.full(votes.votes.shape, np.nan)
    assert replace(plain, grades=nothing, thresholds=nothing[0]).sha256 == plain.sha256


def test_a_swapped_pair_has_its_grade_on_the_other_side():
    votes = graded()
    turned = orient(votes, "randomized", seed=3).votes
    for ours, theirs in ((votes, turned), (votes, one_class(votes))):
        flipped = ours.labels != theirs.labels
        assert flipped.any()
        assert np.array_equal(ours.margins, theirs.margins)
        kept, given = ours.grades[~flipped], theirs.grades[~flipped]
        assert np.array_equal(kept, given, equal_nan=True)
        both = ours.grades[flipped] + theirs.grades[flipped]
        assert np.allclose(both[~np.isnan(both)], 1.0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"thresholds": None}, "grades and thresholds need each other"),
        ({"grades": np.zeros((2, 2))}, "have shape"),
        ({"grades": np.full((6, 2), np.inf)}, "infinite"),
        ({"grades": np.full((6, 2), 0.7)}, "not its grade cut at the judge's threshold"),
        ({"thresholds": np.array([0.5, np.nan])}, "not its grade cut"),
        ({"ties": None}, "not its grade cut"),
    ],
)
def test_votes_that_are_not_their_grades_are_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        replace(graded(), **change)


def test_a_rater_of_a_sparse_file_that_only_gave_the_lowest_grade_gave_grades():
    rows = ["q1,ann,1,1", "q1,bob,5,1", "q2,bob,2,0", "q2,cy,4,0", "q3,cy,3,1", "q4,bob,1,0"]
    data = "\n".join(["item_id,judge,verdict,label", *rows]).encode()
    votes = load_votes(data, name="v.csv", thresholds=3).votes
    assert votes.votes[:, votes.judges.index("ann")].tolist() == [0, -1, -1, -1]


def test_grades_whose_commas_may_separate_thousands_are_refused():
    data = b'item_id,label,ann,bob\nq1,1,"1,250",987\nq2,0,"1,100",950\n'
    with pytest.raises(InputError, match="may separate thousands"):
        load_votes(data, name="v.csv", thresholds=1000)


def test_grades_in_single_precision_are_cut_where_they_are_written():
    frame = pd.DataFrame(
        {"item_id": list("abcd"), "label": [1, 0] * 2, "ann": np.float32([0.7, 0.3, 0.9, 0.1])}
    )
    assert load_votes(read_frame(frame), thresholds=0.7).votes.votes[:, 0].tolist() == [-1, 0, 1, 0]


def test_a_threshold_of_numpy_is_written_as_a_number():
    assert repr(Thresholds(np.float64(3.5), {"ann": np.int64(2)}).default) == "3.5"
