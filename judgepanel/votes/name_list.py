"""Several names in one text: separated by commas, in double quotes where a name needs them."""

from __future__ import annotations

import csv
from collections.abc import Iterable

from judgepanel.votes.errors import InputError

_QUOTED = frozenset(',"\r\n')


def join_names(names: Iterable[str]) -> str:
    """Return the text from which :func:`split_names` reads these names."""
    return ",".join(map(_in_list, names))


def split_names(text: str) -> list[str]:
    """Return the names in a text, without blanks around them.

    Raises
    ------
    InputError
        A line break outside quotes, or a name longer than any file may have.
    """
    try:
        return [name.strip() for row in csv.reader([text]) for name in row if name.strip()]
    except csv.Error:
        raise InputError(
            "these names cannot be read",
            value=text,
            allowed="names separated by commas, in double quotes where they contain a comma",
        ) from None


def _in_list(name: str) -> str:
    return name if _QUOTED.isdisjoint(name) else '"' + name.replace('"', '""') + '"'
