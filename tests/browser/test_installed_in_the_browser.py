"""The installed wheel serves the dashboard: from an upload to the exported panel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from judgepanel.decision.panel_file import load_panel
from tests.browser.conftest import Guard, Server, free_port, started
from tests.browser.driver import answer, downloaded, finished_panel, upload
from tests.setup.environment import Environment, installed

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


def test_uploaded_votes_become_a_panel_file_that_the_installed_command_scores_with(
    page: Page, server: Server, environment: Environment, guard: Guard
) -> None:
    votes = environment.sample("clean_pairwise_votes.csv")
    page.goto(server.url)
    page.get_by_role("heading", name="Your votes").wait_for()
    upload(page, votes)
    expect(answer(page)).to_contain_text("300 items, 24 judges, all labelled")
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/panel_curve?analysis=*")
    page.get_by_role("link", name="Recommended panel").first.click()
    finished_panel(page)
    exported = downloaded(page, "Download panel.json")
    assert str(len(load_panel(exported.decode()).model.judges)) in answer(page).inner_text()
    (environment.work / "panel.json").write_bytes(exported)
    scored = environment.output("judgepanel", "score", "panel.json", str(votes), "--out", "s.csv")
    assert "300 items scored" in scored
    guard.check()
