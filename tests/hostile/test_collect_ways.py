"""Prompts and keys go only to the endpoint of their judge."""

import pytest

from judgepanel.cli import main
from tests.hostile.collecting import ITEMS, KEY, OTHER_KEY, judge, n_votes, prepared, votes_in
from tests.hostile.hostile_endpoint import STOPPED, hostile_endpoint


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
def test_a_key_that_no_header_carries_is_refused_without_being_shown(
    tmp_path, here, monkeypatch, capsys, key
):
    monkeypatch.setenv("JUDGE_KEY", key)
    assert main(prepared(tmp_path, judge(here.url, "fine"))) == 2
    printed = capsys.readouterr()
    assert "'JUDGE_KEY' holds a blank, a line break" in printed.err
    assert key not in printed.err
    assert here.requests == []
