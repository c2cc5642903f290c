"""A team: without a sign-in visitors see nothing, members see their own and shared analyses."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from judgepanel.present.pages import PAGES as MENU
from judgepanel.service.sql import SqlWorkspace
from tests.browser.conftest import Server, free_port
from tests.browser.driver import CURVE, address, answer, finished_curve, idle, say_pairs, upload
from tests.browser.identity import owner, provider, sign_in, sign_out, team
from tests.browser.service import prepared

ANN, BOB = "ann", "bob"
PAGES = ["", *(Path(page.file).stem for page in MENU)]
VOTES = Path(__file__).resolve().parents[2] / "sample_data" / "one_class_votes.csv"


@dataclass(frozen=True)
class Team:
    server: Server
    provider: str

    def prepared(self, name):
        """The id of a new analysis of this person."""
        return prepared(self.server.home, "one_class", owner=owner(self.provider, name))

    def shared(self, name, analysis, *, signed_in_only):
        """A token for an analysis of this person."""
        with closing(SqlWorkspace(home=self.server.home)) as space:
            own = space.owned_by(owner(self.provider, name))
            return own.share(analysis, signed_in_only=signed_in_only)


@pytest.fixture(scope="module")
def here(start_server, tmp_path_factory):
    with provider(ANN, BOB) as url:
        port = free_port()
        env = team(tmp_path_factory.mktemp("secrets"), url, port)
        yield Team(start_server(env=env, port=port), url)


def asks_to_sign_in(page):
    """Nothing is there but the way in."""
    page.get_by_role("button", name="Sign in").wait_for()
    idle(page)
    expect(answer(page)).to_have_count(0)
    expect(page.locator("input[type=file]")).to_have_count(0)
    expect(page.get_by_test_id("stPageLink")).to_have_count(0)


def test_who_has_not_signed_in_sees_no_page_of_no_analysis(page, here):
    analysis = here.prepared(ANN)
    for name in PAGES:
        page.goto(address(here.server, name, analysis))
        asks_to_sign_in(page)
    for wanted in (None, "x" * 22):
        page.goto(address(here.server, "", wanted))
        asks_to_sign_in(page)
    closed = here.shared(ANN, analysis, signed_in_only=True)
    page.goto(address(here.server, CURVE, share=closed))
    asks_to_sign_in(page)
    page.goto(address(here.server, CURVE, share=here.shared(ANN, analysis, signed_in_only=False)))
    finished_curve(page)
    sign_in(page, here.server, BOB)
    page.goto(address(here.server, CURVE, share=closed))
    finished_curve(page)
    expect(page.get_by_text("read-only")).to_be_visible()
    expect(page.get_by_role("button", name="Share")).to_have_count(0)
    assert analysis not in page.content()


def test_an_upload_is_seen_by_its_owner_and_those_it_is_shared_with(open_page, here):
    ann, bob = open_page(), open_page()
    sign_in(ann, here.server, ANN)
    sign_in(bob, here.server, BOB)
    ann.goto(here.server.url)
    expect(ann.get_by_text("<b>ann</b>")).to_be_visible()
    upload(ann, VOTES)
    say_pairs(ann)
    ann.get_by_role("button", name="Analyse").click()
    ann.wait_for_url("**/overview?analysis=*")
    answer(ann).wait_for()
    link = ann.url
    ann.get_by_role("button", name="Share").click()
    inside = ann.get_by_test_id("stPopoverBody")
    expect(inside.get_by_role("checkbox", name="Only for those who sign in")).to_be_checked()
    inside.get_by_role("button", name="Create a link for others").click()
    inside.get_by_text("only for those who sign in", exact=False).last.wait_for()
    expect(inside.locator("code", has_text="share=")).to_be_visible()
    ann.goto(here.server.url)
    ann.get_by_role("link", name="one_class_votes").first.wait_for()

    bob.goto(here.server.url)
    bob.locator("input[type=file]").first.wait_for(state="attached")
    idle(bob)
    expect(bob.get_by_role("link", name="one_class_votes")).to_have_count(0)
    sentences = []
    for guess in (link, address(here.server, CURVE, "x" * 22)):
        bob.goto(guess)
        alert = bob.get_by_test_id("stAlert")
        alert.wait_for()
        sentences.append(alert.inner_text())
        expect(answer(bob)).to_have_count(0)
    assert sentences[0] == sentences[1]

    sign_out(ann, here.server)
    ann.goto(link)
    asks_to_sign_in(ann)
