"""No endpoint makes a run dearer, longer or shorter than allowed, or sees what is not its own."""

import json
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from judgepanel.cli import main
from judgepanel.collect import read_pairs
from judgepanel.collect import runner as calls
from judgepanel.votes import load_votes
from tests.hostile.collecting import ITEMS, entries, judge, n_votes, prepared, votes_in
from tests.hostile.hostile_endpoint import DIGITS, KEY, OTHER_KEY, STOPPED, hostile_endpoint


@pytest.mark.parametrize("attack", ["usage-negative", "usage-400-digits", "usage-infinite"])
def test_no_count_of_tokens_loosens_the_cap(tmp_path, here, attack):
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


def test_a_count_of_tokens_is_a_whole_number_up_to_the_most():
    most = calls.MOST_TOKENS
    assert [calls.count_of(count) for count in (0, most, float(most))] == [0, most, most]
    assert [calls.count_of(count) for count in (-1, most + 1, 0.5, True)] == [None] * 4


def test_a_judge_that_reports_more_than_it_may_takes_nothing_from_others(tmp_path, here, capsys):
    prices = {"price_in": 1, "price_out": 10, "max_tokens": 100, "concurrency": 1}
    judges = [judge(here.url, name, **prices) for name in ("usage-too-many", "fine")]
    assert main([*prepared(tmp_path, *judges, items=30), "--max-cost", "1"]) == 1
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
    assert calls.BROKEN_AFTER <= here.asked(attack) <= calls.BROKEN_AFTER + 2
    assert n_votes(votes_in(tmp_path), "fine") == 100


def test_calls_that_a_server_refuses_one_by_one_do_not_stop_a_judge(tmp_path, here):
    assert main(prepared(tmp_path, judge(here.url, "refused"), items=40)) == 1
    assert here.asked("refused") == 40


HOUR = datetime.now(UTC) + timedelta(hours=1)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0), ("0.5", 0.5), ("1e9", 60.0), ("1e400", 60.0), ("9" * 50, 60.0),
        pytest.param(format_datetime(HOUR, usegmt=True), 60.0, id="in an hour"),
        pytest.param(format_datetime(HOUR - timedelta(days=9), usegmt=True), 0.0, id="days ago"),
        ("-5", 0.0), ("nan", 0.0), ("inf", 0.0), ("soon", 0.0),
        ("Mon, 99 Foo 99999 99:99:99 GMT", 0.0), ("9" * 90_000 + "x", 0.0), ("", 0.0),
    ],
)  # fmt: skip
def test_a_pause_that_a_server_asks_for_is_at_most_a_minute(header, seconds):
    assert calls._asked_for(header) == seconds


@pytest.mark.parametrize("attack", STOPPED)
def test_no_prompt_and_no_key_goes_where_the_judge_is_not(tmp_path, here, capsys, attack):
    with hostile_endpoint() as elsewhere:
        here.elsewhere = elsewhere.url
        assert main(prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack))) == 1
        assert elsewhere.requests == []
    printed = capsys.readouterr()
    assert f"Judge '{attack}' was stopped: the server " in printed.out
    assert here.asked(attack) <= 2
    assert n_votes(votes_in(tmp_path), "fine") == ITEMS
    assert KEY not in printed.out + printed.err


