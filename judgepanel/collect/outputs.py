"""The journal of a run -> votes, however long it has become."""

from __future__ import annotations

import json
from typing import Any

from judgepanel.collect.journal import FILE, Journal
from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.columns import guess_mapping
from judgepanel.votes.from_jsonl import read_jsonl
from judgepanel.votes.transcripts import OF_A_CALL, UNUSABLE, transcribed


def votes_of(journal: Journal) -> Loaded:
    """The votes in a journal; outputs that cannot be read are missing votes with a reason.

    Other than an upload a journal may be of any length, since one judge that writes much must not
    keep the votes of all others from being read. Memory holds the outputs a few times over.

    Raises
    ------
    InputError
        A line that is no finished call.
    """
    data = b"".join(_line(entry) for entry in journal.entries())
    table = transcribed(read_jsonl(data, FILE))
    return build_votes(table, guess_mapping(table, need_label=False), need_labels=False)


def _line(entry: dict[str, Any]) -> bytes:
    row = {name: value for name, value in entry.items() if name not in OF_A_CALL}
    if UNUSABLE in entry:
        row[UNUSABLE] = entry[UNUSABLE]
    return json.dumps(row).encode() + b"\n"
