"""Warnings that several studies share: when they are given, and that they travel with a result."""

from __future__ import annotations

import numpy as np

from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.notes import few_errors, few_labels
from judgepanel.studies.result_file import result_content
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import VoteMatrix

N = 80


def votes_with(n_wrong):
    """Three judges who agree, and who are wrong on so many items."""
    labels = (np.arange(N) % 2).astype(np.int8)
    votes = np.repeat(labels[:, None], 3, axis=1)
    votes[:n_wrong] = 1 - votes[:n_wrong]
    items = tuple(f"i{i}" for i in range(N))
    return VoteMatrix(votes, labels, items, ("a", "b", "c"))


def test_few_wrong_decisions_are_counted_and_said():
    (text,) = few_errors(prepare(votes_with(3), Settings()))
    assert text.startswith("Of 80 labelled items only 3 are decided wrongly by all judges together")
    assert "too short" in text
    assert "only 1 is decided" in few_errors(prepare(votes_with(1), Settings()))[0]
    assert few_errors(prepare(votes_with(10), Settings())) == []


def test_a_judge_below_chance_is_turned_round_first():
    opposed = votes_with(77)
    assert len(few_errors(prepare(opposed, Settings(orientation="as_given")))) == 1


def test_the_limit_travels_with_the_result():
    """Page, report, terminal and file all read the warnings of a result."""
    accurate, spec = votes_with(3), PanelCurveSpec(Settings(splits=2), calibrators=("none",))
    (text,) = few_errors(prepare(accurate, spec.settings))
    result = run(PANEL_CURVE, accurate, spec, jobs=1)
    assert text in result.warnings
    assert text in result_content(PANEL_CURVE, accurate, spec, result)["warnings"]
    assert text in few_labels(prepare(accurate, spec.settings), 40.0)
