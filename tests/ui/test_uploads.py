"""An upload is read once and keeps its sender's file name."""

import os
import signal
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.ui import uploads
from judgepanel.votes import InputError
from judgepanel.votes.samples import sample_bytes
from judgepanel.votes.sandbox import Reading


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    uploads._TABLES.clear()


def test_the_same_bytes_under_another_name_have_that_name():
    data = sample_bytes("one_class")
    names = ("layoffs-2026.csv", "votes.csv")
    assert [uploads.read_upload(data, name).name for name in names] == list(names)


def test_a_file_is_read_once_whether_it_is_accepted_or_refused(monkeypatch: pytest.MonkeyPatch):
    first = uploads.read_upload(sample_bytes("one_class"), "votes.csv")
    with pytest.raises(InputError, match="the file is empty"):
        uploads.read_upload(b" ", "empty.csv")
    monkeypatch.setattr(uploads, "Reading", None)
    assert uploads.read_upload(sample_bytes("one_class"), "votes.csv") is first
    with pytest.raises(InputError, match="the file is empty"):
        uploads.read_upload(b" ", "empty.csv")


def test_large_tables_are_not_kept_beside_each_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "_MOST_BYTES", 1)
    for name in ("a.csv", "b.csv"):
        uploads.read_upload(sample_bytes("one_class"), name)
    assert [key[1] for key in uploads._TABLES] == ["b.csv"]


def test_what_was_read_last_is_kept_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "_MOST_TABLES", 2)
    for name in ("a.csv", "b.csv", "a.csv", "c.csv"):
        uploads.read_upload(sample_bytes("one_class"), name)
    assert [key[1] for key in uploads._TABLES] == ["a.csv", "c.csv"]


def test_a_reader_that_was_killed_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    first = Reading.__enter__

    def killed(reading: Reading) -> Reading:
        os.kill(reading.pid, signal.SIGKILL)
        return first(reading)

    data = sample_bytes("one_class")
    with monkeypatch.context() as patch:
        patch.setattr(Reading, "__enter__", killed)
        with pytest.raises(InputError):
            uploads.read_upload(data, "votes.csv")
    assert uploads.read_upload(data, "votes.csv").name == "votes.csv"


def test_an_upload_that_has_to_wait_says_so():
    def page() -> None:
        import threading

        from judgepanel.service import LOCAL
        from judgepanel.ui import uploads
        from judgepanel.votes.samples import sample_bytes

        class Line:
            """Frees the place when the page has said that it waits."""

            def caption(self, text: str) -> None:
                seen.append(text)
                if text.startswith("Waiting"):
                    uploads._PLACES.leave(ticket)

            def empty(self) -> None:
                pass

        import streamlit as st

        seen: list[str] = []
        ticket = uploads._PLACES.queue(LOCAL)
        assert uploads._PLACES.enter(ticket, 0)
        true_empty, st.empty = st.empty, Line
        try:
            table = uploads.read_upload(sample_bytes("one_class"), "votes.csv")
        finally:
            st.empty = true_empty
        assert threading.current_thread() is not None
        st.write(f"{seen[0]} {table.name}")

    ran = AppTest.from_function(page, default_timeout=120).run()
    assert not ran.exception
    assert ran.markdown[0].value.startswith("Waiting: other files are being read first.")
