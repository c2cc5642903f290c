"""A malicious endpoint, and the keys of its judges."""

from collections.abc import Iterator

import pytest

from judgepanel.collect import runner as calls
from tests.hostile.hostile_endpoint import KEY, OTHER_KEY, HostileEndpoint, hostile_endpoint


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostileEndpoint]:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", OTHER_KEY)
    monkeypatch.setattr(calls, "FIRST_PAUSE", 0.001)
    with hostile_endpoint() as served:
        yield served
