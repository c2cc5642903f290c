"""Judges behind endpoints that mean harm: a vote or a reason, within bounds, and others go on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.collect import Journal, calls, completion, journal, read_judges, read_pairs, runner
from judgepanel.collect.judge_rows import NAMES
from judgepanel.votes import InputError, Loaded, load_votes
from tests.hostile.hostile_endpoint import (
    ATTACKS,
    DIGITS,
    NO_ANSWER,
    READ_AS_A_VOTE,
    STOPPED,
    UNUSABLE,
    HostileEndpoint,
    hostile_endpoint,
    sized,
)
from tests.hostile.hostile_endpoint import completion as answer

KEY = "sk-secret-0123456789"
OTHER_KEY = "sk-other-9876543210"
ITEMS = 4


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostileEndpoint]:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", OTHER_KEY)
    monkeypatch.setattr(calls, "FIRST_PAUSE", 0.001)
    with hostile_endpoint() as served:
        yield served


def judge(url: str, attack: str, **settings: object) -> str:
    known = {
        "name": attack,
        "model": attack,
        "base_url": url,
        "key_variable": "JUDGE_KEY",
        "attempts": 1,
        "concurrency": 2,
        "per_minute": 1_000_000,
    }
    lines = (f"{name} = {json.dumps(value)}" for name, value in {**known, **settings}.items())
    return "\n".join(("[[judge]]", *lines, ""))


def prepared(folder: Path, *judges: str, items: int = ITEMS) -> list[str]:
    """The arguments of a run; every pair has the label 1 for odd numbers."""
    rows = [
        {"id": f"q{n}", "prompt": "p", "output_1": "x", "output_2": "y", "label": n % 2}
        for n in range(items)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "judges.toml").write_text("\n".join(judges))
    files = [str(folder / name) for name in ("pairs.jsonl", "judges.toml")]
    return ["collect", *files, "--out", str(folder / "out")]


def votes_in(folder: Path) -> Loaded:
    out = folder / "out"
    return load_votes(out / "votes.csv", judge_table=out / "judges.csv", need_labels=False)


def n_votes(loaded: Loaded, name: str) -> int:
    return int((loaded.votes.votes[:, loaded.votes.judges.index(name)] >= 0).sum())


def entries(folder: Path) -> list[dict]:
    lines = (folder / "out" / "outputs.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("attack", READ_AS_A_VOTE)
def test_what_is_odd_and_an_answer_all_the_same_is_a_vote(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack, price_out=10))
    assert main(run) == 0
    loaded = votes_in(tmp_path)
    assert (n_votes(loaded, "fine"), n_votes(loaded, attack)) == (ITEMS, ITEMS)
    assert main([*run, "--max-cost", "100"]) == 0
    assert here.asked(attack) == ITEMS
    capsys.readouterr()


@pytest.mark.parametrize("attack", UNUSABLE)
def test_an_output_that_no_file_of_votes_holds_is_kept_escaped_and_is_no_vote(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack))
    assert main(run) == 0
    assert f"4 outputs of '{attack}' are kept escaped and not read" in capsys.readouterr().out
    loaded = votes_in(tmp_path)
    assert (n_votes(loaded, "fine"), n_votes(loaded, attack)) == (ITEMS, 0)
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    assert (uploaded.votes.votes == loaded.votes.votes).all()
    assert uploaded.coverage is not None
    reasons = {one.judge: one.reasons[-1] for one in uploaded.coverage.judges}
    assert reasons == {"fine": 0, attack: ITEMS}
    most = completion.longest_text(max_tokens=1024)
    for entry in entries(tmp_path):
        assert isinstance(entry["text"], str)
        assert len(entry["text"]) <= most
    assert main(run) == 0
    assert here.asked(attack) == ITEMS
    capsys.readouterr()


def test_an_escaped_output_says_what_was_written(tmp_path: Path, here: HostileEndpoint) -> None:
    main(prepared(tmp_path, *(judge(here.url, attack) for attack in ("nul", "surrogate", "list"))))
    texts = {entry["judge"]: (entry["text"], entry["unusable"]) for entry in entries(tmp_path)}
    assert texts == {
        "nul": (r"because \x00 [[A]]", "a NUL or a broken Unicode character"),
        "surrogate": (r"because \ud800 [[A]]", "a NUL or a broken Unicode character"),
        "list": ('[{"type": "text", "text": "[[A]]"}]', "not text"),
    }


SLOW = ("endless-continue", "slow-body", "slow-header", "silent")
REASONS = {
    **dict.fromkeys(SLOW, "no whole answer within 1 s"),
    **dict.fromkeys(
        ("endless", "endless-chunks", "endless-until-closed", "ten-megabytes"),
        "an answer of more than 1,114,112 bytes",
    ),
    "pieces": "an answer in more than 16,384 pieces",
    "zipped": "an answer that is compressed, which was not asked for",
    **dict.fromkeys(("deep", "digits", "not-utf8", "null"), "an answer that is not a completion"),
    "busy": "status 429",
    "refused": "status 400: the server will not take this call",
}


@pytest.mark.parametrize("attack", [*NO_ANSWER, "echo-500"])
def test_what_is_no_answer_is_given_up_and_others_go_on(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    reason, timeout = REASONS.get(attack, ""), 1.0 if attack in SLOW else 120.0
    hostile = judge(here.url, attack, timeout=timeout)
    assert main(prepared(tmp_path, judge(here.url, "fine"), hostile, items=2)) == 1
    printed = capsys.readouterr()
    assert f"2 calls of '{attack}' were given up, most often for: {reason}" in printed.out
    assert n_votes(votes_in(tmp_path), "fine") == 2
    assert here.asked(attack) <= 2
    written = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert KEY not in printed.out + printed.err + written


@pytest.mark.parametrize("attack", STOPPED)
def test_no_prompt_and_no_key_goes_where_the_judge_is_not(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    with hostile_endpoint() as elsewhere:
        here.elsewhere = elsewhere.url
        assert main(prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack))) == 1
        assert elsewhere.requests == []
    printed = capsys.readouterr()
    assert f"Judge '{attack}' was stopped: the server " in printed.out
    assert here.asked(attack) <= 2
    assert n_votes(votes_in(tmp_path), "fine") == ITEMS
    assert KEY not in printed.out + printed.err


def test_all_attacks_at_once_leave_an_honest_judge_all_its_votes(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    here.elsewhere = here.url
    silent = [judge(here.url, attack, timeout=1.0, price_out=10) for attack in NO_ANSWER]
    others = sorted(ATTACKS.keys() - NO_ANSWER.keys())
    hostile = [judge(here.url, attack, price_out=10) for attack in others] + silent
    fine = judge(here.url, "fine", price_out=10)
    run = prepared(tmp_path, *hostile, fine, items=2)
    assert main([*run, "--max-cost", "100"]) == 1
    loaded = votes_in(tmp_path)
    assert n_votes(loaded, "fine") == 2
    assert sum(n_votes(loaded, attack) for attack in READ_AS_A_VOTE) == 2 * len(READ_AS_A_VOTE)
    capsys.readouterr()


MEASURED = """
import resource, sys
from pathlib import Path
from judgepanel.collect import Journal, collect, read_judges, read_pairs
folder = Path(sys.argv[1])
pairs = read_pairs(folder / "pairs.jsonl")
peaks = []
for number, name in enumerate(("fine", "hostile")):
    with Journal(folder / name) as journal:
        collect(pairs, read_judges(folder / f"{name}.toml"), journal)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(peaks[1] - peaks[0])
