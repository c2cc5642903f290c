"""The Judges page: the answer, the map, one judge, clusters against families."""

import pytest

from tests.pages.driver import (
    JUDGES,
    answer_of,
    checked,
    downloads_of,
    htmls,
    links,
    open_app,
    prepared,
    text_of,
    until_done,
    with_families,
)


def test_the_answer_says_what_the_panel_is_worth_and_its_clusters():
    app = until_done(open_app(JUDGES, analysis=with_families("hard_panel")))
    assert answer_of(app).startswith("30 judges are worth about ")
    assert "independent ones" in answer_of(app)
    assert htmls(app, "<h3>") == ["Map of all pairs", "All judges"]
    assert "Clusters against given families" in [section.label for section in app.expander]
    assert "One judge" in [head.value for head in app.subheader]
    assert "adjusted Rand index" in text_of(app)
    assert downloads_of(app) == ["Download CSV", "Download JSON"]
    assert any(" study judges " in code.value for code in app.code)
    assert links(app) == ["Next: which aggregator, and which calibrator?"]


def test_agreement_is_computed_when_its_section_is_opened():
    app = until_done(open_app(JUDGES, analysis=with_families("hard_panel"), agreement="true"))
    assert "Krippendorff's alpha of the judges is " in text_of(app)
    assert htmls(app, "<h3>")[-1] == "Labels in doubt"
    assert len(downloads_of(app)) == 4


def test_the_judge_in_the_link_is_on_the_card():
    analysis = prepared("clean_pairwise")
    name = until_done(open_app(JUDGES, analysis=analysis)).selectbox(key="judge").options[7]
    app = until_done(open_app(JUDGES, analysis=analysis, judge=name))
    assert app.selectbox(key="judge").value == name
    assert any(text.startswith(f"{name} ") and "is right on" in text for text in htmls(app))


@pytest.mark.parametrize("forged", ["nobody", "", "<b>x</b>", "x" * 5000])
def test_a_judge_that_is_not_in_the_panel_gives_the_most_accurate_one(forged):
    app = until_done(open_app(JUDGES, analysis=prepared("clean_pairwise"), judge=forged))
    best = app.selectbox(key="judge").options[0]
    assert app.selectbox(key="judge").value == best
    assert any(text.startswith(f"{best} is right on") for text in htmls(app))
    assert forged == "" or forged not in " ".join(htmls(app))


def test_another_judge_on_the_card_is_no_new_computation():
    app = until_done(open_app(JUDGES, analysis=prepared("clean_pairwise")))
    other = app.selectbox(key="judge").options[3]
    checked(app.selectbox(key="judge").select(other).run())
    assert not app.get("progress")
    assert any(text.startswith(f"{other} is right on") for text in htmls(app))
