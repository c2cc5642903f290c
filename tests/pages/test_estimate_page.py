"""The Estimate page: rates, differences, and controls that are in the address."""

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.studies.contract import Settings
from judgepanel.ui.session import workspace
from judgepanel.votes import MISSING, load_votes
from judgepanel.votes.simulate import sample_bytes
from tests.pages.driver import answer_of, downloads_of, text_of, with_downloads

ESTIMATE = "pages/estimate.py"


@cache
def analysis():
    """LLMBar with 100 labels, grouped by its subsets."""
    loaded = load_votes(sample_bytes("llmbar"), name="llmbar_votes.csv")
    votes = loaded.votes
    shown = np.random.default_rng(1).choice(votes.n_items, 100, replace=False)
    labels = np.full(votes.n_items, MISSING, dtype=np.int8)
    labels[shown] = votes.labels[shown]
    few = replace(loaded, votes=replace(votes, labels=labels))
    return workspace().create(few, Settings(splits=4), "llmbar").id


def finished(**parameters):
    return with_downloads(ESTIMATE, 3, analysis=analysis(), **parameters)


def test_rates_come_by_the_first_feature_with_differences_and_a_command():
    app = finished()
    assert answer_of(app).startswith("The win rate of the first response is 4")
    assert app.selectbox(key="by").value == "subset"
    text = text_of(app)
    assert "100 labels and the panel are worth " in text
    assert "GPTInst" in text
    assert any(" study estimate " in c.value and "--by=subset" in c.value for c in app.code)
    wanted = ["Download CSV", "Download JSON", "Draw items to label (CSV)"]
    assert sorted(downloads_of(app)) == wanted


def test_without_the_file_a_command_draws_the_items_with_their_texts():
    (command,) = [c.value for c in finished().code if "--draw=" in c.value]
    assert " estimate llmbar_votes.csv " in command
    assert "--draw=50 --draw-to=items_to_label.csv" in command


def test_groups_and_target_are_in_the_address():
    app = finished(by="no groups", about="items like these")
    assert "for items like these" in answer_of(app)
    assert "GPTInst" not in text_of(app)


def test_worth_by_panel_size_is_computed_once_its_section_is_open():
    closed = finished()
    assert "Worth by panel size" in " ".join(e.label for e in closed.expander)
    assert "labels are worth most with" not in text_of(closed)
    opened = with_downloads(ESTIMATE, 5, analysis=analysis(), panel_worth="true")
    assert "100 labels are worth most with " in text_of(opened)
