"""Savings for every page test: no scan of all packages per visitor, no unwatched work."""

from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from judgepanel.ui import server as spaces


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once():
    """Streamlit looks for components in every installed package, for every visitor again."""
    with pytest.MonkeyPatch.context() as patch:
        scan = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def work_stays_in_this_process():
    """Where tests put their own studies in place of ours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGEPANEL_BACKEND", "threading")
        yield


@pytest.fixture(scope="module", autouse=True)
def no_work_left_behind():
    """Work that a page went on with is called off with the file that asked; results are kept."""
    yield
    spaces.close_workspaces()
