"""Links for others: the address with which they begin, and whom it reaches."""

import pytest

from judgepanel.service.basics import ServerProblem
from judgepanel.ui import server


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8501",
        "http://LOCALHOST.:8501",
        "http://app.localhost",
        "http://127.0.0.1:8501",
        "http://127.8.9.1",
        "http://[::1]:8501",
        "http://0.0.0.0:8501",
    ],
)
def test_an_address_that_reaches_one_machine_is_known(url):
    assert server.is_local(url)


@pytest.mark.parametrize(
    "url",
    ["https://judges.example.org", "http://192.168.1.7:8501", "http://localhost.example.org", ""],
)
def test_an_address_that_reaches_others_is_not_called_local(url):
    assert not server.is_local(url)


def test_links_for_others_begin_with_the_address_that_is_set(monkeypatch):
    monkeypatch.setenv(server.PUBLIC_URL, "https://Example.org:443/")
    assert server.public_origins() == ("https://example.org",)


@pytest.mark.parametrize("setting", ["judges.example.org", "ftp://a.b", "https://", "https://a?b"])
def test_a_setting_that_is_no_address_is_refused(monkeypatch, setting):
    monkeypatch.setenv(server.PUBLIC_URL, setting)
    with pytest.raises(ServerProblem, match="it must be what people type to open it"):
        server.public_origins()
