"""The glossary: short definitions in alphabetical order, for every term that pages show."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from judgepanel.decision.statuses import Status
from judgepanel.studies.value.value_result import Role
from judgepanel.ui.glossary import TERMS
from judgepanel.votes.orientation import POLICIES


@pytest.mark.parametrize("term", TERMS)
def test_a_definition_is_one_or_two_sentences(term: str) -> None:
    text = TERMS[term]
    assert 20 < len(text) < 200
    assert text.endswith(".")
    assert len(re.findall(r"\.(?= [A-Z']|$)", text)) <= 2


def test_terms_are_in_alphabetical_order() -> None:
    assert list(TERMS) == sorted(TERMS, key=str.casefold)


@pytest.mark.parametrize(
    "term",
    [
        *("Joint", "Stacking", "One-coin", "Dawid–Skene", "Isotonic", "Platt", "Beta"),
        *("Cross-fitted", "Nested", "Tied", "Spearman ρ", "Conformal set", "Uncalibrated"),
        *("NLL", "Base-rate baseline", "Selection bias", "Expected NLL", "One-class coding"),
        *("P0", "P1", "P2", "P3"),
    ],
)
def test_a_term_of_the_pages_is_defined(term: str) -> None:
    assert term in TERMS


def test_choices_and_outcomes_are_defined() -> None:
    orientations = {policy.replace("_", " ").capitalize() for policy in POLICIES} - {"Auto"}
    assert orientations <= set(TERMS)
    assert all(role in TERMS["Role"] for role in get_args(Role))
    assert all(status in TERMS["Status"].lower() for status in get_args(Status))
