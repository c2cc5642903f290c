"""`app`: Streamlit replaces the process, in the folder that holds app.py, unless it is refused."""

import os
import sys

import pytest

from judgepanel.votes.errors import APP_FOLDER


class Started(Exception):
    """What os.execv was asked to start."""


@pytest.fixture
def start(cli, monkeypatch, tmp_path):
    """Run `app`; gives the words after `streamlit run`, the folder and the data folder."""
    folder = []

    def execv(program, words):
        assert program == words[0] == sys.executable
        raise Started(words)

    monkeypatch.setenv("JUDGEPANEL_HOME", "elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("judgepanel.cli.serving.os.chdir", folder.append)
    monkeypatch.setattr("judgepanel.cli.serving.os.execv", execv)

    def run(*words):
        with pytest.raises(Started) as started:
            cli("app", *words)
        return started.value.args[0][4:], folder, os.environ["JUDGEPANEL_HOME"]

    return run


def test_the_dashboard_is_started_in_its_folder(start):
    assert start() == (["app.py"], [APP_FOLDER], "elsewhere")
    assert all((APP_FOLDER / name).exists() for name in ("app.py", "pages", "sample_data"))


def test_port_address_and_data_folder_are_set(start, tmp_path):
    words, _, home = start("--port", 8600, "--address", "127.0.0.1", "--home", "data")
    assert words == ["app.py", "--server.port=8600", "--server.address=127.0.0.1"]
    assert home == str(tmp_path / "data")


def test_options_of_streamlit_are_handed_on(start):
    words, _, _ = start("--server.port", "8600", "--server.fileWatcherType=auto")
    assert words == ["app.py", "--server.port", "8600", "--server.fileWatcherType=auto"]


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_is_refused(cli, port):
    refusal = cli("app", f"--port={port}")
    assert refusal.status == 2
    assert "0 to 65535" in refusal.error
    assert port in refusal.error


@pytest.mark.parametrize(
    ("package", "environ", "extra"),
    [
        ("psycopg", {"JUDGEPANEL_DATABASE_URL": "postgresql://h/n"}, "postgres"),
        ("authlib", {"JUDGEPANEL_ACCESS": "team"}, "login"),
    ],
)
def test_a_package_that_the_server_lacks_is_named(cli, monkeypatch, package, environ, extra):
    monkeypatch.setitem(sys.modules, package, None)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    refusal = cli("app")
    assert (refusal.status, refusal.out) == (2, "")
    assert f"the package {package}" in refusal.error
    assert refusal.error.endswith(f"pip install 'judgepanel[{extra}]'.")


def test_a_database_that_is_none_is_refused_before_the_server_starts(cli, monkeypatch):
    monkeypatch.setenv("JUDGEPANEL_DATABASE_URL", "mysql://h/n")
    assert "is not the address of a database" in cli("app").error
