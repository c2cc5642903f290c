"""Whatever bytes come, every reader reads them or refuses them in one line."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.hostile.targets import TARGETS, mutated, refused_in_one_line

EXAMPLES = 30


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_reads_or_refuses_whatever_comes(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(mutated(target.seeds))
    def fuzz(data: bytes) -> None:
        refused_in_one_line(target, data)

    fuzz()
