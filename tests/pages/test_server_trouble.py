"""A database or a setting that cannot be used: every page says so and shows nothing else."""

import contextlib
import sqlite3
import zlib

import pytest

from judgepanel.service.database import VARIABLE
from judgepanel.service.sql import SqlWorkspace
from judgepanel.ui import server as spaces
from judgepanel.ui import session
from tests.pages import driver

SECRET = "hunter2secret"  # noqa: S105


@pytest.mark.parametrize("page", driver.PAGES)
def test_a_wrong_address_is_told_on_every_page(monkeypatch, page):
    monkeypatch.setenv(VARIABLE, f"postgresql://me:{SECRET}@nowhere:port/x")
    app = driver.open_app(page, analysis="unknown-but-well-formed")
    (html,) = driver.htmls(app, "jp-problem")
    assert html.startswith(f"{VARIABLE} is not the address of a database")
    assert SECRET not in driver.text_of(app)


@pytest.mark.parametrize("page", driver.PAGES)
def test_a_backend_that_does_not_exist_is_told_on_every_page(monkeypatch, tmp_path, page):
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'own.db'}")
    monkeypatch.setenv("JUDGEPANEL_BACKEND", "clouds")
    (html,) = driver.htmls(driver.open_app(page, analysis="unknown-but-well-formed"), "jp-problem")
    assert html == "JUDGEPANEL_BACKEND is 'clouds'; it can be loky, threading, dask."


def test_start_without_an_analysis_tells_it_too(monkeypatch, tmp_path):
    (tmp_path / "x.db").write_bytes(b"not a database" * 100)
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'x.db'}")
    (html,) = driver.htmls(driver.open_app(), "jp-problem")
    assert "should be the database is none" in html
    assert str(tmp_path) not in html


def test_a_page_works_again_when_the_database_does(monkeypatch, tmp_path):
    analysis = driver.prepared("clean_pairwise")
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'missing' / 'x.db'}")
        app = driver.open_app(driver.CURVE, analysis=analysis)
        assert "cannot be opened" in driver.htmls(app, "jp-problem")[0]
    assert driver.htmls(driver.open_app(driver.CURVE, analysis=analysis), "jp-problem") == []


def test_pages_share_the_database_in_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'own.db'}")
    analysis = driver.prepared("clean_pairwise")
    other = SqlWorkspace(f"sqlite:///{tmp_path / 'own.db'}")
    assert [made.id for made in other.list()] == [analysis]
    other.close()
    session.workspace().close()


def test_a_stored_result_that_cannot_be_read_is_computed_again_and_the_page_says_so(
    monkeypatch, tmp_path
):
    path = tmp_path / "own.db"
    monkeypatch.setenv(VARIABLE, f"sqlite:///{path}")
    analysis = driver.prepared("clean_pairwise")
    answer = driver.answer_of(driver.until_done(driver.open_app(driver.CURVE, analysis=analysis)))
    spaces.close_workspaces()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        assert database.execute("UPDATE results SET content = ?", (zlib.compress(b"{}"),)).rowcount
    app = driver.open_app(driver.CURVE, analysis=analysis)
    assert "The stored result could not be read, so it is computed again." in driver.text_of(app)
    assert driver.answer_of(driver.until_done(app)) == answer
    assert "could not be read" not in driver.text_of(driver.checked(app.run()))
    spaces.close_workspaces()
