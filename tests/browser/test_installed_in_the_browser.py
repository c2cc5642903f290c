"""The installed wheel serves the dashboard: from an upload to the exported panel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from judgepanel.decision.panel_file import load_panel
from tests.browser.conftest import Guard, Server, free_port, started
from tests.browser.driver import (
    answer,
    as_upload,
    downloaded,
    finished_panel,
    refused,
    say_pairs,
    upload,
)
from tests.setup.environment import Environment, empty_workbook, installed

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def server(environment: Environment) -> Iterator[Server]:
    port, home = free_port(), environment.work / "data"
    command = environment.command("judgepanel", "app", f"--port={port}", f"--home={home}")
    with started(command, environment.work, environment.environ(), home, port) as running:
        yield running


@pytest.fixture(scope="module")
def votes(environment: Environment) -> str:
    """Six judges of a shipped sample, in the user's folder; fewer judges take less time."""
    lines = environment.sample("clean_pairwise_votes.csv").read_text("utf-8").splitlines()
    text = "\n".join(",".join(line.split(",")[:8]) for line in lines)
    (environment.work / "votes.csv").write_text(text, encoding="utf-8")
    return "votes.csv"


def test_uploaded_votes_become_a_panel_file_that_the_installed_command_scores_with(
    page: Page, server: Server, environment: Environment, votes: str, guard: Guard
) -> None:
    page.goto(server.url)
    page.get_by_role("heading", name="Your votes").wait_for()
    upload(page, as_upload("votes.xlsx", empty_workbook()))
    refused(page, "judgepanel[excel]")
    upload(page, environment.work / votes)
    expect(answer(page)).to_contain_text("300 items, 6 judges, all labelled")
    say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/panel_curve?analysis=*")
    page.get_by_role("link", name="Recommended panel").first.click()
    finished_panel(page)
    exported = downloaded(page, "Download panel.json")
    assert str(len(load_panel(exported.decode()).model.judges)) in answer(page).inner_text()
    (environment.work / "panel.json").write_bytes(exported)
    scored = environment.output("judgepanel", "score", "panel.json", votes, "--out", "s.csv")
    assert "300 items scored" in scored
    guard.check()
