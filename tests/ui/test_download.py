"""A file made on demand stays until the browser has fetched it, and not for ever."""

from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from judgepanel.ui.reporting import KEPT, download_button


@pytest.fixture
def manager(monkeypatch):
    """What holds the files of a server."""
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    return files


@pytest.fixture
def click(manager):
    """Click a button that makes this text; returns the address of the file."""

    class Place:
        def download_button(self, label, data, file_name, mime, **options):
            self.url = manager.execute_deferred(
                manager.add_deferred(data, mime, label, file_name=file_name)
            )

    def clicked(text):
        place = Place()
        download_button(place, text, lambda: text, "file.csv", "text/csv")
        return place.url

    return clicked


def content(manager, url):
    file = manager.read_file(url.rpartition("/")[2])
    return file and file.content.decode()


def test_a_file_outlives_the_scripts_that_end_before_it_is_fetched(manager, click):
    url = click("a,b\n1,2\n")
    for _ in range(5):
        manager.remove_orphaned_files()
    assert content(manager, url) == "a,b\n1,2\n"


def test_only_the_last_files_are_kept(manager, click):
    urls = [click(f"file {number}\n") for number in range(KEPT + 3)]
    for _ in range(2):
        manager.remove_orphaned_files()
    kept = [content(manager, url) for url in urls]
    assert kept[:3] == [None] * 3
    assert kept[3:] == [f"file {number}\n" for number in range(3, KEPT + 3)]