"""


def test_memory_is_bounded_by_what_is_read_of_an_answer(
    tmp_path: Path, here: HostileEndpoint
) -> None:
    large = ("endless", "endless-chunks", "endless-until-closed", "ten-megabytes", "zipped")
    prepared(tmp_path)
    (tmp_path / "fine.toml").write_text(judge(here.url, "fine"))
    (tmp_path / "hostile.toml").write_text(
        "\n".join(judge(here.url, attack) for attack in (*large, "lists", "long"))
    )
    # An endless answer would never come to an end where it is read whole: 4 GiB end it as well.
    command = f"ulimit -v {4 << 20}; exec {sys.executable} -c '{MEASURED}' {tmp_path}"
    measured = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert int(measured.stdout) < 128
    assert all(here.asked(attack) == ITEMS for attack in large)


def test_only_what_a_call_needs_is_sent(
    tmp_path: Path, here: HostileEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_proxy_is_used_where_a_judge_names_one(tmp_path: Path, here: HostileEndpoint) -> None:
    proxied = judge("http://127.0.0.1:9/v1", "proxied", proxy=f"http://127.0.0.1:{here.port}")
    assert main(prepared(tmp_path, proxied)) == 0
    assert here.requests[0].line.startswith("POST http://127.0.0.1:9/v1/chat/completions")


def test_a_key_goes_to_the_endpoint_of_its_judge_only(
    tmp_path: Path, here: HostileEndpoint
) -> None:
    with hostile_endpoint() as other:
        second = judge(other.url, "second", key_variable="OTHER_KEY")
        assert main(prepared(tmp_path, judge(here.url, "first"), second)) == 0
        assert {one.headers["authorization"] for one in here.requests} == {f"Bearer {KEY}"}
        assert {one.headers["authorization"] for one in other.requests} == {f"Bearer {OTHER_KEY}"}


@pytest.mark.parametrize("key", ["sk-a\nx-evil: 1", "sk-a b", "sk-ключ", "sk-\x1b[31m"])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(
    tmp_path: Path,
    here: HostileEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    monkeypatch.setenv("JUDGE_KEY", key)
    assert main(prepared(tmp_path, judge(here.url, "fine"))) == 2
    printed = capsys.readouterr()
    assert "'JUDGE_KEY' holds a blank, a line break" in printed.err
    assert key not in printed.err
    assert here.requests == []


@pytest.mark.parametrize("attack", ["usage-negative", "usage-400-digits", "usage-infinite"])
def test_no_count_of_tokens_loosens_the_cap(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
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


def test_a_judge_that_reports_more_than_it_may_use_takes_nothing_from_others(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_calls_near_the_cap_wait_for_those_under_way(tmp_path: Path, here: HostileEndpoint) -> None:
    prices = {"price_in": 1, "price_out": 1, "max_tokens": 1000, "concurrency": 50}
    run = prepared(tmp_path, judge(here.url, "fine", **prices), items=50)
    # Room for four calls at their most, and for all fifty at what they use.
    assert main([*run, "--max-cost", "0.016"]) == 0


@pytest.mark.parametrize("attack", ["busy", "closed", "null"])
def test_a_judge_that_never_answers_is_stopped(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack), items=100)
    assert main(run) == 1
    assert f"Judge '{attack}' was stopped: 20 calls in a row came to nothing" in (
        capsys.readouterr().out
    )
    assert runner.BROKEN_AFTER <= here.asked(attack) <= runner.BROKEN_AFTER + 2
    assert n_votes(votes_in(tmp_path), "fine") == 100


def test_calls_that_a_server_refuses_one_by_one_do_not_stop_a_judge(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_a_pause_that_a_server_asks_for_is_at_most_a_minute(header: str, seconds: float) -> None:
    assert calls._asked_for(header) == seconds


def test_nothing_of_an_output_reaches_the_terminal_or_a_spreadsheet_as_a_command(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    run = prepared(tmp_path, judge(here.url, "ansi"), judge(here.url, "formula"))
    assert main(run) == 0
    printed = capsys.readouterr()
    assert all(char.isprintable() or char == "\n" for char in printed.out + printed.err)
    lines = (tmp_path / "out" / "outputs.jsonl").read_bytes().decode().split("\n")
    assert all(char.isprintable() for line in lines for char in line)
    rows = (tmp_path / "out" / "judges.csv").read_text().splitlines()
    cells = [cell.strip('"') for row in rows for cell in row.split(",")]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert "'=HYPERLINK(1) [31mxxx" in rows[2]
    assert len(rows[2]) < 300


def test_a_server_with_a_new_name_for_every_answer_fills_no_table(
    tmp_path: Path, here: HostileEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renamed(caller: socket.socket, endpoint: HostileEndpoint, _request: object) -> None:
        name = f"model-{len(endpoint.requests):03}"
        caller.sendall(sized(json.dumps(answer(model=name)).encode()))

    monkeypatch.setitem(ATTACKS, "renamed", renamed)
    assert main(prepared(tmp_path, judge(here.url, "renamed"), items=60)) == 0
    table = (tmp_path / "out" / "judges.csv").read_text()
    assert table.count("model-") == NAMES


OLD = {"judge": "old", "finish": "stop", "seconds": 1.0, "attempts": 1, "label": "1"}
BEFORE = [
    {"text": "[[A]] \0", "served_by": "m\0", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
    {"text": "[[A]] \ud800", "served_by": "m", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
    {"text": [{"text": "[[A]]"}], "served_by": "m", "tokens_in": 1, "tokens_out": 1, "cost": 1e-4},
    {"text": "[[A]]", "served_by": "m", "tokens_in": -(10**9), "tokens_out": -1, "cost": -1e3},
    {"text": "[[A]]", "served_by": "m", "tokens_in": 10**300, "tokens_out": 1, "cost": 1e294},
    {"text": "[[A]]", "served_by": "m", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
]


def journal_from_before(folder: Path) -> None:
    plan = read_judges(folder / "judges.toml")
    asked = plan.fingerprint(plan.judges[0])
    (folder / "out").mkdir()
    (folder / "out" / "outputs.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "item_id": f"q{n}",
                    **OLD,
                    **entry,
                    "asked": asked,
                    "order": plan.orders(f"q{n}")[0],
                }
            )
            + "\n"
            for n, entry in enumerate(BEFORE)
        )
    )


def test_a_journal_from_before_with_such_outputs_is_read_again(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"price_in": 1, "price_out": 1, "max_tokens": 1000}
    run = prepared(tmp_path, judge(here.url, "old", **settings), items=len(BEFORE) + 1)
    journal_from_before(tmp_path)
    assert main([*run, "--max-cost", "0.02"]) == 0
    assert here.asked("old") == 1
    loaded = votes_in(tmp_path)
    assert (loaded.votes.votes[:, 0] >= 0).tolist() == [False, False, False, True, True, True, True]
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    assert (uploaded.votes.votes == loaded.votes.votes).all()
    assert entries(tmp_path)[3]["text"] == "[[A]]"
    # Two calls whose cost is not known count as the most that they can have been.
    with Journal(tmp_path / "out") as kept:
        pairs, plan = read_pairs(tmp_path / "pairs.jsonl"), read_judges(tmp_path / "judges.toml")
        _, dollars = runner.finished(kept, plan, pairs)
    assert 2 * 1000 / 1e6 < dollars < 0.02
    capsys.readouterr()


def test_a_journal_that_cannot_be_mended_for_want_of_room_is_left_as_it_was(
    tmp_path: Path, here: HostileEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path, judge(here.url, "old"))
    journal_from_before(tmp_path)
    before = (tmp_path / "out" / "outputs.jsonl").read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"), Journal(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "outputs.jsonl").read_bytes() == before
    assert not (tmp_path / "out" / ".outputs.new").exists()


def test_votes_are_written_whole_or_not_at_all(
    tmp_path: Path,
    here: HostileEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = prepared(tmp_path, judge(here.url, "fine"))
    assert main(run) == 0
    before = (tmp_path / "out" / "votes.csv").read_bytes()

    def full(_votes: object, path: Path) -> None:
        path.write_bytes(before[:10])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("judgepanel.cli.collecting.write_votes", full)
    assert main(run) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (tmp_path / "out" / "votes.csv").read_bytes() == before
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip


def test_one_judge_that_writes_much_does_not_keep_votes_from_being_read(
    tmp_path: Path,
    here: HostileEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("judgepanel.votes.limits.MAX_UPLOAD_MB", 0.001)
    assert main(prepared(tmp_path, judge(here.url, "fine"), items=8)) == 0
    assert (tmp_path / "out" / "votes.csv").exists()
    capsys.readouterr()


HOSTILE_IDS = [
    "../../etc/passwd", "/etc/passwd", "=1+1", "''=1+1", "' x", "+x", "\u202egnp", "<b>", "a,b",
    '"', "-1", "a\nb", "label", "\x1b[2J", "NA", "x" * 10_000,
]  # fmt: skip


def test_hostile_ids_name_no_file_and_come_back_as_they_were(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    run = prepared(tmp_path, judge(here.url, "fine", concurrency=1))
    rows = [{"id": name, "prompt": "p", "output_1": "x", "output_2": "y"} for name in HOSTILE_IDS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(run) == 0
    assert main(run) == 0
    assert here.asked("fine") == len(HOSTILE_IDS)
    ids = read_pairs(tmp_path / "pairs.jsonl").ids
    assert votes_in(tmp_path).votes.item_ids == ids
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    assert uploaded.votes.item_ids == ids
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "pairs.jsonl", "judges.toml", ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip
    capsys.readouterr()


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("label", "maybe", "column 'label': not a label (found 'maybe')"),
        ("group_id", "", "column 'group_id': the group is empty"),
        ("feat_x", "inf", "column 'feat_x': an infinite number"),
    ],
)
def test_what_votes_would_be_refused_for_is_refused_before_anything_is_paid(
    tmp_path: Path,
    here: HostileEndpoint,
    capsys: pytest.CaptureFixture[str],
    column: str,
    value: str,
    sentence: str,
) -> None:
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
def test_hostile_judges_are_refused_in_one_sentence(
    tmp_path: Path,
    here: HostileEndpoint,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, str],
    sentence: str,
) -> None:
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
def test_a_file_of_judges_that_no_parser_takes_is_refused(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert main(prepared(tmp_path, text)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("judgepanel: judges.toml: ")
