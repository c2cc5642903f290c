"""No endpoint makes a run more expensive, longer or shorter than its user allows."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from judgepanel.cli import main
from judgepanel.collect import runner
from judgepanel.collect import runner as calls
from tests.hostile.collecting import entries, judge, n_votes, prepared, votes_in


@pytest.mark.parametrize("attack", ["usage-negative", "usage-400-digits", "usage-infinite"])
def test_no_count_of_tokens_loosens_the_cap(tmp_path, here, capsys, attack):
    prices = {"price_in": 1, "price_out": 1, "max_tokens": 1000}
    run = prepared(tmp_path, judge(here.url, attack, **prices), items=30)
    assert main([*run, "--max-cost", "0.02"]) == 1
    asked = here.asked(attack)
    spent = [entry["cost"] for entry in entries(tmp_path)]
    assert 0 < asked == len(spent) < 30
    assert min(spent) > 1000 * 1 / 1e6
    assert sum(spent) <= 0.02
    assert main([*run, "--max-cost", "0.02"]) == 1
    assert here.asked(attack) == asked
    capsys.readouterr()


def test_a_count_of_tokens_is_a_whole_number_up_to_the_most():
    most = calls.MOST_TOKENS
    assert [calls.count_of(count) for count in (0, most, float(most))] == [0, most, most]
    assert [calls.count_of(count) for count in (-1, most + 1, 0.5, True)] == [None] * 4


def test_a_judge_that_reports_more_than_it_may_use_takes_nothing_from_others(
    tmp_path, here, capsys
):
    prices = {"price_in": 1, "price_out": 10, "max_tokens": 100, "concurrency": 1}
    judges = [judge(here.url, name, **prices) for name in ("usage-too-many", "fine")]
    run = prepared(tmp_path, *judges, items=30)
    assert main([*run, "--max-cost", "1"]) == 1
    printed = capsys.readouterr().out
    assert here.asked("usage-too-many") == 1
    assert "reports 100 tokens in and 900,000 out" in printed
    assert "the cap cannot be kept with it" in printed
    assert n_votes(votes_in(tmp_path), "fine") == 30
    costs = {entry["judge"]: entry["cost"] for entry in entries(tmp_path)}
    assert costs["usage-too-many"] == pytest.approx(9.0001)


def test_calls_near_the_cap_wait_for_those_under_way(tmp_path, here):
    prices = {"price_in": 1, "price_out": 1, "max_tokens": 1000, "concurrency": 50}
    run = prepared(tmp_path, judge(here.url, "fine", **prices), items=50)
    # Room for four calls at their most, and for all fifty at what they use.
    assert main([*run, "--max-cost", "0.016"]) == 0


@pytest.mark.parametrize("attack", ["busy", "closed", "null"])
def test_a_judge_that_never_answers_is_stopped(tmp_path, here, capsys, attack):
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack), items=100)
    assert main(run) == 1
    assert f"Judge '{attack}' was stopped: 20 calls in a row came to nothing" in (
        capsys.readouterr().out
    )
    assert runner.BROKEN_AFTER <= here.asked(attack) <= runner.BROKEN_AFTER + 2
    assert n_votes(votes_in(tmp_path), "fine") == 100


def test_calls_that_a_server_refuses_one_by_one_do_not_stop_a_judge(tmp_path, here, capsys):
    assert main(prepared(tmp_path, judge(here.url, "refused"), items=40)) == 1
    assert here.asked("refused") == 40
    capsys.readouterr()


HOUR = datetime.now(UTC) + timedelta(hours=1)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("1e9", 60.0),
        ("1e400", 60.0),
        ("9" * 50, 60.0),
        pytest.param(format_datetime(HOUR, usegmt=True), 60.0, id="in an hour"),
        pytest.param(format_datetime(HOUR - timedelta(days=9), usegmt=True), 0.0, id="days ago"),
        ("-5", 0.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("soon", 0.0),
        ("Mon, 99 Foo 99999 99:99:99 GMT", 0.0),
        ("9" * 90_000 + "x", 0.0),
        ("", 0.0),
    ],
)
def test_a_pause_that_a_server_asks_for_is_at_most_a_minute(header, seconds):
    assert calls._asked_for(header) == seconds
