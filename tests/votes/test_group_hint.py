"""Offers of a column to group by: by the judges' errors, whatever the column is called."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.reading import DRAWS, LEVEL, alike_p, item_errors, times_as_wide
from tests.helpers import make_votes

N_ITEMS, N_JUDGES, SIZE = 400, 5, 4
ORIGIN = np.repeat(np.arange(N_ITEMS // SIZE), SIZE)
SMALLEST = 1 / (DRAWS + 1)
PAIRS = np.repeat(np.arange(60), 2)


def wrong_votes(rng, rho, share=0.3):
    """Errors (items, judges) that correlate by rho within an origin."""
    of_origin = rng.random((N_ITEMS // SIZE, N_JUDGES))[ORIGIN]
    of_item = rng.random((N_ITEMS, N_JUDGES))
    return np.where(rng.random(of_item.shape) < np.sqrt(rho), of_origin, of_item) < share


def hints(wrong, **features):
    label = np.arange(len(wrong)) % 2
    votes = {f"j{k}": label ^ column for k, column in enumerate(wrong.T)}
    cells = {"label": label, **{f"feat_{name}": own for name, own in features.items()}, **votes}
    rows = zip(*(column.tolist() for column in cells.values()), strict=True)
    text = "\n".join([",".join(cells), *(",".join(map(str, row)) for row in rows)])
    return [note for note in load_votes(text.encode(), name="v.csv").warnings if "narrow" in note]


def long_hints(wrong, **columns):
    """Offers in a file with one row per vote; columns are (items,), or (items, judges) per vote."""
    label = np.arange(len(wrong)) % 2
    lines = [",".join(["item", "judge", "verdict", "label", *columns])]
    for item, judge in np.ndindex(*wrong.shape):
        cells = [own[item] if own.ndim == 1 else own[item, judge] for own in columns.values()]
        vote = label[item] ^ wrong[item, judge]
        lines.append(",".join(map(str, [f"q{item}", f"j{judge}", vote, label[item], *cells])))
    loaded = load_votes("\n".join(lines).encode(), name="v.csv")
    return [note for note in loaded.warnings if "narrow" in note]


def words(codes):
    return np.char.add("w", codes.astype(str))


def others(rng):
    """Columns of shared values on which errors do not depend."""
    uneven = np.minimum(rng.geometric(0.02, N_ITEMS), 90)
    return {"x": words(rng.permutation(ORIGIN)), "y": rng.permutation(ORIGIN), "z": words(uneven)}


@pytest.mark.simulation
def test_columns_on_which_errors_do_not_depend_are_offered_in_two_files_of_a_hundred():
    """200 files; a binomial count at .02 exceeds 10, the promised 5 %, with probability .003."""
    assert LEVEL == 0.02
    rng = np.random.default_rng(0)
    assert sum(len(hints(wrong_votes(rng, 0.0), **others(rng))) for _ in range(200)) <= 10


@pytest.mark.simulation
def test_a_column_by_which_errors_correlate_a_little_is_offered_beside_others():
    """100 files with a correlation of .3; 98 % power leaves out more than 6 with chance .004."""
    rng = np.random.default_rng(1)
    files = [hints(wrong_votes(rng, 0.3), q=words(ORIGIN), **others(rng)) for _ in range(100)]
    assert sum("'feat_q'" in "".join(found) for found in files) >= 94


def test_the_offer_says_that_errors_are_the_reason_and_how_much_wider_intervals_are():
    (hint,) = hints(wrong_votes(np.random.default_rng(1), 1.0), x=words(ORIGIN))
    assert hint == (
        "Judges err alike on items that share a value of 'feat_x': if such items have one origin, "
        "intervals are too narrow unless they stay together (by the errors of the judges they "
        "should be about 2.0 times as wide). In that case name that column with --group-column, or "
        "on Start under Columns."
    )


def test_a_column_offered_for_its_name_alone_promises_no_wider_intervals():
    rng = np.random.default_rng(0)
    (hint,) = hints(rng.permutation(wrong_votes(rng, 1.0)), query=words(ORIGIN))
    assert "times as wide" not in hint


def test_a_column_named_as_a_question_comes_first_and_only_one_is_offered():
    wrong = wrong_votes(np.random.default_rng(2), 0.5)
    (hint,) = hints(wrong, x=words(ORIGIN), query=words(np.arange(N_ITEMS) // 2))
    assert "400 items share 200 values of 'feat_query'" in hint


def test_what_a_column_of_few_values_explains_is_not_taken_for_a_cluster():
    """Values within subsets, one of which is hard: items are independent given the subset."""
    rng = np.random.default_rng(3)
    hard = np.arange(N_ITEMS) < N_ITEMS // 2
    wrong = rng.random((N_ITEMS, N_JUDGES)) < np.where(hard, 0.7, 0.1)[:, None]
    assert hints(wrong, x=words(ORIGIN))
    assert not hints(wrong, x=words(ORIGIN), subset=words(hard))


def test_fractions_and_what_is_computed_from_judges_are_not_offered():
    wrong = wrong_votes(np.random.default_rng(4), 1.0)
    assert not hints(wrong, x=ORIGIN + 0.5)
    assert hints(wrong, x=ORIGIN)


def test_a_file_with_one_row_per_vote_gets_the_same_offer_as_one_with_one_row_per_item():
    wrong = wrong_votes(np.random.default_rng(1), 1.0)
    wide = hints(wrong, x=words(ORIGIN))
    assert len(wide) == 1
    assert long_hints(wrong, feat_x=words(ORIGIN)) == wide
    assert long_hints(wrong, x=words(ORIGIN)) == [wide[0].replace("'feat_x'", "'x'")]


def test_a_question_of_several_items_is_offered_by_its_name_in_a_file_of_votes():
    (hint,) = long_hints(wrong_votes(np.random.default_rng(2), 0.5), query=words(ORIGIN))
    assert "400 items share 100 values of 'query'" in hint


def test_in_a_file_of_votes_a_column_is_offered_only_if_it_says_the_same_on_all_rows():
    wrong = wrong_votes(np.random.default_rng(5), 1.0)
    of_votes = np.tile(words(ORIGIN)[:, None], N_JUDGES)
    assert long_hints(wrong, x=of_votes)
    of_votes[7, 0] = ""  # Given on the other rows of the item.
    assert long_hints(wrong, x=of_votes)
    of_votes[7, 0] = "another"
    assert not long_hints(wrong, x=of_votes)


def test_with_one_vote_per_item_only_features_are_known_to_describe_items():
    wrong = wrong_votes(np.random.default_rng(6), 1.0)
    assert not long_hints(wrong[:, :1], x=words(ORIGIN))
    assert long_hints(wrong[:, :1], feat_x=words(ORIGIN))


def test_in_a_file_of_votes_means_of_the_judges_are_not_offered():
    wrong = wrong_votes(np.random.default_rng(7), 1.0)
    assert not long_hints(wrong, vote_sum=ORIGIN)
    assert long_hints(wrong, doc=ORIGIN)


def test_an_items_error_is_the_mean_of_what_its_votes_are_worse_than_their_judges():
    votes = make_votes(3, 40, 5, missing=0.3)
    votes = replace(votes, labels=np.where(np.arange(40) < 6, -1, votes.labels).astype(np.int8))
    wrong = np.where(votes.votes < 0, np.nan, votes.votes != votes.labels[:, None])
    wrong[:6] = np.nan
    excess = wrong - np.nanmean(wrong, axis=0)
    expected = [np.nan if np.isnan(row).all() else np.nanmean(row) for row in excess]
    np.testing.assert_allclose(item_errors(votes), expected, atol=1e-12)


def test_errors_are_the_same_with_responses_swapped_and_judges_permuted():
    votes = make_votes(4, 40, 5, missing=0.0)
    swap = np.arange(40) % 2
    labels, cells = votes.labels ^ swap, votes.votes ^ swap[:, None]
    swapped = replace(votes, labels=labels.astype(np.int8), votes=cells.astype(np.int8))
    np.testing.assert_array_equal(item_errors(swapped), item_errors(votes))
    reverse = votes.with_judges(votes.judges[::-1])
    np.testing.assert_allclose(item_errors(reverse), item_errors(votes), atol=1e-12)


def test_errors_that_only_differ_between_strata_leave_nothing():
    votes = make_votes(5, 40, 5)
    strata = np.arange(40) % 2
    cells = np.repeat((votes.labels ^ strata)[:, None], 5, axis=1).astype(np.int8)
    np.testing.assert_allclose(item_errors(replace(votes, votes=cells), [strata]), 0.0, atol=1e-12)


def test_equal_errors_within_values_are_as_significant_as_the_draws_allow():
    errors = np.random.default_rng(0).normal(size=60)[PAIRS]
    assert alike_p(errors, PAIRS) == SMALLEST
    assert alike_p(errors, PAIRS, PAIRS.astype(float)) == SMALLEST  # Not by their order.


def test_constant_errors_are_not_alike():
    assert alike_p(np.zeros(120), PAIRS) == 1.0


def test_a_trend_over_numbers_is_not_a_cluster():
    errors = PAIRS / 60.0 + np.random.default_rng(1).normal(size=120)
    assert alike_p(3.0 * PAIRS / 60.0 + errors, PAIRS) == SMALLEST
    assert alike_p(3.0 * PAIRS / 60.0 + errors, PAIRS, PAIRS.astype(float)) > 0.05


@pytest.mark.parametrize(
    "values",
    [np.arange(120), np.arange(120) % 19, np.r_[np.repeat(np.arange(25), 2), 25 + np.arange(70)]],
    ids=["none shared", "few values", "most items alone"],
)
def test_too_few_shared_values_say_nothing(values):
    assert alike_p(values % 2 + 0.0, values) == 1.0


@pytest.mark.simulation
@pytest.mark.parametrize("chance", [0.5, 0.05])
def test_values_dealt_at_random_are_significant_as_often_as_stated(chance):
    """1,000 files; the binomial count at level .05 exceeds 77 with probability 1e-4."""
    rng = np.random.default_rng(2)
    errors = (rng.random((1_000, 120)) < chance) * 1.0
    p = np.array([alike_p(row, rng.permutation(PAIRS)) for row in errors])
    assert (p <= 0.05).sum() <= 77


def test_intervals_are_as_much_wider_as_the_design_effect_says():
    votes = make_votes(6, 50, 4)
    twice = np.repeat(np.arange(50), 2)
    names = tuple(f"i{row}" for row in range(100))
    doubled = VoteMatrix(votes.votes[twice], votes.labels[twice], names, votes.judges)
    assert times_as_wide(doubled, twice) == pytest.approx(np.sqrt(2))
    assert times_as_wide(votes, np.arange(50)) == pytest.approx(1.0)
    assert times_as_wide(votes, np.full(50, -1)) == pytest.approx(1.0)
