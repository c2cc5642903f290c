"""Optional packages, which `pip install judgepanel` does not install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from judgepanel.votes.errors import InputError

EXTRAS = {
    "psycopg": "postgres",
    "authlib": "login",
    "httpx": "collect",
    "python_calamine": "excel",
    "distributed": "dask",
}
"""The extra that installs each package (requirements.txt)."""


def require(package: str, feature: str) -> Any:
    """Return the package; ``feature`` is what needs it, as the subject of a sentence.

    Raises
    ------
    InputError
        The package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise InputError(
            f"{feature} needs the package {package}, which is not installed",
            remedy=f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'",
        ) from None
