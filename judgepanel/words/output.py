"""Output files: written completely or not at all, and never over an input."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from judgepanel.votes import InputError


def check_output(path: Path, *, inputs: Sequence[Path] = (), kinds: Sequence[str] = ()) -> None:
    """Refuse an invalid output path before any work is done.

    ``kinds`` are the allowed extensions; a device or pipe accepts any content. ``inputs`` are the
    files that are read, which must not be overwritten.

    Raises
    ------
    InputError
        Another extension, a missing folder, a folder, or one of the inputs.
    """
    name = path.name
    if path.is_dir():
        raise InputError("this is a folder, not a file to write to", file=name)
    if not path.resolve().parent.is_dir():
        raise InputError("the folder to write to does not exist", file=name, value=path.parent)
    if _is_special(path):
        return
    if kinds and not path.name.lower().endswith(tuple(kinds)):
        raise InputError(
            "cannot write this kind of file",
            file=name,
            allowed=f"a name that ends in {' or '.join(kinds)}",
        )
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(
                "this would write over what is read", file=name, allowed="another name"
            )


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file atomically; devices and pipes are written directly.

    ``mode`` are the permissions of a new file, reduced by the process's umask.
    """
    if _is_special(path):
        path.write_bytes(data)
        return
    target = path.resolve()
    if target.exists():
        mode = target.stat().st_mode & 0o777
    beside = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _is_special(path: Path) -> bool:
    """Whether the path is something other than a regular file or folder."""
    return path.exists() and not path.is_file() and not path.is_dir()
