"""Whatever an endpoint answers, a run ends with a vote or a reason, and votes can be read back."""

import json
import math
import tempfile
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judgepanel.collect import Journal, collect, judge_rows, read_judges, read_pairs, votes_of
from judgepanel.collect import runner as calls
from judgepanel.votes import InputError, load_votes, write_votes

JUDGES = """
[[judge]]
name = "any"
model = "m"
base_url = "http://localhost:9/v1"
attempts = 2
concurrency = 1
per_minute = 1000000
price_in = 1
price_out = 1
max_tokens = 10
"""
ITEMS = 6
TEXTS = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    ["[[A]]", "[[B]] \0", "\ud800[[A]]", "<think>", "tie", "A", "=1+1", "\x9b31m", "A" * 40_000]
)
NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**400), 10**6, 10**6 + 1, -1, 0, math.inf, 1e300])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def maybe(strategy):
    return strategy | VALUES


MESSAGES = st.fixed_dictionaries({"content": TEXTS | VALUES})
CHOICES = st.fixed_dictionaries({"message": maybe(MESSAGES), "finish_reason": VALUES})
USAGE = st.fixed_dictionaries({"prompt_tokens": NUMBERS, "completion_tokens": NUMBERS})
COMPLETIONS = st.fixed_dictionaries(
    {"choices": maybe(st.lists(maybe(CHOICES), max_size=2)), "usage": maybe(USAGE), "model": VALUES}
)
BODIES = (
    st.binary(max_size=60)
    | VALUES.map(json.dumps).map(str.encode)
    | COMPLETIONS.map(json.dumps).map(str.encode)
    | st.builds(
        lambda answer, at, byte: answer[:at] + byte + answer[at + 1 :],
        COMPLETIONS.map(json.dumps).map(str.encode),
        st.integers(0, 200),
        st.binary(max_size=2),
    )
)
STATUSES = st.just(200) | st.integers(100, 999)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(calls, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(calls, "LONGEST_PAUSE", 0.0)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        rows = [
            {"id": f"q{n}", "prompt": "p", "a": "x", "b": "y", "label": 1} for n in range(ITEMS)
        ]
        (path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (path / "judges.toml").write_text(JUDGES)
        yield path


Reply = tuple[int, bytes]
"""Status and body of an answer."""


async def streamed(body):
    yield body


def run(folder, out, replies, cap):
    """A run against these replies, one after the other and over again."""
    pairs, plan = read_pairs(folder / "pairs.jsonl"), read_judges(folder / "judges.toml")
    given_out = iter(replies * 100)

    async def handle(_self, _request):
        status, body = next(given_out)
        return httpx.Response(status, content=streamed(body))

    with pytest.MonkeyPatch.context() as patch, Journal(out) as journal:
        patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle)
        outcome = collect(pairs, plan, journal, max_cost=cap)
        assert judge_rows(journal, plan)["outputs"].tolist() == [outcome.finished]
        return outcome, votes_of(journal, pairs).votes if outcome.finished else None


def read_back(votes, out):
    write_votes(votes, out / "votes.csv")
    return load_votes(out / "votes.csv", need_labels=False).votes


@given(
    bodies=st.lists(BODIES, min_size=1, max_size=ITEMS),
    status=STATUSES,
    cap=st.none() | st.just(0.01),
)
@example(bodies=[b"[" * 200_000], status=200, cap=None)
@example(bodies=[b'{"choices": [{"message": {"content": "\\u0000"}}]}'], status=200, cap=None)
def test_any_answer_is_a_vote_or_a_reason_and_votes_are_read_back(folder, bodies, status, cap):
    with tempfile.TemporaryDirectory() as name:
        replies = [(200, bodies[0]), *((status, body) for body in bodies[1:])]
        outcome, votes = run(folder, Path(name), replies, cap)
        assert outcome.complete or outcome.troubles
        assert 0 <= outcome.dollars < math.inf
        if votes is not None:
            assert votes.n_items == outcome.finished
            assert read_back(votes, Path(name)).sha256 == votes.sha256
            uploaded = load_votes(Path(name) / "outputs.jsonl", need_labels=False)
            assert uploaded.votes.sha256 == votes.sha256


STORED = {
    "label": "1", "pair_sha256": "", "text": "[[A]]", "served_by": "m", "finish": "stop",
    "tokens_in": 1, "tokens_out": 1, "cost": 1e-4, "most": 1e-3, "seconds": 1.0, "attempts": 1,
}  # fmt: skip
"""A finished call; ``pair_sha256`` is that of its pair."""
GIVEN = sorted(STORED.keys() - {"label", "pair_sha256", "attempts"})


@given(
    entries=st.lists(st.dictionaries(st.sampled_from(GIVEN), VALUES, max_size=2), max_size=ITEMS)
)
@example(entries=[{}, {"tokens_in": None}])
@example(entries=[dict.fromkeys(GIVEN, 10**400)])
@example(entries=[{"cost": -1}])
@example(entries=[{"text": "\ud800"}])
def test_a_journal_with_any_values_goes_on_or_is_refused_in_one_sentence(folder, entries):
    plan, pairs = read_judges(folder / "judges.toml"), read_pairs(folder / "pairs.jsonl")
    with tempfile.TemporaryDirectory() as name:
        lines = (
            json.dumps(
                {
                    "item_id": f"q{n}", "judge": "any", "order": plan.orders(f"q{n}")[0],
                    "asked": plan.fingerprint(plan.judges[0]), **STORED,
                    "pair_sha256": pairs.fingerprint(n), **entry,
                }
            )
            for n, entry in enumerate(entries)
        )  # fmt: skip
        (Path(name) / "outputs.jsonl").write_text("".join(f"{line}\n" for line in lines))
        fine = (200, b'{"choices": [{"message": {"content": "[[A]]"}}]}')
        refusal = ""
        try:
            outcome, votes = run(folder, Path(name), [fine], None)
        except InputError as error:
            refusal = str(error)
        if refusal:
            assert any(entries)
            assert "not a finished call" in refusal
            return
        assert outcome.complete
        assert outcome.made == ITEMS - len(entries)
        assert 0 <= outcome.dollars < math.inf
        assert read_back(votes, Path(name)).sha256 == votes.sha256


@given(lines=st.lists(st.binary(max_size=40) | VALUES.map(json.dumps).map(str.encode), max_size=3))
def test_a_journal_of_anything_is_refused_in_one_sentence_or_read(folder, lines):
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "outputs.jsonl").write_bytes(b"\n".join(lines))
        refusal = ""
        try:
            with Journal(Path(name)) as journal:
                list(journal.entries())
        except InputError as error:
            refusal = str(error)
        assert not refusal or "not a finished call" in refusal


@given(header=st.text(max_size=80))
def test_any_retry_after_is_a_pause_within_bounds(header):
    assert 0 <= calls._asked_for(header) <= calls.LONGEST_PAUSE
