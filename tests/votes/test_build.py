from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes import InputError, load_votes
from tests.helpers import larger

WIDE = b"""item_id,label,prompt_id,feat_len,feat_kind,j1,j2,j3
a,1,p,1.5,chat,1,0,
b,0,p,,code,tie,model_b,A
c,A>B,q,-2,NA,B,true,N/A
d,false,q,1e3,,1,0,1
e,,r,0,chat,0,0,0
"""
LONG = b"""item,judge,verdict,gold,prompt_id,feat_len,feat_kind
c,j2,1,1,q,-2,NA
a,j1,1,,p,,chat
a,j2,0,1,p,1.5,
b,j2,0,0,p,,code
b,j3,1,0,p,,code
c,j1,0,1,q,-2,NA
d,j1,1,0,q,1e3,
d,j2,0,0,q,1e3,
d,j3,1,0,q,1e3,
e,j1,0,,r,0,chat
e,j2,0,,r,0,chat
e,j3,0,,r,0,chat
"""


def test_a_wide_file_is_read_in_full():
    votes = load_votes(WIDE).votes
    assert votes.votes.tolist() == [[1, 0, -1], [-1, 0, 1], [0, 1, -1], [1, 0, 1], [0, 0, 0]]
    assert (votes.labels.tolist(), votes.item_ids) == ([1, 0, 1, 0, -1], ("a", "b", "c", "d", "e"))
    assert votes.groups == ("p", "p", "q", "q", "r")
    np.testing.assert_array_equal(votes.features["len"], [1.5, np.nan, -2, 1000, 0])
    assert votes.features["kind"].tolist() == ["chat", "code", "NA", "", "chat"]


def test_a_long_file_says_the_same_in_its_own_order():
    wide, long = load_votes(WIDE).votes, load_votes(LONG).votes
    assert (long.item_ids, long.judges) == (("c", "a", "b", "d", "e"), ("j2", "j1", "j3"))
    order = np.array([long.item_ids.index(item) for item in wide.item_ids])
    assert long.with_items(order).with_judges(wide.judges).sha256 == replace(wide, ties=None).sha256


def test_items_without_ids_are_numbered():
    assert load_votes(b"label,j1\n1,0\n1,1\n0,0\n0,1\n").votes.item_ids == ("1", "2", "3", "4")


def test_columns_that_a_long_file_does_not_need_are_named():
    data = LONG.replace(b"feat_kind", b"when")
    assert "Columns that are not used: 'when'." in load_votes(data).warnings


def with_judges(table):
    return load_votes(WIDE, judge_table=table)


def test_the_judge_table_is_matched_by_name():
    loaded = with_judges(b"judge,family,cost\nj3,x,1\nj1,y,2.5\nj2,x,\n")
    table = loaded.votes.judge_table
    assert table["family"].tolist() == ["y", "x", "x"]
    np.testing.assert_array_equal(table["cost"], [2.5, np.nan, 1.0])
    assert not any("judge table" in warning for warning in loaded.warnings)


def test_judges_and_rows_that_do_not_match_are_named():
    loaded = with_judges(b"judge,family,cost\nj1,y,2\nj9,z,3\n")
    assert loaded.warnings[-2:] == (
        "The judge table 'the judge table' has no row for 'j2', 'j3'.",
        "The judge table 'the judge table' has rows for judges without a column of votes: 'j9'.",
    )
    table = loaded.votes.judge_table
    assert table["family"].tolist() == ["y", "", ""]
    np.testing.assert_array_equal(table["cost"], [2, np.nan, np.nan])


def test_a_judge_with_two_rows_is_refused(tmp_path):
    path = tmp_path / "judges.csv"
    path.write_text("judge,family\nj1,x\nj2,x\nj1,y\n")
    with pytest.raises(InputError, match=r"judges.csv, row 4, column 'judge'.*found 'j1'"):
        with_judges(path)


def test_a_judge_table_without_a_judge_column_is_refused():
    with pytest.raises(InputError, match="row 1: there is no judge column"):
        with_judges(b"name,family\nj1,x\n")


def test_a_group_is_needed_for_every_item():
    with pytest.raises(InputError, match=r"v.csv, row 4, column 'prompt_id': the group is empty"):
        load_votes(WIDE.replace(b"A>B,q", b"A>B,"), name="v.csv")


def test_a_path_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"^none.csv: there is no such file; check its name and folder\.$"
    ):
        load_votes(tmp_path / "none.csv")
    with pytest.raises(InputError, match="holds no votes"):
        load_votes(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "shape", "share", "missing"),
    [
        ("llmbar", (419, 65), 0.492, 0.029),
        larger("rewardbench", (2985, 148), 0.502, 0.015),
        larger("rewardbench_correctness", (2985, 149), 1.0, 0.016),
        larger("sentpop", (500, 143), 0.510, 0.86),
        larger("mozafari", (1000, 83), 0.491, 0.94),
    ],
)
def test_real_votes_are_read_as_they_are_described(real_votes, name, shape, share, missing):
    loaded = load_votes(
        real_votes(f"{name}_votes.csv"), judge_table=real_votes(f"{name}_judges.csv")
    )
    votes = loaded.votes
    assert votes.votes.shape == shape
    assert float((votes.labels == 1).mean()) == pytest.approx(share, abs=0.001)
    assert float((votes.votes == -1).mean()) == pytest.approx(missing, abs=0.005)
    assert (votes.judge_table["family"] != "").all()
    assert not any("judge table" in warning for warning in loaded.warnings)
