"""Uploaded files: kept while the visitor looks at other pages, and read once.

A file is read in a process of its own, a few at a time.
The page says that it waits. If the visitor leaves or does something else, Streamlit ends the page's
thread at the next thing it writes, and the reading process ends with it.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgepanel.ui.access import owner
from judgepanel.votes import InputError
from judgepanel.votes.limits import READERS
from judgepanel.words.text import plain

if TYPE_CHECKING:
    import pandas as pd

    from judgepanel.intake.answer import Answer, Ask
    from judgepanel.service.jobs import Places
    from judgepanel.votes.choices import Choices

_MOST_ANSWERS, _MOST_BYTES = 64, 400_000_000
_SOURCE, _MOST_KEPT = "votes-source", 20_000_000
"""Where files of analysed votes are kept, and up to how many bytes of them."""
_OTHERS = 2_000_000
"""Bytes of an answer beside its votes, at most: a refusal, a preview, notes."""
_POLL_SECONDS = 0.25
_READING = "Reading the file …"
_WAITING = "Waiting: other files are being read first."

_LOCK = threading.Lock()
_Key = tuple[str, ...]
_ANSWERS: OrderedDict[_Key, Answer] = OrderedDict()


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
        keep_upload(key, None if new is None else Upload(new.name, new.getvalue()))

    here = st.file_uploader(label, key=key, help=help, on_change=changed)
    upload = kept_upload(key)
    if here is None and upload is not None:
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.text(f"{plain(upload.name, 80)} is still here from before.")
        right.button(
            "Remove", key=f"remove-{key}", on_click=forget_uploads, args=(key,), width="stretch"
        )
    return upload


def keep_upload(key: str, upload: Upload | None) -> None:
    """Keep a file in this place, as if it had been uploaded."""
    st.session_state[_kept(key)] = upload
    run = get_script_run_ctx()
    if upload is not None and run is not None:
        _SESSIONS[upload] = run.session_id


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


def read_uploads(
    votes: Upload,
    labels: Upload | None = None,
    judges: Upload | None = None,
    choices: Choices | None = None,
    *,
    need_labels: bool = True,
) -> Answer:
    """What is in uploaded files; a line on the page says so while they are read.

    ``labels`` and ``judges`` are the tables beside the votes; the others are as in :class:`Ask`.
    """
    from judgepanel.studies.codec import spec_sha  # noqa: PLC0415

    beside = [upload for upload in (votes, labels, judges) if upload is not None]
    ask = _asked(votes, labels, judges, choices, need_labels=need_labels)
    key = (spec_sha(ask), *(hashlib.sha256(upload.data).hexdigest() for upload in beside))
    with _LOCK:
        answer = _ANSWERS.get(key)
        if answer is not None:
            _ANSWERS.move_to_end(key)
    if answer is None:
        line = st.empty()
        files = [upload.data for upload in beside]
        answer, is_final = _answered(ask, files, owner() or "", line.caption)
        if is_final:  # Else another try may have another outcome.
            _keep(key, answer)
        line.empty()
    return answer


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The files that the votes of an analysis were read from, whose texts can be read again."""

    sha256: str
    reader: str
    votes: Upload
    labels: Upload | None
    choices: Choices


def keep_source(sha256: str, votes: Upload, labels: Upload | None, choices: Choices) -> None:
    """Keep the files of the votes that were analysed last, unless they are large."""
    size = len(votes.data) + (0 if labels is None else len(labels.data))
    source = Source(sha256, owner() or "", votes, labels, choices)
    st.session_state[_SOURCE] = source if size <= _MOST_KEPT else None


def kept_source(sha256: str) -> Source | None:
    """The files that these votes were read from, if this session has them."""
    source: Source | None = st.session_state.get(_SOURCE)
    return source if source is not None and source.sha256 == sha256 else None


def reread_texts(source: Source, ids: Sequence[str]) -> pd.DataFrame | None:
    """The texts of items, None where they cannot be read; needs no session."""
    wanted: dict[str, Any] = {"need_labels": False, "texts_of": tuple(ids)}
    ask = _asked(source.votes, source.labels, None, source.choices, **wanted)
    files = [upload.data for upload in (source.votes, source.labels) if upload is not None]
    answer, _ = _answered(ask, files, source.reader, lambda _: None)
    return None if answer.loaded is None else answer.loaded.texts


def _asked(
    votes: Upload,
    labels: Upload | None,
    judges: Upload | None,
    choices: Choices | None,
    **wanted: Any,
) -> Ask:
    from judgepanel.intake.answer import Ask  # noqa: PLC0415
    from judgepanel.votes.choices import NO_CHOICES  # noqa: PLC0415

    return Ask(
        votes=votes.name,
        size=len(votes.data),
        labels=None if labels is None else labels.name,
        labels_size=0 if labels is None else len(labels.data),
        judges=None if judges is None else judges.name,
        judges_size=0 if judges is None else len(judges.data),
        choices=choices or NO_CHOICES,
        **wanted,
    )


def _answered(
    ask: Ask, files: list[bytes], reader_of: str, say: Callable[[str], object]
) -> tuple[Answer, bool]:
    """The answer about files, read when it is the visitor's turn; whether it would come again."""
    from judgepanel.intake.answer import Answer, Refusal  # noqa: PLC0415
    from judgepanel.intake.process import ReaderProcess  # noqa: PLC0415

    places = _places()
    ticket = places.queue(reader_of)
    try:
        while not places.enter(ticket, _POLL_SECONDS):
            say(_WAITING)
        with ReaderProcess(ask, *files) as reader:
            while not reader.wait(_POLL_SECONDS):
                say(_READING)
            return reader.answer(), not reader.was_killed
    except InputError as error:
        return Answer(Refusal.of(error)), False
    finally:
        places.leave(ticket)


@cache
def _places() -> Places:
    """The places of files that are read at once."""
    from judgepanel.service.jobs import Places  # noqa: PLC0415

    return Places(READERS)


def _keep(key: _Key, answer: Answer) -> None:
    with _LOCK:
        _ANSWERS[key] = answer
        while len(_ANSWERS) > 1 and (
            len(_ANSWERS) > _MOST_ANSWERS or sum(map(_size, _ANSWERS.values())) > _MOST_BYTES
        ):
            _ANSWERS.popitem(last=False)


def _size(answer: Answer) -> int:
    """Bytes of an answer, nearly: its votes, and at most ``_OTHERS`` of all that is bounded."""
    if answer.loaded is None:
        return _OTHERS
    votes = answer.loaded.votes
    arrays = (votes.votes, votes.labels, votes.ties, votes.grades)
    names = (*votes.item_ids, *votes.judges, *(votes.groups or ()), answer.roles_file)
    texts = sum(map(sys.getsizeof, names))
    frames = [frame for frame in (votes.features, votes.judge_table) if frame is not None]
    tables = sum(int(frame.memory_usage(index=False, deep=True).sum()) for frame in frames)
    return _OTHERS + texts + tables + sum(array.nbytes for array in arrays if array is not None)
