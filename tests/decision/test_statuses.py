"""Helps, could go, fails a check, unsettled: every rule, their order, and the number of labels."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from judgepanel.decision.statuses import JudgeStatus, failures_of, reasons_of, statuses
from judgepanel.scoring import inference, interval
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide.value import VALUE, ValueSpec
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, load_votes
from tests.helpers import make_votes

SAMPLES = Path(__file__).parents[2] / "sample_data"


@cache
def result():
    spec = ValueSpec(
        Settings(splits=2), aggregator="one_coin", calibrator="temperature", permutations=8
    )
    return run(VALUE, make_votes(2, 60, 3), spec, jobs=1)


def with_judge(goes=1, **changes):
    """The result with figures of the first judge changed; nothing shown unless said."""
    plain = {
        "value": interval.Interval.single(0.001, -0.01, 0.012),
        "shapley": interval.Interval.single(0.01, -0.01, 0.03),
        "droppable": False,
    }
    first = replace(result().judges[0], **(plain | changes))
    row = replace(result().removal[0], m=goes, delta=interval.Interval.single(0.0, -0.001, 0.002))
    judges, measured = (first, *result().judges[1:]), {"margin": 0.004, "n_items": 100}
    return replace(result(), judges=judges, removal=(row,), droppable=goes, **measured)


def status(**changes):
    return statuses(with_judge(**changes))[0]


def test_a_judge_that_is_missed_or_helps_over_panels_of_all_sizes_is_kept():
    outcome = status(value=interval.Interval.single(0.01, 0.002, 0.018))
    assert (outcome.status, outcome.labels) == ("helps", None)
    assert outcome.reason == "Without it NLL rises by +0.0100 [+0.0020, +0.0180]."
    over_sizes = status(shapley=interval.Interval.single(0.01, 0.002, 0.03))
    assert over_sizes.status == "helps"
    assert "+0.0100 [+0.0020, +0.0300]" in over_sizes.reason


def test_a_judge_among_those_that_can_go_is_dropped_unless_it_is_missed():
    assert statuses(with_judge(3))[0].status == "unsettled"
    first = with_judge(3)
    out = replace(first, judges=(replace(first.judges[0], droppable=True), *first.judges[1:]))
    judge_status = statuses(out)[0]
    assert judge_status.status == "could go"
    assert "one of the 3 judges worth least" in judge_status.reason
    assert "+0.0000 [-0.0010, +0.0020]" in judge_status.reason
    missed = replace(out.judges[0], value=interval.Interval.single(0.001, 0.001, 0.012))
    assert statuses(replace(out, judges=(missed, *out.judges[1:])))[0].status == "helps"
    liked = replace(out.judges[0], shapley=interval.Interval.single(0.01, 0.001, 0.03))
    assert statuses(replace(out, judges=(liked, *out.judges[1:])))[0].status == "could go"


@pytest.mark.parametrize("value", [(0.005, 0.002, 0.01), (-0.01, -0.018, -0.002)])
def test_whoever_fails_the_checks_is_dropped_whatever_it_is_worth(value):
    judge = with_judge(value=interval.Interval.single(*value))
    rows = statuses(judge, {judge.judges[0].judge: "below chance", "gone": "always 1"})
    assert rows[0].status == "fails a check"
    assert rows[0].reason == "It fails the checks: below chance."
    assert (rows[-1].judge, rows[-1].status) == ("gone", "fails a check")
    assert len(rows) == len(judge.judges) + 1


def test_what_is_not_settled_says_how_many_labels_would_do():
    outcome = status(value=interval.Interval.single(0.004, -0.007, 0.015))
    assert outcome.status == "unsettled"
    assert outcome.labels == math.ceil(100 * (0.011 / 0.004) ** 2) == 757
    assert "about 757 labelled items would settle it" in outcome.reason


@pytest.mark.parametrize("value", [0.004, -0.004])
def test_at_that_many_labels_a_judge_to_watch_is_kept_or_dropped(value):
    outcome = status(value=interval.Interval.single(value, value - 0.011, value + 0.011))
    assert outcome.labels is not None
    half = 0.011 * math.sqrt(100 / (outcome.labels + 1))
    later = status(value=interval.Interval.single(value, value - half, value + half))
    assert later.status == ("helps" if value > 0 else "could go")


@pytest.mark.parametrize(("value", "half"), [(0.0, 0.008), (0.001, 0.011), (-0.001, 0.011)])
def test_a_value_too_close_to_0_is_not_promised_an_end(value, half):
    outcome = status(value=interval.Interval.single(value, value - half, value + half))
    assert outcome.labels is None
    assert "more than 2,000 labelled items would be needed" in outcome.reason


@pytest.mark.parametrize(
    ("value", "half", "labels"),
    [(0.0, 0.008, 400), (0.004, 0.016, 400), (-0.004, 0.016, 400), (0.0, 0.003, 100)],
)
def test_labels_go_with_the_square_of_the_width(value, half, labels):
    assert inference.labels_to_settle(value, half, 0.004, 100) == labels


@pytest.mark.parametrize("value", [0.0, -0.001])
def test_a_judge_hardly_missed_alone_is_called_so(value):
    outcome = status(value=interval.Interval.single(value, value - 0.002, value + 0.002))
    assert (outcome.status, outcome.labels) == ("unsettled", 400 if value else None)
    assert "hardly missed" in outcome.reason


def test_a_judge_that_may_be_missed_by_more_than_the_margin_is_not_called_hardly_missed():
    outcome = status(value=interval.Interval.single(0.02, -0.001, 0.041))
    assert (outcome.status, outcome.labels) == ("unsettled", 111)
    assert "hardly missed" not in outcome.reason
    assert outcome.reason.startswith("Keeping it costs no more than 2 %")


@pytest.mark.parametrize(
    "more", [{}, {"shapley": interval.Interval.single(0.01, 0.002, 0.03)}, {"droppable": True}]
)
def test_a_judge_the_panel_is_better_without_is_dropped(more):
    outcome = status(value=interval.Interval.single(-0.01, -0.018, -0.002), **more)
    assert (outcome.status, outcome.labels) == ("could go", None)
    assert outcome.reason.startswith("NLL falls without it: -0.0100 [-0.0180, -0.0020].")
    assert ("alone" in outcome.reason) == ("droppable" not in more)


def test_nobody_shown_to_harm_the_hard_panel_is_said_to_help():
    spec = ValueSpec(Settings(splits=4), aggregator="one_coin", calibrator="none", permutations=8)
    value = run(VALUE, load_votes(SAMPLES / "hard_panel_votes.csv").votes, spec, jobs=1)
    harmful = {judge.judge for judge in value.judges if judge.value.below()}
    rows = {judge_status.judge: judge_status for judge_status in statuses(value)}
    assert len(harmful) > 5
    assert {rows[name].status for name in harmful} == {"could go"}
    for judge in value.judges:
        if judge.value.above() or judge.value.below():
            assert "hardly missed" not in rows[judge.judge].reason


def test_nothing_is_said_from_a_single_split():
    unknown = float("nan")
    value, shapley = (interval.Interval.single(at, unknown, unknown) for at in (0.001, 0.01))
    outcome = status(value=value, shapley=shapley)
    assert (outcome.status, outcome.labels) == ("unsettled", None)
    assert outcome.reason == "Not enough splits yet to say."


def test_checks_name_judges_with_one_verdict_and_below_chance():
    votes = make_votes(3, 120, 5, missing=0.0, low=0.7, high=0.8)
    cast = votes.votes.copy()
    cast[:, 1] = 1
    cast[:, 3] = np.where(np.arange(120) % 6 == 0, votes.labels, 1 - votes.labels)
    odd = replace(votes, votes=cast)
    prepared = prepare(odd, Settings(orientation="as_given"))
    assert set(failures_of(prepared, "one_coin")) == {"judge001"}
    assert set(failures_of(prepared, "majority")) == {"judge001", "judge003"}
    aside = failures_of(prepare(odd, Settings(orientation="symmetric")), "one_coin")
    assert aside == {"judge001": "one verdict on nearly every labelled item, so it is set aside"}


def test_a_judge_without_a_vote_is_dropped_for_that_reason():
    votes = make_votes(3, 120, 5, missing=0.0, low=0.7, high=0.8)
    cast = votes.votes.copy()
    cast[:, 2] = MISSING
    failures = failures_of(prepare(replace(votes, votes=cast), Settings()), "one_coin")
    assert failures == {"judge002": "no vote on a labelled item, so it is set aside"}


def test_a_judge_always_against_the_label_is_dropped_for_that_reason():
    votes = make_votes(3, 120, 5, missing=0.0, low=0.7, high=0.8)
    labels = np.ones(120, np.int8)
    cast = np.where(votes.votes == votes.labels[:, None], 1, 0).astype(np.int8)
    cast[:, 4] = np.arange(120) % 20 == 0
    prepared = prepare(replace(votes, labels=labels, votes=cast), Settings())
    (reason,) = failures_of(prepared, "one_coin").values()
    assert reason.startswith("the verdict against the label on 90 % or more")


def test_what_a_judge_does_is_said_in_a_few_words():
    votes = make_votes(3, 200, 6, low=0.7, high=0.8)
    codes = votes.votes.copy()
    codes[:, 1] = codes[:, 0]  # A copy,
    codes[:, 2] = 1 - votes.labels  # one that is always wrong,
    codes[:100, 3] = -1  # and one that is absent half of the time.
    changed = replace(votes, votes=codes)
    names = changed.judges
    weights = dict.fromkeys(names[:5], 1.0) | {names[2]: -1.0}
    rows = [JudgeStatus(name, "could go", "", None) for name in names[3:4]]
    words = reasons_of(changed, weights, rows)
    assert words[names[0]] == f"nearly a copy of {names[1]}"
    assert words[names[2]] == "reversed: wrong more often than right"
    share = round(100 * (codes[:, 3] == MISSING).mean())
    spare = "adds little: could go at no loss that is shown"
    assert words[names[3]] == f"{spare}; {share} % missing"
    assert words[names[5]] == "not needed beside the panel"
    above = dict.fromkeys(names[:5], 1.0) | {names[4]: -1.0}
    assert words[names[4]] == "counts for much"
    assert reasons_of(changed, above, rows)[names[4]].startswith("reversed: corrects ")


def test_judges_that_all_miss_most_items_by_design_are_not_told_so():
    votes = make_votes(3, 200, 6, missing=0.8)
    assert set(reasons_of(votes, dict.fromkeys(votes.judges, 1.0)).values()) == {"counts for much"}
