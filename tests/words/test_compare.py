"""Two analyses: what they share, how their difference is measured, and the words for it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.scoring.interval import Interval
from judgepanel.studies.panel.what_if import WHAT_IF
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from judgepanel.words.compare import (
    MARKED,
    Side,
    data_rows,
    data_sentence,
    paired_sentence,
    paired_spec,
    relation,
    result_table,
)
from judgepanel.words.sentences import CODING, settings_words
from tests.helpers import make_votes

QUICK = Settings(splits=4)
VOTES = make_votes(2, 80, 6)
SIX = VOTES.judges
NO_TEST = "is not a test of the difference"


def side(votes=VOTES, settings=QUICK, name="a"):
    return Side(name, "votes.csv", "2025-01-31T09:30:12.5+00:00", votes, settings)


def of(judges):
    return replace(QUICK, judges=tuple(judges))


def with_vote_changed(votes, judge):
    cells = votes.votes.copy()
    row = int(np.flatnonzero(cells[:, judge] >= 0)[0])
    cells[row, judge] = 1 - cells[row, judge]
    return replace(votes, votes=cells)


def difference(before, after):
    """The paired result of two sides, by the study that the page runs."""
    overlap = relation(before, after)
    host = after if overlap.host == "after" else before
    return run(WHAT_IF, host.votes, paired_spec(before, after, overlap), jobs=1)


def shuffled(votes, seed=1):
    return votes.with_items(np.random.default_rng(seed).permutation(votes.n_items))


def test_added_judges_are_measured_on_the_votes_that_hold_all():
    before, after = side(VOTES.with_judges(SIX[:4])), side()
    overlap = relation(before, after)
    assert (overlap.host, overlap.judges_after, overlap.judges_before) == ("after", SIX[4:], ())
    assert relation(after, before).host == "before"
    assert data_sentence(overlap) == (
        "Both rest on the same 80 labelled items and labels, and on the same splits: what differs "
        "is who judges."
    )
    spec = paired_spec(before, after, overlap)
    assert (spec.against, spec.keep, spec.settings.judges) == (SIX[:4], SIX, None)


def test_the_difference_is_that_of_the_two_analyses_on_their_own():
    before, after = side(VOTES.with_judges(SIX[:4])), side()
    pair = difference(before, after)
    for entry, figures in ((before, pair.against), (after, pair.kept)):
        decided = run(RECOMMEND, entry.votes, RecommendSpec(entry.settings), jobs=1)
        assert tuple(decided.nll) == pytest.approx(tuple(figures.nll))
    assert pair.delta.value == pytest.approx(pair.kept.nll.value - pair.against.nll.value)
    back = difference(after, before)
    assert tuple(back.delta) == pytest.approx(tuple(-pair.delta))


def test_two_choices_of_judges_of_one_file_are_measured_on_both_alone():
    before, after = side(settings=of(SIX[:3])), side(settings=of(SIX[2:5]))
    overlap = relation(before, after)
    assert (overlap.judges_both, overlap.host) == (SIX[2:3], "after")
    assert paired_spec(before, after, overlap).settings.judges == SIX[:5]


def test_the_order_of_the_items_and_those_without_a_label_do_not_matter():
    few = VOTES.with_judges(SIX[:4])
    assert relation(side(few), side(shuffled(VOTES))).host == "after"
    labels = VOTES.labels.copy()
    labels[:10] = -1
    part = replace(VOTES, labels=labels)
    known = part.with_items(part.labelled).with_judges(SIX[:4])
    overlap = relation(side(known), side(part))
    assert (overlap.host, overlap.shared, overlap.same_items) == ("after", 70, True)


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        (VOTES.with_items(np.arange(60)), "by their ids 60 labelled items in both, 20 only before"),
        (make_votes(3, 80, 6), "with another label"),
        (replace(VOTES, groups=("g",) * 80), "other groups"),
        (VOTES.with_task("pointwise"), "different tasks"),
        (replace(VOTES, item_ids=tuple(f"x{i}" for i in range(80))), "0 labelled items in both"),
    ],
)
def test_different_data_make_no_test(votes, words):
    overlap = relation(side(), side(votes.with_judges(SIX[:4])))
    assert overlap.host is None
    assert not overlap.same_items
    assert words in data_sentence(overlap)
    assert NO_TEST in data_sentence(overlap)
    with pytest.raises(ValueError, match="no votes hold"):
        paired_spec(side(), side(votes), overlap)


def test_added_labels_are_different_data():
    labels = VOTES.labels.copy()
    labels[:30] = -1
    text = data_sentence(relation(side(replace(VOTES, labels=labels)), side()))
    assert "50 labelled items in both, 30 only after" in text
    assert NO_TEST in text


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (side(settings=Settings(splits=4, seed=1)), "not on the same settings (seed)"),
        (
            side(settings=Settings(splits=5, orientation="symmetric")),
            "not on the same settings (order and number of splits)",
        ),
        (side(with_vote_changed(VOTES, 1)), "1 judge of the same name voted differently"),
        (side(), "judges, votes and settings: there is no difference to test"),
    ],
)
def test_the_same_items_alone_are_not_enough_for_a_test(after, words):
    overlap = relation(side(), after)
    assert overlap.host is None
    assert overlap.same_items
    assert words in data_sentence(overlap)


def test_judges_that_no_file_holds_together_are_not_tested():
    before, after = side(VOTES.with_judges(SIX[:4])), side(VOTES.with_judges(SIX[2:]))
    overlap = relation(before, after)
    assert overlap.host is None
    assert "the votes of all judges in one file" in data_sentence(overlap)
    paper = (replace(QUICK, protocol="paper"), replace(of(SIX[:4]), protocol="paper"))
    assert relation(side(settings=paper[0]), side(settings=paper[1])).host is None


@cache
def pair():
    return difference(side(VOTES.with_judges(SIX[:4])), side())


@pytest.mark.parametrize(
    ("bounds", "start", "end"),
    [
        (
            (-0.2, -0.3, -0.1),
            "Better: NLL changes by -0.20 [-0.30, -0.10]",
            "of 4 before.",
        ),
        ((0.2, 0.1, 0.3), "Worse: NLL changes by +0.20", "of 4 before."),
        ((-0.1, -0.3, -0.001), "Better: ", "It may be less than 2 %."),
        ((-0.1, -0.3, 0.1), "No difference is shown: ", "of 4 before."),
        ((-0.1, -0.3, 0.0), "No difference is shown: ", "of 4 before."),
        ((0.0, -0.001, 0.001), "No difference is shown: ", "It is below 2 % either way."),
    ],
)
def test_better_and_worse_are_said_only_where_the_interval_leaves_0_out(bounds, start, end):
    result = replace(pair(), delta=Interval.single(*bounds), verdict="undecided", margin=0.01)
    text = paired_sentence(result)
    assert text.startswith(start)
    assert text.endswith(end)
    assert "all 6 judges after in place of 4 before" in text
    coded = paired_sentence(replace(result, measures_coding=True))
    assert coded.endswith(CODING)
    assert "Better" not in coded
    assert "Worse" not in coded


def test_the_same_judges_are_a_tie():
    assert "no difference" in paired_sentence(replace(pair(), verdict="tie"))


@cache
def recommended(*, one_class=False):
    votes = make_votes(2, 80, 6, one_class=one_class)
    return run(RECOMMEND, votes, RecommendSpec(QUICK, folds=3), jobs=1)


def test_results_stand_below_each_other_with_null_and_skill():
    result = recommended()
    rows = result_table([("before", result), ("after", result)])
    assert rows["analysis"].texts() == ["before", "before", "after", "after"]
    assert rows["panel"].texts() == ["all judges", "recommended"] * 2
    assert rows["NLL"].texts()[1] == f"{result.nll.value:.3f}"
    assert rows["null NLL"].texts()[0] == f"{result.null_nll:.3f}"
    assert rows["method"].texts()[0] == "one-coin + beta"
    assert "note" not in rows
    assert result_table([]) == {}


def test_figures_that_measure_the_coding_are_marked_in_their_own_rows():
    coded = replace(recommended(), measures_coding=True)
    rows = result_table([("before", coded), ("after", recommended())])
    assert rows["note"].texts() == [MARKED, MARKED, "", ""]
    honest = result_table([("before", recommended(one_class=True))])
    assert honest["NLL"].numbers.min() > 0.1


def test_the_data_of_both_stand_side_by_side_as_bounded_text():
    name = "<script>\n" + "n" * 5000
    before, after = side(name=name), side(VOTES.with_judges(SIX[:1]), replace(QUICK, seed=3))
    rows = {
        row: (first, other)
        for row, first, other in data_rows(before, after, relation(before, after))
    }
    assert len(rows["name"][0]) == 80
    assert "\n" not in rows["name"][0]
    assert rows["made, UTC"][0] == "2025-01-31 09:30"
    assert rows["judges"] == ("6", "1")
    assert rows["judges in both"] == ("1", "1")
    assert rows["judges here only"] == ("judge001, judge002, judge003 and 2 more", "–")
    assert rows["order"] == ("as given", "as given")
    assert rows["seed"] == ("0", "3")
    assert rows["data fingerprint"][0] == VOTES.sha256[:10]


def test_settings_in_words_are_those_that_are_not_the_default():
    assert settings_words(Settings()) == ""
    settings = Settings("symmetric", "paper", ("a",), splits=1000, fraction=0.7, seed=7)
    assert settings_words(settings) == (
        "order symmetric, protocol paper, 1 chosen judge, 1,000 splits, 70 % calibrate, seed 7"
    )
