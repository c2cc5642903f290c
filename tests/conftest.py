"""For every test: real votes, its own data folder, no outside network."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings

from judgepanel.kernels.threads import SHARED

SAMPLE_FOLDER = Path(__file__).resolve().parents[1] / "sample_data"
REAL_VOTES = "JUDGEPANEL_REAL_VOTES"
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if IN_CI else "local")


class OutsideNetworkError(RuntimeError):
    """A test has tried to reach another machine."""


def is_loopback(host: object) -> bool:
    if host in {None, "", b"", "localhost", b"localhost"}:
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


def refuse_outside_network(event: str, arguments: tuple[object, ...]) -> None:
    host: object = None
    if event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]  # Unix sockets have a plain path instead.
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    if not is_loopback(host):
        raise OutsideNetworkError(f"tests reach nothing beyond loopback, this is {host!r}")


sys.addaudithook(refuse_outside_network)


def as_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI a skip would hide that something was not tested."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: a skip is a failure in CI. {reason}"


@pytest.fixture(autouse=True)
def nothing_shared() -> None:
    """What earlier tests computed is computed again."""
    SHARED.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    as_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    as_failure(report)
    return report


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder of the session's own, so that no test touches the developer's."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGEPANEL_HOME", str(home))
        patch.delenv("JUDGEPANEL_DATABASE_URL", raising=False)
        yield home


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A failed browser test is tried once more, and named; without the folder of the larger
    matrices their tests are not collected.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if os.environ.get(REAL_VOTES):
        return
    larger = [item for item in items if item.get_closest_marker("real_votes")]
    if larger:
        config.hook.pytest_deselected(items=larger)
        items[:] = [item for item in items if item not in set(larger)]


@pytest.fixture(scope="session")
def real_votes() -> Callable[[str], Path]:
    """A file of real votes by name: LLMBar's from the samples, the larger ones from their folder.

    Tests that ask for the larger ones carry the marker ``real_votes``.
    """

    def path(name: str) -> Path:
        if name in {"llmbar_votes.csv", "llmbar_judges.csv"}:
            return SAMPLE_FOLDER / name
        return Path(os.environ[REAL_VOTES]) / name

    return path
