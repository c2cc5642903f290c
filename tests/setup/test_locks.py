"""Guarantees of the lock files."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.setup.scripts import ROOT

LOCKS = {
    "requirements.lock": "requirements.txt",
    "requirements-dev.lock": "requirements-dev.txt",
    "requirements-oracles.lock": "requirements-oracles.txt",
}
LOWEST = "requirements-lowest.lock"


def pins(lock):
    """Every pin of a lock file by package, with the lines (hashes) that follow it."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE | re.IGNORECASE)
    by_name: dict[str, list[tuple[Requirement, str]]] = {}
    for block in blocks:
        if "==" not in block:
            continue
        requirement = Requirement(block.splitlines()[0].rstrip(" \\"))
        by_name.setdefault(canonicalize_name(requirement.name), []).append((requirement, block))
    return by_name


def version(requirement):
    (pin,) = requirement.specifier
    assert pin.operator == "=="
    return pin.version


def bounds(path):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0]]


@pytest.mark.parametrize("lock", [*LOCKS, LOWEST])
def test_every_pin_of_a_lock_has_hashes_and_no_address(lock):
    assert pins(lock)
    for name, entries in pins(lock).items():
        for requirement, block in entries:
            version(requirement)
            assert "--hash=sha256:" in block, name
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize(("lock", "source"), LOCKS.items())
def test_every_requirement_is_locked_within_its_bounds(lock, source):
    locked = pins(lock)
    assert bounds(source)
    for requirement in bounds(source):
        entries = locked[canonicalize_name(requirement.name)]
        assert all(version(entry) in requirement.specifier for entry, _ in entries), requirement


def test_the_locks_agree_on_what_they_share():
    agreed: dict[tuple[str, str], str] = {}
    for lock in LOCKS:
        for name, entries in pins(lock).items():
            for requirement, _ in entries:
                key = (name, str(requirement.marker or ""))
                assert agreed.setdefault(key, version(requirement)) == version(requirement), name


def test_the_lowest_lock_pins_the_lower_bound_of_every_runtime_requirement():
    locked = pins(LOWEST)
    for requirement in bounds("requirements.txt"):
        (floor,) = (part.version for part in requirement.specifier if part.operator == ">=")
        versions = {version(entry) for entry, _ in locked[canonicalize_name(requirement.name)]}
        assert {Version(pin) for pin in versions} == {Version(floor)}, requirement.name
    for source in ("requirements-dev.txt", "requirements-oracles.txt"):
        assert {canonicalize_name(needed.name) for needed in bounds(source)} <= set(locked)
