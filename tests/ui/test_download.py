"""A file made on demand stays until it was fetched; an upload is read once and keeps its name."""

import json
import os
import signal
from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.testing.v1 import AppTest

from judgepanel.intake.answer import Ask, answer_to
from judgepanel.intake.process import ReaderProcess
from judgepanel.ui import uploads
from judgepanel.ui.reporting import KEPT, download_button
from judgepanel.ui.uploads import Source, Upload, read_uploads, reread_texts
from judgepanel.votes.choices import Choices
from judgepanel.votes.simulate import sample_bytes


@pytest.fixture
def manager(monkeypatch):
    """What holds the files of a server."""
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    return files


@pytest.fixture
def click(manager):
    """Click a button that makes this text; returns the address of the file."""

    class Place:
        def download_button(self, label, data, file_name, mime, **options):
            self.url = manager.execute_deferred(
                manager.add_deferred(data, mime, label, file_name=file_name)
            )

    def clicked(text):
        place = Place()
        download_button(place, text, lambda: text, "file.csv")
        return place.url

    return clicked


def content(manager, url):
    file = manager.read_file(url.rpartition("/")[2])
    return file and file.content.decode()


def test_a_file_outlives_the_scripts_that_end_before_it_is_fetched(manager, click):
    url = click("a,b\n1,2\n")
    for _ in range(5):
        manager.remove_orphaned_files()
    assert content(manager, url) == "a,b\n1,2\n"


def test_only_the_last_files_are_kept(manager, click):
    urls = [click(f"file {number}\n") for number in range(KEPT + 3)]
    for _ in range(2):
        manager.remove_orphaned_files()
    kept = [content(manager, url) for url in urls]
    assert kept[:3] == [None] * 3
    assert kept[3:] == [f"file {number}\n" for number in range(3, KEPT + 3)]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    uploads._ANSWERS.clear()


DATA = sample_bytes("one_class")


def names_kept():
    """The files whose answers are kept, oldest first."""
    return [answer.loaded.file for answer in uploads._ANSWERS.values()]


def test_the_same_bytes_under_another_name_have_that_name():
    names = ("layoffs-2026.csv", "votes.csv")
    assert [read_uploads(Upload(name, DATA)).read().file for name in names] == list(names)


def test_a_file_is_read_once_whether_it_is_accepted_or_refused(monkeypatch):
    first = read_uploads(Upload("votes.csv", DATA))
    refused = read_uploads(Upload("empty.csv", b" "))
    assert refused.refusal.problem == "the file is empty"
    monkeypatch.setattr("judgepanel.intake.process.ReaderProcess", None)
    assert read_uploads(Upload("votes.csv", DATA)) is first
    assert read_uploads(Upload("empty.csv", b" ")) is refused


def test_texts_of_items_are_read_again_from_the_files_of_the_votes():
    rows = [f"i{n},What is {n} plus {n}?,{n % 2},1,{n % 2}" for n in range(20)]
    data = "\n".join(["item_id,question,gold,a,b", *rows]).encode()
    choices = Choices(task="pointwise", label_column="gold")
    source = Source("sha", "", Upload("votes.csv", data), None, choices)
    texts = reread_texts(source, ["i3", "i1"])
    assert texts["question"].tolist() == ["What is 3 plus 3?", "What is 1 plus 1?"]
    gone = Source("sha", "", Upload("votes.csv", b""), None, choices)
    assert reread_texts(gone, ["i3"]) is None


def test_other_choices_are_another_reading(monkeypatch):
    first = read_uploads(Upload("votes.csv", DATA))
    other = read_uploads(Upload("votes.csv", DATA), choices=Choices(task="pointwise"))
    assert (first.loaded.votes.task, other.refusal.problem) == ("pairwise", "every label is 1")


def test_large_answers_are_not_kept_beside_each_other(monkeypatch):
    monkeypatch.setattr(uploads, "_MOST_BYTES", 1)
    for name in ("a.csv", "b.csv"):
        read_uploads(Upload(name, DATA))
    assert names_kept() == ["b.csv"]


def test_what_was_read_last_is_kept_longest(monkeypatch):
    monkeypatch.setattr(uploads, "_MOST_ANSWERS", 2)
    for name in ("a.csv", "b.csv", "a.csv", "c.csv"):
        read_uploads(Upload(name, DATA))
    assert names_kept() == ["a.csv", "c.csv"]


def test_a_reader_that_was_killed_is_tried_again(monkeypatch):
    first = ReaderProcess.__enter__

    def killed(reader):
        os.kill(reader.pid, signal.SIGKILL)
        return first(reader)

    with monkeypatch.context() as patch:
        patch.setattr(ReaderProcess, "__enter__", killed)
        assert read_uploads(Upload("votes.csv", DATA)).refusal is not None
    assert read_uploads(Upload("votes.csv", DATA)).read().file == "votes.csv"


def test_an_upload_that_has_to_wait_says_so():
    def page():
        import threading

        from judgepanel.service.basics import LOCAL
        from judgepanel.ui import uploads
        from judgepanel.votes.simulate import sample_bytes

        class Line:
            """Frees the place when the page has said that it waits."""

            def caption(self, text: str) -> None:
                seen.append(text)
                if text.startswith("Waiting"):
                    uploads._places().leave(ticket)

            def empty(self) -> None:
                pass

        import streamlit as st

        seen: list[str] = []
        ticket = uploads._places().queue(LOCAL)
        assert uploads._places().enter(ticket, 0)
        true_empty, st.empty = st.empty, Line
        try:
            answer = uploads.read_uploads(uploads.Upload("votes.csv", sample_bytes("one_class")))
        finally:
            st.empty = true_empty
        assert threading.current_thread() is not None
        st.write(f"{seen[0]} {answer.read().file}")

    ran = AppTest.from_function(page, default_timeout=120).run()
    assert not ran.exception
    assert ran.markdown[0].value.startswith("Waiting: other files are being read first.")


def test_an_answer_is_small_however_long_the_names_and_words_of_a_file_are():
    long = "K" * 300_000
    lists = {f"a{k}": [{"id": "x", "judge": "j", "verdict": "1"}] * 2 for k in range(60)}
    words = "\n".join(f"q{k},{chr(97 + k % 9)}{long},{k % 2}" for k in range(18))
    files = {
        "nested.json": json.dumps({long: lists}),
        "columns.json": json.dumps([{long: 1, f"{long}2": 2}]),
        "words.csv": f"item_id,label,judge\n{words}\n",
    }
    for name, text in files.items():
        data = text.encode()
        answer = answer_to(Ask(name, len(data)), [data])
        assert answer.refusal is not None
        assert len(repr(answer)) < 30_000, name
