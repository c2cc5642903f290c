"""The location of the dashboard's files and the samples, in an installed wheel or a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "_app"
APP_FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""Holds app.py, pages/, sample_data/ and .streamlit/config.toml."""
SAMPLE_FOLDER = APP_FOLDER / "sample_data"
