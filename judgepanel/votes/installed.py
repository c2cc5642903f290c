"""What is installed here: files that come with judgepanel, and optional packages.

The files lie elsewhere in an installed wheel than in a checkout.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from judgepanel.votes.errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "_app"
APP_FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""Holds app.py, pages/, sample_data/ and .streamlit/config.toml."""
SAMPLE_FOLDER = APP_FOLDER / "sample_data"
IN_CHECKOUT = (_PACKAGE.parent / "run").is_file()
"""Whether this is a checkout of the repository, which has docs/ and ./run as well."""
TITLES = {
    "aggregators": "Aggregators",
    "claim": "The claim",
    "limits": "Limits of files",
    "scope": "Scope",
    "team": "Run it for a team",
    "transcripts": "From judges' outputs to votes",
}
"""Titles, as in mkdocs.yml, of the pages of the documentation that sentences refer to."""
EXTRAS = {
    "psycopg": "postgres",
    "authlib": "login",
    "httpx": "collect",
    "python_calamine": "excel",
    "distributed": "dask",
}
"""The extra that installs each package (requirements.txt)."""


def documentation(page: str) -> str:
    """Name a page of the documentation: its file in a checkout, its title where there is none."""
    return f"docs/{page}.md" if IN_CHECKOUT else f"'{TITLES[page]}' in the documentation"


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
        problem = f"{feature} needs the package {package}, which is not installed"
        remedy = f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'"
        raise InputError(problem, remedy=remedy) from None
