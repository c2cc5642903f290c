"""What comes with judgepanel, and where it is: in an installed wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

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


def documentation(page: str) -> str:
    """Name a page of the documentation: its file in a checkout, its title where there is none."""
    return f"docs/{page}.md" if IN_CHECKOUT else f"'{TITLES[page]}' in the documentation"
