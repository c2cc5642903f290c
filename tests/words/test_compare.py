"""Two analyses: the words for what they share and how they differ."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.what_if import paired_spec, relation
from judgepanel.studies.runner import run
from judgepanel.words.sentences import CODING, settings_words
from judgepanel.words.tables import MARKED, data_rows, data_sentence, paired_sentence
from judgepanel.words.tables import compared_table as result_table
from tests.helpers import make_votes
from tests.studies.panel.test_what_if import QUICK, SIX, VOTES, difference, of, side

NO_TEST = "is not a test of the difference"


def with_vote_changed(votes, judge):
    cells = votes.votes.copy()
    row = int(np.flatnonzero(cells[:, judge] >= 0)[0])
    cells[row, judge] = 1 - cells[row, judge]
    return replace(votes, votes=cells)


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
        ((-0.2, -0.3, -0.1), "Better: NLL changes by -0.20 [-0.30, -0.10]", "of 4 before."),
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
    assert rows["panel"].texts() == ["all judges", "in use"] * 2
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
    rows = {row: both for row, *both in data_rows(before, after, relation(before, after))}
    assert len(rows["name"][0]) == 80
    assert "\n" not in rows["name"][0]
    assert rows["made, UTC"][0] == "2025-01-31 09:30"
    assert rows["judges"] == ["6", "1"]
    assert rows["judges in both"] == ["1", "1"]
    assert rows["judges here only"] == ["judge001, judge002, judge003 and 2 more", "–"]
    assert rows["judge table"] == ["–", "–"]
    assert rows["order"] == ["as given", "as given"]
    assert rows["seed"] == ["0", "3"]
    assert rows["data fingerprint"][0] == VOTES.sha256[:10]


def test_settings_in_words_are_those_that_are_not_the_default():
    assert settings_words(Settings()) == ""
    settings = Settings("symmetric", "paper", ("a",), splits=1000, fraction=0.7, seed=7)
    words = "order symmetric, protocol paper, 1 chosen judge, 1,000 splits, 70 % calibrate, seed 7"
    assert settings_words(settings) == words
