"""Numbers as people read them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.words import text as words

USUAL = st.floats(1e-5, 1e7) | st.floats(-1e7, -1e-5)


def figures(text):
    digits = re.sub(r"e.*", "", text).replace(",", "").replace(".", "").lstrip("-+0")
    return len(digits)


@given(USUAL, st.integers(1, 4))
def test_a_number_has_its_figures_and_reads_back(value, digits):
    text = words.sig(value, digits)
    unit = 10.0 ** -words.decimals(value, digits)
    assert abs(float(text.replace(",", "")) - value) <= unit * 0.5000001
    whole = len(str(int(abs(value))))
    assert figures(text) == digits or (abs(value) >= 1 and figures(text) in (whole, whole + 1))


@given(st.floats(1e-5, 999.4))
def test_below_a_thousand_there_are_exactly_three_figures(value):
    assert figures(words.sig(value)) == 3


@given(st.floats(-1e-6, 1e-6, exclude_min=True, exclude_max=True))
def test_a_tiny_number_is_short(value):
    assert len(words.sig(value)) <= 10
    assert float(words.sig(value)) == pytest.approx(value, rel=0.01, abs=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.21049, "0.210"),
        (0.9996, "1.00"),
        (9.999, "10.0"),
        (999.5, "1,000"),
        (1234.5, "1,234"),
        (-0.0996, "-0.0996"),
        (1e-9, "1.00e-09"),
        (math.nan, "n/a"),
        (-math.inf, "n/a"),
    ],
)
def test_numbers_in_three_figures(value, text):
    assert words.sig(value) == text


@given(USUAL)
def test_a_signed_number_always_shows_its_sign(value):
    assert words.signed(value)[0] == ("-" if value < 0 else "+")
    assert words.signed(value).lstrip("+-") == words.sig(abs(value), 2)


def test_nothing_has_no_sign():
    assert words.signed(0.0) == "0"
    assert words.signed(math.nan) == "n/a"


@given(st.floats(-100, 100), st.floats(0, 100))
def test_both_ends_of_an_interval_have_the_same_decimals(lo, width):
    low, high = words.interval(lo, lo + width).strip("[]").split(", ")
    assert len(low.partition(".")[2]) == len(high.partition(".")[2])
    assert float(low) <= float(high)


@pytest.mark.parametrize(
    ("ends", "options", "text"),
    [
        ((0.052, 0.148), {}, "[0.05, 0.15]"),
        ((0.052, 0.148), {"digits": 3}, "[0.052, 0.148]"),
        ((-0.052, 0.148), {"sign": True}, "[-0.05, +0.15]"),
        ((0.9, 0.996), {}, "[0.9, 1.0]"),
        ((0.0, 0.0), {}, "[0.00, 0.00]"),
        ((-0.0001, 0.014), {}, "[0.000, 0.014]"),
        ((-0.0001, 0.014), {"sign": True}, "[0.000, +0.014]"),
        ((-0.25, 0.0), {"sign": True}, "[-0.25, 0.00]"),
        ((0.0, 1e-15), {}, "[0.000000, 0.000000]"),
        ((math.nan, 1.0), {}, "[n/a]"),
        ((0.0, math.inf), {}, "[n/a]"),
    ],
)
def test_intervals(ends, options, text):
    assert words.interval(*ends, **options) == text


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1), st.integers(1, 4))
def test_what_rounds_to_zero_has_no_sign(value, lo, hi, digits):
    texts = [
        words.interval(lo, hi, digits),
        words.interval(lo, hi, digits, sign=True),
        words.level(value, lo, hi),
    ]
    texts += [words.with_interval(value, lo, hi, sign=True), words.share_level(value, lo, hi)]
    for number in re.findall(r"[-+][\d.]+", " ".join(texts)):
        assert float(number) != 0.0


@given(st.floats(0, 1))
def test_p_values_never_claim_zero_or_one(p):
    text = words.p_value(p)
    assert re.fullmatch(r"p < \.001|p > \.999|p = \.\d{3}", text)
    assert text not in ("p = .000", "p = 1.000")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p < .001"),
        (0.000999, "p < .001"),
        (0.001, "p = .001"),
        (0.0424, "p = .042"),
        (0.999, "p = .999"),
        (1.0, "p > .999"),
        (math.nan, "p n/a"),
    ],
)
def test_p_values(p, text):
    assert words.p_value(p) == text


def test_fixed_decimals_know_no_negative_zero():
    assert words.fixed(-0.0001, 3) == "0.000"
    assert words.fixed(-1234.5678, 2) == "-1,234.57"
    assert words.fixed(math.nan, 2) == "n/a"
    assert words.fixed(0.0004, 3, sign=True) == words.fixed(-0.0004, 3, sign=True) == "0.000"
    assert words.fixed(0.0006, 3, sign=True) == "+0.001"


def test_shares_in_per_cent():
    assert words.percent(0.5) == "50 %"
    assert words.percent(0.687, 3) == "68.7 %"
    assert words.percent(-7.3) == "-730 %"
    assert words.percent(math.nan) == "n/a"


def test_counted_nouns():
    assert words.counted(1, "judge") == "1 judge"
    assert words.counted(2985, "item") == "2,985 items"
    assert words.counted(2, "class", "classes") == "2 classes"
    assert words.all_judges(1_800) == "all 1,800 judges"
    assert words.all_judges(1) == "the one judge"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.5444, 0.271, 0.813), "+0.54 [+0.27, +0.81]"),
        ((0.000079, -0.011, 0.011), "0.000 [-0.011, +0.011]"),
        ((-0.000079, -0.011, 0.011), "0.000 [-0.011, +0.011]"),
        ((-0.00001, -0.00024, 0.00027), "0.0000 [-0.0002, +0.0003]"),
        ((0.004, math.nan, math.nan), "+0.0040 [n/a]"),
    ],
)
def test_a_difference_has_the_decimals_of_its_interval_and_no_sign_when_it_is_nothing(
    numbers, text
):
    assert words.with_interval(*numbers, sign=True) == text


@given(st.floats(-3, 3), st.floats(0, 2), st.floats(0, 2))
def test_a_value_and_its_interval_are_rounded_alike(value, below, above):
    parts = re.findall(r"\d+\.?(\d*)", words.with_interval(value, value - below, value + above))
    assert len(parts) == 3
    assert len({len(part) for part in parts}) == 1


def test_names_are_listed_and_sentences_begin_with_a_capital():
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(["a", "b", "c"], "or") == "a, b or c"
    assert words.capital("one-coin") == "One-coin"


def test_a_score_has_three_decimals_and_its_interval_no_more():
    assert words.level(0.3312, 0.2149, 0.4481) == "0.331 [0.215, 0.448]"
    assert words.level(0.00101, 0.001, 0.00104) == "0.001 [0.001, 0.001]"
    assert words.level(1.0229, 0.8, 1.24) == "1.023 [0.80, 1.24]"


def test_what_is_rounded_away_whole_is_the_same():
    assert words.compared(0.0, 0.0, 0.0) == "the same"
    assert words.compared(-1e-6, -3e-5, -1e-7) == "the same"
    assert words.compared(-1e-6, -2e-4, 1e-4) == "0.0000 [-0.0002, +0.0001]"
    assert "[n/a]" in words.compared(0.0, float("nan"), float("nan"))
    assert words.compared(0.02, -0.01, 0.05) == "+0.020 [-0.010, +0.050]"


def test_shares_without_a_value_or_an_interval_say_so():
    assert words.share_level(float("nan"), 0.1, 0.2) == "n/a"
    assert words.share_level(0.891, float("nan"), 0.2, digits=2) == "89 % [n/a]"
    assert words.share_level(0.891, 0.856, 0.923, digits=2) == "89 % [86, 92]"
    assert words.share_level(-0.0001, -0.0002, 0.01) == "0.0 % [0.0, 1.0]"
    assert words.share_level(0.8914, 0.8561, 0.9234) == "89.1 % [85.6, 92.3]"
