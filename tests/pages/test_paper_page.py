"""The paper's page: its claim on both protocols and on samples, and sections that open."""

import html
import re
from dataclasses import replace
from functools import cache

import pytest

from judgepanel.present.pages import PAPER_PAGE
from judgepanel.present.paper.claim import JOINT_TITLE
from judgepanel.present.registry import STUDIES, entries_of
from judgepanel.studies.paper.claim import CLAIM
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBandSpec
from judgepanel.ui.session import workspace
from tests.pages import driver

PAPER = PAPER_PAGE.file
SECTIONS = (
    *("pipeline_ablation", "calibrator_design", "reliability_weighting", "jury", "distortion"),
    *("narrow_band", "fraction_sweep", "variance_decomposition", "permutation"),
)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """A simulation of few panels; its size is none of the page's concern."""

    def small(_votes, settings, _pipeline):
        return (NarrowBandSpec(settings, widths=(0.1,), rhos=(0.2,), sizes=(6,), replicates=2),)

    def quick(entry):
        return replace(entry, default=small) if entry.name == NARROW_BAND.name else entry

    monkeypatch.setattr(
        "judgepanel.ui.render.entries_of", lambda page: tuple(map(quick, entries_of(page)))
    )


@cache
def analysis(name, splits=2):
    return driver.prepared(name, splits=splits)


def finished(name="one_class", **parameters):
    return driver.with_downloads(PAPER, 2, analysis=analysis(name), **parameters)


def opened(*sections, name="one_class", **parameters):
    """The page with these sections open and done, and the claim."""
    parameters |= {"analysis": analysis(name, 4), **dict.fromkeys(sections, "true")}
    return driver.with_downloads(PAPER, 2 + 2 * len(sections), **parameters)


def commands_of(app):
    """The studies of the commands on the page."""
    return [code.value.split()[3] for code in app.code if " study " in code.value]


def test_the_answer_the_sections_the_tables_and_the_command_are_there():
    app = opened("joint")
    match = re.match(
        r"With one-class coding NLL (\S+), which measures the coding, not the judges; with "
        r"honest labels (\S+) \[",
        driver.answer_of(app),
    )
    assert match
    assert float(match[1]) < 0.05
    assert float(match[2]) > 0.2
    headers = [header.value for header in app.main.get("header")]
    assert headers == ["The other studies of the paper"]
    parts = ["No judge at all", "Step by step", "The paper's tables", "Sources", JOINT_TITLE]
    labels = [html.unescape(section.label) for section in app.main.expander]
    assert set(parts) < set(labels)
    coded, honest, published, joint = (driver.displayed(frame) for frame in app.dataframe)
    assert set(coded["measures"]) == {"measures the coding, not the judges"}
    assert min(float(value) for value in honest["NLL, all"]) > 0.2
    assert len(published) == 9
    assert joint["step"].tolist()[1] == "joint in place of one-coin"
    assert any("study claim " in code.value for code in app.code)
    assert driver.links(app) == ["Next: which judges?"]


def test_boxes_of_one_class_coding_say_what_they_measure_and_no_other_text_flatters():
    app = finished()
    boxes = driver.htmls(app, "Everything in this box measures the coding, not the judges.")
    assert len(boxes) == 4
    sentence = driver.htmls(app, "jp-text")
    assert any("No judge is needed: a score that says one half" in text for text in sentence)
    assert any("arXiv 2310.07641" in text for text in sentence)


def test_a_sample_goes_through_the_same_study_in_place_of_the_votes():
    app = finished("one_class", votes="A clean pairwise panel")
    assert any("sample_data/clean_pairwise_votes.csv" in code.value for code in app.code)
    own = driver.answer_of(finished("clean_pairwise"))
    assert driver.answer_of(app) == f"Sample 'A clean pairwise panel': {own}"


def test_a_sample_that_was_never_uploaded_is_there_for_owners_and_readers(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    mine = driver.prepared("one_class", splits=2)
    for who, chosen in (
        ({"analysis": mine}, "A clean pairwise panel"),
        ({"share": workspace().share(mine)}, "A hard panel"),
    ):
        app = driver.with_downloads(PAPER, 2, votes=chosen, **who)
        assert any("sample_data/" in code.value for code in app.code)


def test_another_benchmark_can_stand_beside():
    app = finished("one_class", paper="LLMBar")
    assert "the paper, 53 judges" in driver.displayed(app.dataframe[2])


def test_the_other_studies_are_closed_in_the_papers_order_and_nothing_is_computed():
    name = driver.prepared("one_class", splits=3)
    app = driver.with_downloads(PAPER, 2, analysis=name)
    studies = [STUDIES[section] for section in SECTIONS]
    labels = [expander.label for expander in app.main.expander]
    assert labels[-len(studies) :] == [f"**{study.title}** {study.question}" for study in studies]
    assert set(commands_of(app)) == {"claim"}
    settings, sha = workspace().open(name).settings, workspace().open(name).votes_sha256
    for study in (*studies, CLAIM):  # The claim with joint; its other steps are computed.
        assert workspace().partial(study, sha, study.spec(settings=settings)) is None


def test_open_sections_have_answers_tables_downloads_and_commands():
    app = opened(*SECTIONS)
    assert len(driver.htmls(app, "jp-result")) >= len(SECTIONS)
    assert commands_of(app) == ["claim", *SECTIONS]
    assert "nan" not in driver.text_of(app).lower().replace("dominan", "")
    answers = " ".join(driver.htmls(app, "jp-text"))
    assert re.search(r"\d+ % of the variance is between judges \[\d+ %, \d+ %\]", answers)
    assert "permuted labels" in answers


def test_a_sample_is_what_open_sections_show_too():
    app = opened("jury", votes="A clean pairwise panel")
    (command,) = [code.value for code in app.code if " study jury " in code.value]
    assert "sample_data/clean_pairwise_votes.csv" in command
    note = "Each is computed on the sample 'A clean pairwise panel' when you open it."
    assert note in driver.htmls(app, "jp-reading")


def test_another_aggregator_is_used_where_a_section_can_and_else_it_says_so():
    sections = ("calibrator_design", "narrow_band")
    before, after = opened(*sections), opened(*sections, aggregator="majority vote")
    assert not driver.displayed(after.dataframe[-2]).equals(driver.displayed(before.dataframe[-2]))
    assert "with majority vote" in " ".join(driver.htmls(after, "jp-text"))
    assert driver.htmls(after, "This section shows") == ["This section shows one-coin + beta."]
    assert not driver.htmls(before, "This section shows")


def test_too_few_labels_for_a_section_leave_the_rest_of_the_page():
    lines = ["id,label,j0,j1,j2,j3"]
    for i in range(14):
        votes = [(i + (i + j) // 3) % 2 for j in range(4)]
        lines.append(",".join(map(str, (f"i{i}", i % 2, *votes))))
    tiny = driver.created("\n".join(lines).encode())
    app = driver.open_app(PAPER, analysis=tiny, fraction_sweep="true", jury="true")
    driver.until(app, lambda: driver.htmls(app, "jp-problem"))
    assert "too few labelled items for any of these" in driver.htmls(app, "jp-problem")[0]
    driver.until(app, lambda: "jury" in commands_of(app))
    driver.until(app, lambda: driver.htmls(app, "jp-answer"))
