"""`estimate` is the study of that name, and a gate for pipelines."""

from __future__ import annotations

import json

import pandas as pd
import pytest


@pytest.fixture
def llmbar(samples):
    return samples / "llmbar_votes.csv"


def test_estimate_writes_the_table_of_the_study(cli, llmbar, tmp_path):
    ran = cli("estimate", llmbar, "--by", "subset", "--out", tmp_path / "rates.csv")
    assert ran.status == 0
    assert "The win rate of the first response is " in ran.out
    rates = pd.read_csv(tmp_path / "rates.csv")
    assert rates["group"].tolist()[:2] == ["all items", "GPTInst"]
    cli("study", "estimate", llmbar, "--by", "subset", "--out", tmp_path / "rates.json")
    table = json.loads((tmp_path / "rates.json").read_text("utf-8"))["table"]
    assert [row["rate"] for row in table] == pytest.approx(rates["rate"].tolist())


@pytest.mark.parametrize(("rate", "status"), [("0.3", 0), ("0.5", 0), ("0.6", 1)])
def test_a_rate_shown_to_be_too_low_fails(cli, llmbar, rate, status):
    ran = cli("estimate", llmbar, "--fail-under", rate)
    assert ran.status == status
    assert ("failed: the rate is 49.2 %" in ran.err) == (status == 1)


def test_a_group_that_is_not_shown_to_be_better_fails(cli, llmbar):
    options = ("estimate", llmbar, "--by", "subset", "--about", "file", "--fail-unless-better")
    assert cli(*options, "Natural", "Neighbor").status == 0
    ran = cli(*options, "Neighbor", "Natural")
    assert ran.status == 1
    assert "failed: Natural is not shown to be better than Neighbor." in ran.err


def test_an_unknown_group_is_refused_with_the_known_ones(cli, llmbar):
    ran = cli("estimate", llmbar, "--by", "subset", "--fail-unless-better", "Natural", "Unnatural")
    assert ran.status == 2
    assert "there is no such group (found 'Unnatural'); allowed: GPTInst, GPTOut" in ran.err
