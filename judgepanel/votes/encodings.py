"""Conversion of text in other encodings to UTF-8."""

from __future__ import annotations

import codecs

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError
from judgepanel.votes.remedies import SAVE_AS_UTF8
from judgepanel.votes.table import too_large_unpacked

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WESTERN = (("cp1252", "Windows-1252"), ("latin-1", "Latin-1"))
_BLOCK = 1 << 20


def from_utf16(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return UTF-16 text with a byte order mark as UTF-8, and a note; other bytes unchanged.

    Raises InputError for damaged UTF-16 and for text that becomes too large.
    """
    if not data.startswith(_UTF16):
        return data, ()
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError as error:
        raise InputError(
            f"damaged UTF-16 text at byte {error.start}",
            allowed="UTF-8 or UTF-16 text",
            remedy=SAVE_AS_UTF8,
        ) from None
    return _bounded(text), ("Read as UTF-16 text.",)


def from_western(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return non-UTF-8 text decoded as Windows-1252 or Latin-1, and a note; UTF-8 unchanged."""
    if data.isascii() or _is_utf8(data):
        return data, ()
    for encoding, title in _WESTERN:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        note = f"Not UTF-8: read as {title} text. If letters look wrong, save the file as UTF-8."
        return _bounded(text), (note,)
    return data, ()


def _is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8; decoded in blocks, as a str may take four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _BLOCK):
            decoder.decode(data[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _bounded(text: str) -> bytes:
    data = text.encode()
    if len(data) > limits.MAX_UNPACKED:
        raise too_large_unpacked()
    return data
