"""Each answer of a hostile endpoint becomes a vote or a reason, within bounds; others continue."""

import json
import subprocess
import sys

import numpy as np
import pytest

from judgepanel.cli import main
from judgepanel.collect import runner as calls
from judgepanel.collect.runner import NAMES
from judgepanel.votes import load_votes
from judgepanel.votes import table as verdicts
from tests.hostile.collecting import ITEMS, entries, judge, n_votes, prepared, votes_in
from tests.hostile.hostile_endpoint import ATTACKS, KEY, NO_ANSWER, READ_AS_A_VOTE, UNUSABLE, sized
from tests.hostile.hostile_endpoint import completion as answer


@pytest.mark.parametrize("attack", READ_AS_A_VOTE)
def test_what_is_odd_and_an_answer_all_the_same_is_a_vote(tmp_path, here, attack):
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack, price_out=10))
    assert main(run) == 0
    loaded = votes_in(tmp_path)
    assert (n_votes(loaded, "fine"), n_votes(loaded, attack)) == (ITEMS, ITEMS)
    assert main([*run, "--max-cost", "100"]) == 0
    assert here.asked(attack) == ITEMS


@pytest.mark.parametrize("attack", UNUSABLE)
def test_an_output_that_no_file_of_votes_holds_is_kept_escaped_and_is_no_vote(
    tmp_path, here, capsys, attack
):
    run = prepared(tmp_path, judge(here.url, "fine"), judge(here.url, attack))
    assert main(run) == 0
    assert f"4 outputs of '{attack}' are kept escaped and not read" in capsys.readouterr().out
    loaded = votes_in(tmp_path)
    assert (n_votes(loaded, "fine"), n_votes(loaded, attack)) == (ITEMS, 0)
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    rows = np.array([uploaded.votes.item_ids.index(name) for name in loaded.votes.item_ids])
    as_written = uploaded.votes.with_items(rows).with_judges(loaded.votes.judges)
    assert (as_written.votes == loaded.votes.votes).all()
    place = verdicts.REASONS.index("unusable")
    reasons = {judge.judge: judge.reasons[place] for judge in uploaded.coverage.judges}
    assert reasons == {"fine": 0, attack: ITEMS}
    most = calls.longest_text(max_tokens=1024)
    for entry in entries(tmp_path):
        assert isinstance(entry["text"], str)
        assert len(entry["text"]) <= most
    assert main(run) == 0
    assert here.asked(attack) == ITEMS


def test_an_escaped_output_says_what_was_written(tmp_path, here):
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
def test_what_is_no_answer_is_given_up_and_others_go_on(tmp_path, here, capsys, attack):
    reason, timeout = REASONS.get(attack, ""), 1.0 if attack in SLOW else 120.0
    hostile = judge(here.url, attack, timeout=timeout)
    assert main(prepared(tmp_path, judge(here.url, "fine"), hostile, items=2)) == 1
    printed = capsys.readouterr()
    assert f"2 calls of '{attack}' were given up, most often for: {reason}" in printed.out
    assert n_votes(votes_in(tmp_path), "fine") == 2
    assert here.asked(attack) <= 2
    written = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert KEY not in printed.out + printed.err + written


def test_all_attacks_at_once_leave_an_honest_judge_all_its_votes(tmp_path, here):
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


def test_memory_is_bounded_by_what_is_read_of_an_answer(tmp_path, here):
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


def test_nothing_of_an_output_reaches_the_terminal_or_a_spreadsheet_as_a_command(
    tmp_path, here, capsys
):
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


def test_a_server_with_a_new_name_for_every_answer_fills_no_table(tmp_path, here, monkeypatch):
    def renamed(caller, endpoint, _request):
        name = f"model-{len(endpoint.requests):03}"
        caller.sendall(sized(json.dumps(answer(model=name)).encode()))

    monkeypatch.setitem(ATTACKS, "renamed", renamed)
    assert main(prepared(tmp_path, judge(here.url, "renamed"), items=60)) == 0
    table = (tmp_path / "out" / "judges.csv").read_text()
    assert table.count("model-") == NAMES
