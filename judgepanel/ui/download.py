"""Files that are made when their button is clicked, and stay until the browser has fetched them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator

KEPT = 8
"""Number of files, the last ones made, that are kept for the browsers that asked for them."""
_numbers = count()


def download_button(
    place: DeltaGenerator,
    label: str,
    make: Callable[[], str],
    file_name: str,
    mime: str,
    **options: Any,
) -> None:
    """Offer a file; ``make`` runs in a thread without a session, ``options`` are Streamlit's."""
    place.download_button(
        label,
        data=partial(_made, make, file_name, mime),
        file_name=file_name,
        mime=mime,
        on_click="ignore",
        **options,
    )


def _made(make: Callable[[], str], file_name: str, mime: str) -> bytes:
    """Make the file. Streamlit itself forgets it once two scripts of any visitors have ended, which
    may be before the browser fetches it.
    """
    data = make().encode("utf-8")
    if runtime.exists():
        manager = runtime.get_instance().media_file_mgr
        place = f"download-{next(_numbers) % KEPT}"
        manager.add(data, mime, place, file_name, is_for_static_download=True)
    return data
