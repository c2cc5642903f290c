"""One report of many studies, the same from Python and from the command line."""

import re

import pytest

import judgepanel as jp
from judgepanel.api import reports
from judgepanel.api import studies as running
from judgepanel.api.reports import report_studies, reported
from judgepanel.cli import main
from judgepanel.present.registry import STUDIES
from judgepanel.studies.runner import steps
from judgepanel.votes import write_votes
from tests.helpers import make_votes, with_grades

QUICK = {"splits": 2, "jobs": 1}
WRITTEN = re.compile(r"Written: [^\n]*")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "v.csv"
    write_votes(make_votes(4, 60, 4, missing=0.0), path)
    return path


def undated(path):
    return WRITTEN.sub("", path.read_text("utf-8"))


def test_python_and_the_command_line_write_the_same_report(file, tmp_path, capsys):
    names = ["reliability", "judges"]
    door, line = tmp_path / "door.md", tmp_path / "line.md"
    assert jp.report(jp.load(file), door, studies=names, **QUICK) == door
    words = ["report", file, "--studies", ",".join(names), "--splits", 2, "--jobs", 1]
    assert main([str(word) for word in [*words, "--out", line]]) == 0
    assert capsys.readouterr().out == "Written: line.md.\n"
    assert undated(door) == undated(line)
    assert "Not computed" not in undated(door)
    for name in names:
        assert f"## {STUDIES[name].title}" in undated(door)
        assert f"study {name} v.csv" in undated(door)


def test_every_study_of_a_report_is_announced(file, tmp_path):
    titles = []
    reports.write_report(
        jp.load(file),
        tmp_path / "report.md",
        ["judges", "reliability"],
        running.settings_from({"splits": 2}),
        running.Workers(1),
        keep_interrupted=False,
        announce=titles.append,
    )
    first, other = (STUDIES[name].title for name in ("reliability", "judges"))
    assert titles == [f"{first} (1 of 2)", f"{other} (2 of 2)"]


def test_a_report_in_html_has_its_figures(file, tmp_path):
    out = tmp_path / "report.html"
    jp.report(jp.load(file), out, studies="reliability", **QUICK)
    text = out.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "data-figure" in text


def test_what_grades_tell_is_in_the_report_and_the_study(tmp_path):
    out = tmp_path / "report.html"
    votes = with_grades(make_votes(4, 60, 2, missing=0.0))
    jp.report(votes, out, studies="judges", **QUICK)
    study = jp.study("judges", votes, **QUICK)
    words = "Of 2 judges with grades "
    assert words in out.read_text("utf-8")
    assert words in str(study)
    assert words in study._repr_html_()
    bare = jp.study("judges", make_votes(4, 60, 2, missing=0.0), **QUICK)
    assert "with grades" not in str(bare)


def test_studies_of_the_recommended_pipeline_bring_the_recommendation(file, tmp_path):
    assert report_studies(["value"]) == ("recommend", "value")
    out = tmp_path / "report.md"
    jp.report(jp.load(file), out, studies=["value"], **QUICK)
    assert "## Recommended panel" in undated(out)
    assert f"## {STUDIES['value'].title}" in undated(out)


def test_all_studies_but_what_is_picked_by_hand_are_in_a_report_by_default():
    assert set(report_studies(None)) == set(reported()) == set(STUDIES) - {"what_if"}
    assert report_studies(None)[0] == "recommend", "other studies show its pipeline"


@pytest.fixture
def few(monkeypatch):
    """A report of all studies, which are two here."""
    monkeypatch.setattr(reports, "reported", lambda: ("reliability", "judges"))


def test_a_study_that_refuses_the_votes_is_named_with_its_reason(few, file, tmp_path, monkeypatch):
    run_study = reports.run_study

    def refusing(study, *arguments, **options):
        if study.name == "judges":
            raise jp.InputError("there are too few judges")
        return run_study(study, *arguments, **options)

    monkeypatch.setattr(reports, "run_study", refusing)
    out = tmp_path / "report.html"
    jp.report(jp.load(file), out, **QUICK)
    text = out.read_text("utf-8")
    assert "Who errs together is not in this report: there are too few judges." in text
    assert "Not computed: Who errs together." in text
    with pytest.raises(jp.InputError, match="too few judges"):
        jp.report(jp.load(file), out, studies=["judges"], **QUICK)


def test_an_interrupt_keeps_what_is_complete(few, file, tmp_path, monkeypatch):
    def stopping(study, *arguments, **options):
        for progress in steps(study, *arguments, **options):
            yield progress
            if study.name == "judges":
                raise KeyboardInterrupt

    monkeypatch.setattr(running, "steps", stopping)
    out = tmp_path / "report.html"
    jp.report(jp.load(file), out, splits=40, jobs=1)
    assert STUDIES["reliability"].title in out.read_text("utf-8")
    assert "Who errs together: Interrupted: this rests on 1 of " in out.read_text("utf-8")


def test_an_interrupted_command_writes_nothing(file, tmp_path, monkeypatch, capsys):
    def stopped(*_arguments, **_options):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(running, "steps", stopped)
    out = tmp_path / "report.md"
    assert main(["report", str(file), "--studies", "judges", "--out", str(out)]) == 130
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"studies": ["jury", "best"]}, "unknown study (found 'best')"),
        ({"studies": ["what_if"]}, "a report cannot pick judges by hand (found 'what_if')"),
        ({"studies": []}, "a report needs one study or more"),
        ({"top": 3}, "report takes no --top (found '3'); allowed: --orientation, "),
        ({"splits": 1}, "number of splits out of range"),
        ({"jobs": 0}, "--jobs must be at least 1"),
    ],
)
def test_what_no_report_can_hold_is_refused(file, tmp_path, options, says):
    out = tmp_path / "report.md"
    with pytest.raises(jp.InputError) as caught:
        jp.report(jp.load(file), out, **options)
    assert says in str(caught.value)
    assert not out.exists()


def test_another_kind_of_file_is_refused_before_any_work(file, tmp_path):
    with pytest.raises(jp.InputError, match=r"a name that ends in \.html or \.md"):
        jp.report(jp.load(file), tmp_path / "report.pdf")
