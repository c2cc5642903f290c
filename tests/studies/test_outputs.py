"""Self-consistency and lean: right on made-up counts, and their intervals cover."""

from __future__ import annotations

import numpy as np
import pytest

from judgepanel.studies.understand.judge_table import check_outputs, lean_interval, positions
from judgepanel.votes.table import LEVELS, REASONS, Coverage, JudgeCoverage
from judgepanel.words.outputs import coverage_sentence, position_sentence


def judge(
    name: str, read: int, unread: int = 0, both: int = 0, same: int = 0, first: int = 0
) -> JudgeCoverage:
    levels = (read, *[0] * (len(LEVELS) - 1))
    reasons = (*[0] * (len(REASONS) - 1), unread)
    return JudgeCoverage(name, read + unread, levels, reasons, 0, both, same, first)


def coverage(*judges: JudgeCoverage) -> Coverage:
    return Coverage(judges, ())


def test_consistency_and_lean_are_shares_of_items_in_both_orders() -> None:
    result = positions(coverage(judge("x", 200, both=100, same=60, first=30), judge("y", 5)))
    assert result is not None
    assert result.judges == ("x",)
    consistent, lean = result.consistent[0], result.lean[0]
    assert (consistent.value, lean.value) == (0.6, 0.2)
    assert consistent.lo < 0.6 < consistent.hi
    assert 0 < lean.lo < 0.2 < lean.hi < 0.4


def test_without_both_orders_there_is_nothing_to_say() -> None:
    assert positions(coverage(judge("x", 20))) is None


def test_lean_changes_its_sign_with_the_places() -> None:
    first, second, items = (np.array([n]) for n in (17, 4, 80))
    lo, hi = lean_interval(first, second, items)
    other_lo, other_hi = lean_interval(second, first, items)
    assert (lo, hi) == (pytest.approx(-other_hi), pytest.approx(-other_lo))


@pytest.mark.parametrize(("items", "shares"), [(30, (0.1, 0.1)), (100, (0.3, 0.05)), (400, (0, 0))])
def test_the_interval_of_the_lean_covers(items: int, shares: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    first, second, _ = rng.multinomial(items, [*shares, 1 - sum(shares)], size=4_000).T
    lo, hi = lean_interval(first, second, np.full(4_000, items))
    true = shares[0] - shares[1]
    assert ((lo <= true) & (true <= hi)).mean() >= 0.93


def test_the_sentence_names_the_least_consistent_and_counts_who_leans() -> None:
    result = positions(
        coverage(
            judge("steady", 200, both=100, same=99, first=1),
            judge("**first**", 200, both=100, same=40, first=60),
            judge("second", 200, both=100, same=70, first=2),
        )
    )
    assert result is not None
    sentence = position_sentence(result)
    assert (
        "3 judges saw items in both orders. The least consistent by the upper limit, **first**"
        in sentence
    )
    assert sentence.endswith(
        "1 judge prefers what is shown first; 1 judge prefers what is shown second."
    )


@pytest.mark.parametrize(
    ("unread", "outcome"), [(10, "pass"), (11, "review"), (29, "review"), (30, "fail")]
)
def test_p1_on_outputs_follows_the_papers_thresholds(unread: int, outcome: str) -> None:
    outputs = check_outputs(coverage(judge("x", 100), judge("y", 100 - unread, unread)))
    assert (outputs.code, outputs.outcome) == ("P1", outcome)
    assert f"'y': {100 - unread} %" in outputs.why


def test_the_answer_names_the_judge_that_is_read_least() -> None:
    sentence = coverage_sentence(coverage(judge("x", 100), judge("y", 54, 46)))
    assert sentence == "77.0 % of 200 outputs are read as a verdict; y the least, 54 %."
    assert (
        coverage_sentence(coverage(judge("x", 10))) == "100 % of 10 outputs are read as a verdict."
    )


def test_one_item_makes_nobody_the_least_consistent() -> None:
    result = positions(
        coverage(judge("once", 2, both=1, same=0, first=1), judge("often", 200, both=100, same=50))
    )
    assert result is not None
    assert "by the upper limit, often, says the same in both on 50 %" in position_sentence(result)
