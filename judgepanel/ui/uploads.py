"""Uploaded files: kept while the visitor looks at other pages, and read once.

A file is read in a process of its own, a few at a time.
The page says that it waits. If the visitor leaves or does something else, Streamlit ends the page's
thread at the next thing it writes, and the reading process ends with it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgepanel.service.turns import Places
from judgepanel.ui.access import owner
from judgepanel.votes import InputError, RawTable
from judgepanel.votes.limits import READERS
from judgepanel.votes.matrix import Task
from judgepanel.votes.sandbox import Reading
from judgepanel.words.text import plain

_MOST_TABLES, _MOST_BYTES = 64, 400_000_000
_POLL_SECONDS = 0.25
_READING = "Reading the file …"
_WAITING = "Waiting: other files are being read first."

_PLACES = Places(READERS)
_LOCK = threading.Lock()
_Key = tuple[str, str, Task | None, str | None]
_TABLES: OrderedDict[_Key, RawTable | InputError] = OrderedDict()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Upload:
    """An uploaded file: its name, which is untrusted text, and its bytes."""

    name: str
    data: bytes


_SESSIONS: WeakKeyDictionary[Upload, str] = WeakKeyDictionary()
"""The session that keeps each upload, until it forgets it or ends."""


def kept_data(session: str) -> list[bytes]:
    """The contents of the files that a session keeps."""
    return [upload.data for upload, owner in list(_SESSIONS.items()) if owner == session]


def file_upload(label: str, key: str, help: str | None = None) -> Upload | None:
    """A place for a file; the file is still there when the visitor returns from another page.

    Streamlit forgets it with the widget, so it is kept beside it until it is removed.
    """

    def changed() -> None:
        new = st.session_state[key]
        upload = None if new is None else Upload(new.name, new.getvalue())
        st.session_state[_kept(key)] = upload
        run = get_script_run_ctx()
        if upload is not None and run is not None:
            _SESSIONS[upload] = run.session_id

    here = st.file_uploader(label, key=key, help=help, on_change=changed)
    upload = kept_upload(key)
    if here is None and upload is not None:
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.text(f"{plain(upload.name, 80)} is still here from before.")
        right.button(
            "Remove", key=f"remove-{key}", on_click=forget_uploads, args=(key,), width="stretch"
        )
    return upload


def kept_upload(key: str) -> Upload | None:
    """The file in this place."""
    upload: Upload | None = st.session_state.get(_kept(key))
    return upload


def forget_uploads(*keys: str) -> None:
    """Forget the files of these places."""
    for key in keys:
        st.session_state.pop(_kept(key), None)


def _kept(key: str) -> str:
    return f"{key}-kept"


def read_upload(
    data: bytes, name: str, task: Task | None = None, records: str | None = None
) -> RawTable:
    """The raw table in an upload; a line on the page says so while it is read.

    ``task`` is the choice for a file that holds both pairs and single responses, ``records`` that
    for a JSON document with several lists. Raises InputError, at once if the same file was refused
    before.
    """
    key = (hashlib.sha256(data).hexdigest(), name, task, records)
    with _LOCK:
        table = _TABLES.get(key)
        if table is not None:
            _TABLES.move_to_end(key)
    if table is None:
        table = _read(key, data)
    if isinstance(table, InputError):
        raise table
    return table


def _read(key: _Key, data: bytes) -> RawTable | InputError:
    """The table in a file, or why it is refused, which is kept unless another try may succeed."""
    _, name, task, records = key
    line = st.empty()
    ticket = _PLACES.queue(owner() or "")
    try:
        while not _PLACES.enter(ticket, _POLL_SECONDS):
            line.caption(_WAITING)
        with Reading(data, name, task, records) as reading:
            while not reading.wait(_POLL_SECONDS):
                line.caption(_READING)
            try:
                table: RawTable | InputError = replace(reading.table(), records=records)
            except InputError as error:
                table = error
            if not reading.was_killed:
                _keep(key, table)
    except InputError as error:
        table = error
    finally:
        _PLACES.leave(ticket)
    line.empty()
    return table


def _keep(key: _Key, table: RawTable | InputError) -> None:
    with _LOCK:
        _TABLES[key] = table
        while len(_TABLES) > 1 and (
            len(_TABLES) > _MOST_TABLES or sum(map(_size, _TABLES.values())) > _MOST_BYTES
        ):
            _TABLES.popitem(last=False)


def _size(table: RawTable | InputError) -> int:
    if isinstance(table, InputError):
        return 0
    return int(table.frame.memory_usage(index=False).sum())
