"""What is said of a recommendation besides its answer."""

from dataclasses import replace
from functools import cache

import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.report.absence import absence_table, absence_words
from judgepanel.report.recommendation import rival_sentence, statuses_sentence, tied_sentence
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


@cache
def result():
    spec = RecommendSpec(Settings(splits=3), folds=3)
    return run(RECOMMEND, make_votes(3, 80, 6), spec, jobs=1)


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        ("keep all", "it is worse"),
        ("curate", "it is better"),
        ("no loss from keeping", "the chosen one loses at most 2 %"),
        ("no loss from curating", "it loses at most 2 %"),
        ("undecided", "about 1,234 labels would settle it"),
        ("tie", "they never differ"),
    ],
)
def test_the_runner_up_is_named_with_its_difference(stands, words):
    found = result()
    runner = replace(found.runner_up, panel="top-5", stands=stands)
    said = rival_sentence(replace(found, runner_up=runner, labels_to_settle=1234))
    assert said.startswith("Runner-up: top-5")
    assert words in said
    assert ("labels" in said) == (stands == "undecided")


def test_a_single_candidate_has_no_runner_up():
    found = result()
    assert rival_sentence(replace(found, runner_up=found.chosen)) == ""


@pytest.mark.parametrize(
    ("prefer", "words"),
    [
        ("nll", "keeping everyone"),
        ("simplest", "the simplest"),
        ("cheapest", "the cheapest"),
        ("fewest", "the fewest judges"),
    ],
)
def test_the_tied_are_counted_and_what_was_preferred_is_said(prefer, words):
    found = result()
    others = [one for one in found.candidates if one.name != found.chosen.name]
    lowest = replace(others[0], tied=True, smoothed_nll=found.chosen.smoothed_nll - 0.01)
    marked = tuple(replace(one, tied=one is others[0]) for one in others)
    said = tied_sentence(replace(found, candidates=marked, lowest=lowest, prefer=prefer))
    assert said.startswith("1 other candidate is within one standard error of the best")
    assert words in said
    assert "ahead by 0.010." in said


def test_nothing_is_said_where_nothing_is_tied():
    found = result()
    alone = tuple(replace(one, tied=False) for one in found.candidates)
    assert tied_sentence(replace(found, candidates=alone)) == ""


def test_absences_are_listed_with_the_worst_in_words():
    found = result()
    rows = absence_table(found)
    measured = found.absence
    n_rows = len(measured.groups) + len(measured.several) + len(measured.single)
    assert len(rows) == n_rows
    assert rows["NLL"].tolist() == pytest.approx((found.nll + rows["rise"]).tolist())
    top = rows["rise"].idxmax()
    assert f"is {rows['absent'][top]}: the NLL changes by" in absence_words(found)[0]
    assert absence_words(replace(found, absence=None)) == ()


def test_an_absence_above_the_base_rate_is_called_worse():
    found = result()
    worst = replace(found.absence.several[-1], delta=9.0, lo=8.0, hi=10.0)
    absence = replace(found.absence, several=(*found.absence.several[:-1], worst))
    bad = replace(found, absence=absence)
    assert "worse than" in absence_words(bad)[0]
    rows = absence_table(bad)
    assert rows["worse than the base rate"][rows["rise"].idxmax()] == "yes"


def test_judges_are_counted_by_what_becomes_of_them():
    def status(name, kind):
        return JudgeStatus(name, kind, "why", None)

    some = (status("a", "keep"), status("b", "keep"), status("c", "drop"), status("d", "watch"))
    said = statuses_sentence(some)
    assert said.startswith("Keep: 2 judges shown to help. Drop: 1 judge that")
    assert said.endswith("Watch: 1 judge, since neither is settled.")
    assert statuses_sentence(some[:1]) == "Keep: 1 judge shown to help."
    assert statuses_sentence(()) == ""
