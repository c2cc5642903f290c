"""Costs and escalation on the command line: the judge table, options, refusals, output."""

import csv

import pytest

FEW = ("--splits", 2, "--jobs", 1, "--aggregator", "one_coin")


@pytest.fixture
def prices(samples):
    return samples / "clean_pairwise_judges.csv"


def test_the_frontier_is_printed_and_written(cli, clean, prices, tmp_path):
    out = tmp_path / "c.csv"
    more = ("--budget", "0.005", "--points", 3, "--out", out)
    ran = cli("study", "cost", clean, "--judge-table", prices, *FEW, *more)
    assert ran.status == 0
    assert "Under 0.00500 USD an item, " in ran.out
    assert "all 24 judges (0.0266 USD)" in ran.out
    assert "nan" not in ran.out.lower()
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 4 + 1
    assert {row["unit"] for row in rows} == {"usd"}
    assert all(float(row["slowest"]) > 0 for row in rows)


def test_escalation_is_printed(cli, clean, prices):
    more = ("--cheapest", 4, "--thresholds", "0.8")
    ran = cli("study", "escalation", clean, "--judge-table", prices, *FEW, *more)
    assert ran.status == 0
    assert "never (0.5)" in ran.out
    assert "The cheap panel is the 4 cheapest" in ran.out


def test_without_costs_judges_are_counted_and_one_note_says_so(cli, clean):
    for more in (("cost", clean, "--points", 2), ("escalation", clean, "--cheapest", 2)):
        ran = cli("study", *more, *FEW)
        assert ran.status == 0
        assert "24 judges" in ran.out or "24.0 judges" in ran.out
        assert ran.out.count("every judge counts 1") == 1


def test_a_budget_below_every_cost_is_refused_in_one_line(refused, clean, prices):
    line = refused("study", "cost", clean, "--judge-table", prices, *FEW, "--budget", "0.00001")
    assert "the cheapest, 'fam" in line
