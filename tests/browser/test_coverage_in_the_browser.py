"""From judges' outputs to a panel curve, and what was read of them, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import looks, problems
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    address,
    analysis_in,
    answer,
    as_upload,
    downloaded,
    finished_curve,
    finished_judges,
    pick,
    upload,
)
from tests.helpers import transcripts

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(own_server: Server) -> Server:
    return own_server


@pytest.mark.real_votes
def test_outputs_of_llmbar_become_a_panel_curve(
    page: Page, server: Server, guard: Guard, real_votes: Callable[[str], Path]
) -> None:
    page.goto(server.url)
    upload(page, real_votes("llmbar_transcripts.jsonl"))
    expect(answer(page)).to_contain_text("419 items, 58 judges, all labelled")
    expect(page.get_by_text("97.5 % of 5,345 outputs are read as a verdict")).to_be_visible()
    expect(page.get_by_text("322 outputs are left out")).to_be_visible()
    page.get_by_role("button", name="Analyse", exact=True).click()
    answer(page).filter(has_text=re.compile("58.*NLL|NLL.*58")).wait_for()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Coverage").click()
    expect(answer(page)).to_contain_text("PaLM2/Vanilla_NoRules the least, 83 %")
    assert downloaded(page, "Download CSV").decode().startswith("judge,outputs,read,rate,bracket")
    guard.check()


def test_what_was_read_and_both_orders_narrow_in_the_dark_with_hostile_outputs(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page = open_page()
    page.goto(server.url)
    upload(page, as_upload("said.jsonl", transcripts()))
    page.get_by_role("button", name="Analyse", exact=True).click()
    answer(page).get_by_text("NLL").wait_for()
    analysis = analysis_in(page)
    page.goto(address(server, "coverage", analysis))
    expect(answer(page)).to_contain_text("mute the least, 67 %")
    result = [problem for _ in looks(page) for problem in problems(page)]
    assert page.locator("img[src=x]").count() == 0
    page.goto(address(server, "judges", analysis))
    finished_judges(page)
    expect(page.get_by_role("heading", name="In both orders")).to_be_visible()
    result += [problem for _ in looks(page) for problem in problems(page)]
    assert result == []
    guard.check()


def test_results_of_another_tool_are_dropped_as_they_are(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    results = [
        {
            "provider": {"id": f"judge:{judge}", "label": f"judge-{judge}"},
            "promptIdx": 0,
            "testIdx": k,
            "vars": {
                "label": "AB"[k % 2],
                "order": ("AB", "BA")[k % 3 == 0],
                "topic": "xy"[k < 30],
            },
            "response": {"output": f"[[{'AB'[(k + (k % (judge + 3) == 0)) % 2]}]]"},
        }
        for k in range(60)
        for judge in range(5)
    ]
    result = json.dumps({"evalId": "x", "results": {"version": 3, "results": results}})
    page = open_page()
    page.goto(server.url)
    upload(page, as_upload("results.json", result.encode()))
    expect(answer(page)).to_contain_text("60 items, 5 judges, all labelled")
    expect(page.get_by_text("Read as results of promptfoo.")).to_be_visible()
    page.get_by_role("button", name="Analyse", exact=True).click()
    finished_curve(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Coverage").click()
    expect(answer(page)).to_contain_text("100 % of 300 outputs are read as a verdict")
    guard.check()


def test_graded_samples_are_pointwise_and_another_scorer_can_be_the_label(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "sums", "model": "m", "created": "2026-01-01"},
        "samples": [
            {
                "id": f"s{k}",
                "epoch": 1,
                "target": "4",
                "metadata": {"topic": "xy"[k % 2]},
                "scores": {
                    name: {"value": "CI"[(k + (k % every == 0)) % 2]}
                    for name, every in (("exact", 99), ("one", 3), ("two", 4), ("three", 5))
                },
            }
            for k in range(60)
        ],
    }
    page = open_page()
    page.goto(server.url)
    upload(page, as_upload("log.json", json.dumps(log).encode()))
    expect(page.get_by_role("alert")).to_contain_text("there is no label column")
    expect(page.get_by_role("radio", name="Pointwise: is this one response good")).to_be_checked()
    pick(page, "exact", "label")
    expect(answer(page)).to_contain_text("60 items, 3 judges, all labelled")
    page.get_by_role("button", name="Analyse", exact=True).click()
    finished_curve(page)
    guard.check()
