import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.votes.cells import csv_safe, is_number, is_role_name, shield, unshield

tricky = st.text(alphabet=st.sampled_from("'=+-@\t\r\n a1l.e"), max_size=8)


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "--1"]
)
def test_a_formula_gets_an_apostrophe(text):
    assert csv_safe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-5", "+0.5", "-1e-3", "gpt-4", "'=x", "a=b", "judge"])
def test_numbers_and_plain_texts_are_left_alone(text):
    assert csv_safe(text) == text


@given(tricky | st.text(max_size=6) | st.just("label") | st.just("'feat_x"))
def test_what_is_shielded_is_no_formula_and_comes_back(text):
    held = shield(text, is_role_name)
    assert held in (text, f"'{text}")
    assert held[:1] not in set("=+-@\t\r\n") or is_number(held)
    assert not is_role_name(held)
    assert unshield(held, is_role_name) == text


def test_the_reader_takes_away_one_apostrophe_of_a_formula_and_no_other():
    assert unshield("'=x") == "=x"
    assert unshield("''=x") == "'=x"
    assert unshield("'tis") == "'tis"
    assert unshield("  x ") == "x"
