"""The server limits how much it holds of each user's files and of all."""

import asyncio
from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from judgepanel.ui import uploads
from judgepanel.ui.guard import (
    LARGEST,
    NO_ROOM,
    OF_ALL,
    PER_USER,
    SMALLEST,
    Guard,
    NoRoom,
    UploadQuota,
)


@pytest.fixture
def held():
    """Sizes of the files that every session holds."""
    return {}


@pytest.fixture
def quota(held):
    return UploadQuota(lambda session: held.get(session, []))


def sent(quota, held, owner, session, size):
    """A file arrives, and its session holds it before the request ends."""
    with quota.room(owner, session, size):
        held.setdefault(session, []).append(size)


def test_who_holds_too_much_sends_no_more_and_others_do(quota, held):
    for number in range(PER_USER // LARGEST):
        sent(quota, held, "eve", f"session {number}", LARGEST)
    for session in ("session 0", "another"):
        with pytest.raises(NoRoom), quota.room("eve", session, 1):
            pass
    sent(quota, held, "ann", "hers", LARGEST)


def test_files_that_a_page_gave_back_make_room(quota, held):
    for number in range(PER_USER // LARGEST):
        sent(quota, held, "eve", f"session {number}", LARGEST)
    held["session 1"].clear()
    sent(quota, held, "eve", "session 9", LARGEST)
    with pytest.raises(NoRoom), quota.room("eve", "session 9", 1):
        pass


def test_files_on_their_way_count_and_those_of_unknown_size_as_the_largest(quota):
    with (
        quota.room("eve", "a", None),
        quota.room("eve", "b", None),
        quota.room("eve", "c", LARGEST - SMALLEST),
        quota.room("eve", "c", 0),
        pytest.raises(NoRoom),
        quota.room("eve", "d", 1),
    ):
        pass
    with quota.room("eve", "d", LARGEST):
        pass


def test_a_file_that_was_refused_leaves_nothing_behind(quota):
    for _ in range(2 * PER_USER // LARGEST):
        with quota.room("eve", "a", LARGEST):
            pass
    assert (quota._sessions, quota._coming) == ({}, {})


def test_all_users_together_have_a_limit(quota, held):
    for number in range(OF_ALL // LARGEST):
        sent(quota, held, f"user {number}", f"session {number}", LARGEST)
    with pytest.raises(NoRoom), quota.room("one more", "session", 1):
        pass


def test_millions_of_empty_files_are_not_free(quota, held):
    held["a"] = [0] * (PER_USER // SMALLEST - 1)
    sent(quota, held, "eve", "a", 0)
    with pytest.raises(NoRoom), quota.room("eve", "a", 0):
        pass


@pytest.fixture
def files(monkeypatch):
    """The files of a running Streamlit."""
    files = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=files))
    return files


def test_what_sessions_hold_is_what_streamlit_holds(files):
    quota = UploadQuota()
    with quota.room("eve", "a", LARGEST):
        for number in range(3):
            files.add_file("a", UploadedFileRec(f"{number}", "v.csv", "text/csv", b"1" * 9))
    assert quota._of("eve") == 3 * SMALLEST
    files.remove_session_files("a")
    assert quota._of("eve") == 0
    assert "b" not in files.file_storage


def test_a_file_that_its_page_keeps_counts_after_streamlit_forgot_it(files, monkeypatch):
    data = b"1" * (2 * SMALLEST)
    quota = UploadQuota()
    with quota.room("eve", "a", len(data)):
        files.add_file("a", UploadedFileRec("1", "v.csv", "text/csv", data))
    kept = uploads.Upload("v.csv", data)
    monkeypatch.setitem(uploads._SESSIONS, kept, "a")
    assert quota._of("eve") == len(data)  # Once, though two hold it.
    files.remove_session_files("a")
    assert quota._of("eve") == len(data)
    del uploads._SESSIONS[kept]
    assert quota._of("eve") == 0


def put(guard, length, session="s"):
    """The status of an upload as the guard answers it, with what it says."""
    answers = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        answers.append(message)

    headers = [(b"host", b"localhost")] + ([] if length is None else [(b"content-length", length)])
    scope = {"type": "http", "method": "PUT", "headers": headers, "query_string": b""}
    asyncio.run(guard({**scope, "path": f"/_stcore/upload_file/{session}/file"}, receive, send))
    return answers[0]["status"], answers[-1]["body"].decode()


def test_a_file_too_many_is_refused_in_one_sentence_before_it_is_read(quota, held):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guard = Guard(app, sender=lambda cookies: "eve", quota=quota)
    assert put(guard, b"%d" % LARGEST)[0] == 204
    held["s"] = [LARGEST] * (PER_USER // LARGEST - 1)
    with quota.room("eve", "s", 0):
        assert put(guard, b"%d" % (LARGEST - SMALLEST))[0] == 204
        for length in (b"%d" % LARGEST, None, b"nine"):
            assert put(guard, length) == (429, NO_ROOM)
    assert put(Guard(app), b"%d" % LARGEST)[0] == 204
