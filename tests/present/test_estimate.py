"""What is said about rates: of all items, of two and of several systems."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Table, flat
from judgepanel.present.decide.estimate import (
    default_specs,
    estimate_sentence,
    judges_sentence,
    order_sentence,
    present,
    worth_sentence,
)
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import Pipeline
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.estimate import ESTIMATE, EstimateSpec
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, VoteMatrix
from tests.studies.estimate.test_estimate import pairs_file


@cache
def votes_of(rates, seed=0):
    """Systems whose rates in the file are these, judges who favour label 1, and 120 labels."""
    rng = np.random.default_rng(seed)
    n, system = 900, np.arange(900) % len(rates)
    truth = np.zeros(n, dtype=np.int8)
    for code, rate in enumerate(rates):
        items = np.flatnonzero(system == code)
        truth[rng.choice(items, round(rate * len(items)), replace=False)] = 1
    right = rng.random((n, 9)) < np.where(truth[:, None] == 1, 0.9, 0.6)
    labels = np.full(n, MISSING, dtype=np.int8)
    shown = rng.choice(n, 120, replace=False)
    labels[shown] = truth[shown]
    return VoteMatrix(
        votes=np.where(right, truth[:, None], 1 - truth[:, None]).astype(np.int8),
        labels=labels,
        item_ids=tuple(f"i{k}" for k in range(n)),
        judges=tuple("abcdefghi"),
        task="pointwise",
        features=pd.DataFrame({"system": [f"S{code}" for code in system]}),
    )


@cache
def result_of(rates, by="system"):
    return run(ESTIMATE, votes_of(rates), EstimateSpec(by=by), jobs=1)


def test_labels_of_one_system_alone_compare_nothing():
    votes = votes_of((0.5, 0.8, 0.6))
    labels = np.where(np.arange(900) % 3 == 0, votes.labels, MISSING).astype(np.int8)
    result = run(ESTIMATE, replace(votes, labels=labels), EstimateSpec(by="system"), jobs=1)
    sentence = estimate_sentence(result)
    assert sentence.endswith("Only S0 has labels, so no system can be compared.")


@pytest.mark.parametrize(
    ("rates", "by", "pattern"),
    [
        ((0.5, 0.8), None, "The pass rate is 6.*for the items of this file; labels alone: "),
        ((0.5, 0.8), "system", ".*S1 beats S0 by .* points; labels alone: "),
        ((0.6, 0.6), "system", ".*Undecided between .*more labels would settle it[.]$"),
        ((0.3, 0.5, 0.9), "system", ".*The best system is S2[.]$"),
        ((0.3, 0.8, 0.8), "system", ".*Any of S1 or S2 may be the best system[.]$"),
        (
            (0.6, 0.6, 0.6),
            "system",
            r".*No system is shown to be better than another[.] About \d+ more labels would settle "
            r"S\d and S\d[.]$",
        ),
    ],
)
def test_a_rate_a_lead_or_what_may_be_best_or_would_settle_it_is_said(rates, by, pattern):
    assert re.match(pattern, estimate_sentence(result_of(rates, by)))


def test_features_that_are_no_systems_are_not_called_good():
    votes = votes_of((0.3, 0.5, 0.9))
    topics = replace(votes, features=votes.features.rename(columns={"system": "topic"}))
    result = run(ESTIMATE, topics, EstimateSpec(by="topic"), jobs=1)
    assert estimate_sentence(result).endswith("The topic with the highest rate is S2.")


def test_an_unfair_sample_is_said_before_any_number():
    votes = votes_of((0.5, 0.8))
    agreed = np.abs(votes.votes.mean(axis=1) - 0.5) > 0.4
    labels = np.where(agreed, votes.votes[:, 0], MISSING).astype(np.int8)
    result = run(ESTIMATE, replace(votes, labels=labels), EstimateSpec(), jobs=1)
    sentence = estimate_sentence(result)
    assert sentence.startswith("The labelled items are not a fair sample. The pass rate is ")


def test_labels_and_panel_are_said_in_labels():
    result = result_of((0.5, 0.8))
    worth = 120 * float(result.worth[0])
    assert worth_sentence(result).startswith(f"120 labels and the panel are worth {worth:,.0f}")
    assert "For ± 3 points, label " in worth_sentence(result)


def test_what_the_panel_is_worth_is_said_without_more_than_there_is():
    result = result_of((0.5, 0.8))
    idle = replace(result, worth=np.ones(3), rate=result.labels_alone)
    assert worth_sentence(idle).startswith("The panel does not help")
    # There are not many more labels for it to be worth.
    almost = replace(result, worth=np.full(3, 1.04))
    assert worth_sentence(almost).startswith("120 labels and the panel are worth 125 labels.")
    assert worth_sentence(replace(result, labelled=result.items)).startswith("Every item has a")


def test_what_judges_alone_say_is_called_too_high():
    assert "too high by " in judges_sentence(result_of((0.5, 0.8)))


def test_every_pair_has_a_row_the_clearest_first():
    result = result_of((0.3, 0.5, 0.9))
    tables = [b for b in flat(present(result, EstimateSpec(by="system"))) if isinstance(b, Table)]
    pairs = tables[1].texts()
    assert list(pairs["status"][:1]) == ["decided"]
    assert pairs.iloc[0][["group", "minus"]].tolist() == ["S2", "S0"]
    assert pairs["points"].str.startswith("+").all()


def test_of_pairs_that_are_alike_by_p_the_clearest_is_first():
    alike = replace(result_of((0.3, 0.5, 0.9)), p=np.ones(3), more_labels=np.array([0, 7, 0]))
    assert alike.decided.sum() == 0
    assert estimate_sentence(alike).endswith("About 7 more labels would settle S0 and S2.")


def test_pages_group_by_system_at_first():
    votes = votes_of((0.5, 0.8))
    (spec,) = default_specs(votes, Settings(), Pipeline())
    assert spec.by == "system"
    assert PRESENTATIONS[ESTIMATE.name].specs(votes, Settings()) == (spec,)


def test_systems_that_met_in_pairs_have_their_own_tables():
    result = run(ESTIMATE, pairs_file(), EstimateSpec(by="system"), jobs=1)
    blocks = list(flat(present(result, EstimateSpec(by="system"))))
    assert estimate_sentence(result).startswith("The best system is a. a wins 8")
    tables = [block.columns for block in blocks if isinstance(block, Table)]
    assert [name for table in tables for name in table if name == "wins"] == ["wins"]
    assert "favours its family" in next(table for table in tables if "same order" in table)
    sentence = order_sentence(result)
    assert "of 5 judges alone would give the same order." in sentence
    assert sentence.endswith("Beyond what the labels say, mine favours its own family.")


def test_nothing_is_said_of_the_order_without_groups():
    assert not order_sentence(result_of((0.5, 0.8), None))