def test_only_what_a_call_needs_is_sent(tmp_path, here, monkeypatch):
    with hostile_endpoint() as elsewhere:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
        for name in ("ORG_ID", "PROJECT_ID", "API_KEY", "ADMIN_KEY", "WEBHOOK_SECRET"):
            monkeypatch.setenv(f"OPENAI_{name}", "ambient")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-ambient: ambient")
        netrc = tmp_path / ".netrc"
        netrc.write_text("default login ambient password ambient\n")
        monkeypatch.setenv("NETRC", str(netrc))
        monkeypatch.setenv("HOME", str(tmp_path))
        keyless = judge(here.url, "keyless", key_variable="")
        assert main(prepared(tmp_path, judge(here.url, "cookies"), keyless)) == 0
        assert elsewhere.requests == []
    always = {"host", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
    for request in here.requests:
        own = {"authorization"} if request.model == "cookies" else set()
        assert set(request.headers) - {"connection"} == always | own
        assert "ambient" not in str(request)


def test_a_proxy_is_used_where_a_judge_names_one(tmp_path, here):
    proxied = judge("http://127.0.0.1:9/v1", "proxied", proxy=f"http://127.0.0.1:{here.port}")
    assert main(prepared(tmp_path, proxied)) == 0
    assert here.requests[0].line.startswith("POST http://127.0.0.1:9/v1/chat/completions")


def test_a_key_goes_to_the_endpoint_of_its_judge_only(tmp_path, here):
    with hostile_endpoint() as other:
        second = judge(other.url, "second", key_variable="OTHER_KEY")
        assert main(prepared(tmp_path, judge(here.url, "first"), second)) == 0
        assert {request.headers["authorization"] for request in here.requests} == {f"Bearer {KEY}"}
        assert {request.headers["authorization"] for request in other.requests} == {
            f"Bearer {OTHER_KEY}"
        }


@pytest.mark.parametrize("key", ["sk-a\nx-evil: 1", "sk-a b", "sk-ключ", "sk-\x1b[31m"])
def test_a_key_that_no_header_carries_is_not_shown(tmp_path, here, monkeypatch, capsys, key):
    monkeypatch.setenv("JUDGE_KEY", key)
    assert main(prepared(tmp_path, judge(here.url, "fine"))) == 2
    printed = capsys.readouterr()
    assert "'JUDGE_KEY' holds a blank, a line break" in printed.err
    assert key not in printed.err
    assert here.requests == []


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("label", "maybe", "column 'label': not a label; unknown: 'maybe' (1)"),
        ("group_id", "", "column 'group_id': the group is empty"),
        ("feat_x", "inf", "column 'feat_x': an infinite number"),
    ],
)
def test_bad_pairs_are_refused_before_any_call(tmp_path, here, capsys, column, value, sentence):
    run = prepared(tmp_path, judge(here.url, "fine"))
    pairs = {"id": "q", "prompt": "p", "output_1": "x", "output_2": "y"}
    rows = [pairs | {column: "1"}, pairs | {"id": "r", column: value}]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(run) == 2
    assert f"pairs.jsonl, row 2, {sentence}" in capsys.readouterr().err
    assert here.requests == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"name": "a\0b"}, "has a name that a file of votes would not give back"),
        ({"name": " x"}, "has a name that a file of votes would not give back"),
        ({"name": "'=x"}, "has a name that a file of votes would not give back"),
        ({"name": "x" * 1000}, "has a name that a file of votes would not give back"),
        ({"model": "m\0"}, "has a control character in model"),
        ({"prompt": "../prompt.txt"}, "this prompt is not beside the file (found 'prompt.txt')"),
        ({"prompt": "/etc/passwd"}, "this prompt is not beside the file (found 'passwd')"),
        ({"prompt": "a\0b"}, "has a control character in prompt"),
        ({"prompt": "pipe"}, "this prompt is no file (found 'pipe')"),
        ({"prompt": "large"}, "this prompt is too long (found 'large')"),
        ({"base_url": "http://user:sk-1@h/v1"}, "has an address with a user, a query or a"),
        ({"base_url": "http://h/v1?key=sk-1"}, "has an address with a user, a query or a"),
        ({"base_url": "http://h/v1#sk-1"}, "has an address with a user, a query or a"),
        ({"base_url": "http:///v1"}, "has no address"),
        ({"base_url": "http://[::"}, "has no address"),
        ({"base_url": "http://h:99999/v1"}, "has no address"),
        ({"base_url": "http://h/\r\nx: y"}, "has no address"),
        ({"proxy": "socks5://h"}, "has a proxy without an address"),
        ({"proxy": "http://user:sk-1@h"}, "has an address with a user, a query or a"),
    ],
)
def test_hostile_judges_are_refused_in_one_sentence(tmp_path, here, capsys, settings, sentence):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * 1_000_001)
    assert main(prepared(tmp_path, judge(here.url, "fine", **settings))) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line
    assert "sk-1" not in line
    assert here.requests == []


@pytest.mark.parametrize(
    "text", [f"seed = {DIGITS * 20}", f"seed = 0x{'f' * 9000}", "judge = " + "[" * 100_000]
)
def test_a_file_of_judges_that_no_parser_takes_is_refused(tmp_path, here, capsys, text):
    assert main(prepared(tmp_path, text)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("judgepanel: judges.toml: ")


def test_votes_are_written_whole_or_not_at_all(tmp_path, here, monkeypatch, capsys):
    run = prepared(tmp_path, judge(here.url, "fine"))
    assert main(run) == 0
    before = (tmp_path / "out" / "votes.csv").read_bytes()

    def full(_votes, path):
        path.write_bytes(before[:10])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("judgepanel.cli.collecting.write_votes", full)
    assert main(run) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (tmp_path / "out" / "votes.csv").read_bytes() == before
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip


def test_a_judge_that_writes_much_does_not_keep_votes_from_being_read(tmp_path, here, monkeypatch):
    monkeypatch.setattr("judgepanel.votes.limits.MAX_UPLOAD_MB", 0.001)
    assert main(prepared(tmp_path, judge(here.url, "fine"), items=8)) == 0
    assert (tmp_path / "out" / "votes.csv").exists()


HOSTILE_IDS = [
    "../../etc/passwd", "/etc/passwd", "=1+1", "''=1+1", "' x", "+x", "\u202egnp", "<b>", "a,b",
    '"', "-1", "a\nb", "label", "\x1b[2J", "NA", "x" * 1_000,
]  # fmt: skip


def test_hostile_ids_name_no_file_and_come_back_as_they_were(tmp_path, here):
    run = prepared(tmp_path, judge(here.url, "fine", concurrency=1))
    rows = [{"id": name, "prompt": "p", "output_1": "x", "output_2": "y"} for name in HOSTILE_IDS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(run) == 0
    assert main(run) == 0
    assert here.asked("fine") == len(HOSTILE_IDS)
    ids = read_pairs(tmp_path / "pairs.jsonl").ids
    assert votes_in(tmp_path).votes.item_ids == ids
    assert load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False).votes.item_ids == ids
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "pairs.jsonl", "judges.toml", ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip
