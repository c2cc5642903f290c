"""Votes and judge tables that a page cannot use: one sentence, and the rest of the page stays."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.ui import frame, session, uploads
from judgepanel.ui.pages.recommended import _costs
from tests.pages.driver import analysis_in, button, created, htmls, open_app, prepared, text_of

JUDGES = "pages/judges.py"
RECOMMENDED = "pages/recommended_panel.py"


def votes_of(cells):
    """A file of votes; label and judges as columns."""
    n_items = len(next(iter(cells.values())))
    lines = [",".join(("item_id", *cells))]
    lines += [",".join((f"q{i}", *(str(cells[name][i]) for name in cells))) for i in range(n_items)]
    return "\n".join(lines).encode()


def random_votes(*judges, n_items=40):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n_items)
    noisy = {name: np.where(rng.random(n_items) < 0.7, labels, 1 - labels) for name in judges}
    return {name: list(values) for name, values in {"label": labels, **noisy}.items()}


def problem_of(app):
    (sentence,) = htmls(app, "jp-problem")
    return sentence


@pytest.mark.parametrize("cost", ["-1", "free"])
def test_a_cost_that_is_no_price_is_refused_in_a_sentence(cost):
    table = f"judge,cost\nann,1\nbob,{cost}\neve,2\n".encode()
    key = created(votes_of(random_votes("ann", "bob", "eve")), 2, judge_table=table)
    assert "cost" in problem_of(open_app(RECOMMENDED, analysis=key))


@pytest.mark.parametrize("page", [None, JUDGES, RECOMMENDED])
def test_votes_of_constant_judges_are_refused_and_can_be_deleted(page):
    data = votes_of({"label": [1] * 40, "ann": [1] * 40, "bob": [1] * 40})
    app = open_app(page, analysis=created(data, 2))
    assert "set aside" in problem_of(app) or "judge" in problem_of(app)
    if page is None:
        assert any("Delete" in popover.proto.popover.label for popover in app.get("popover"))


def test_a_cost_is_that_of_the_judge_of_this_name_where_another_is_set_aside():
    cells = {**random_votes("b", "c", "d"), "a": [""] * 40}
    table = b"judge,cost\na,7\nb,1\nc,100\nd,5\n"
    opened = session.workspace().open(created(votes_of(cells), 2, judge_table=table))
    context = frame.PageContext(opened, session.workspace().votes(opened.votes_sha256))
    np.testing.assert_equal(_costs(context, ("b", "c", "d")), [1.0, 100.0, 5.0])


def test_names_of_columns_are_no_markdown_where_forms_of_verdicts_are_listed():
    cells = random_votes("ann", "bob")
    name = "![](https://evil.example/p.png)"
    cells[name] = ["A" if vote else "B" for vote in cells.pop("bob")]
    app = open_app()
    app.session_state["votes_file-kept"] = uploads.Upload("votes.csv", votes_of(cells))
    app.run()
    assert not app.exception
    assert name in text_of(app)
    shown = [element.value for kind in ("caption", "markdown") for element in app.get(kind)]
    assert not [text for text in shown if name in text]


def test_settings_that_the_form_does_not_show_are_kept():
    opened = session.workspace().open(prepared("clean_pairwise", 2))
    many = replace(opened.settings, protocol="paper", splits=2_000)
    app = open_app(analysis=session.workspace().with_settings(opened, many).id)
    before = analysis_in(app)
    button(app, "Apply as a new analysis").click().run()
    assert not app.exception
    assert analysis_in(app) == before
