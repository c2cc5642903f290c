"""What several tests present."""

import pytest

from tests.present.results import recommended


@pytest.fixture
def outcome():
    """The recommendation that tests of its words change."""
    return recommended()
