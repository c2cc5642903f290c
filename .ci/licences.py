"""Licences of everything in requirements.lock that is installed here, as their metadata says."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
_LONGEST = 60
_CLASSIFIER = "License :: "


def locked(lock: Path = LOCK) -> list[str]:
    """Names of the packages in a lock file."""
    return re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", lock.read_text("utf-8"), re.MULTILINE)


def licence_of(package: Distribution) -> str:
    """The licence that a package's metadata names: expression, classifiers, else its short text."""
    expression = package.metadata.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = package.metadata.get_all("Classifier") or []
    named = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith(_CLASSIFIER)]
    named = [name for name in named if name != "OSI Approved"]
    if named:
        return " AND ".join(sorted(named))
    text = str(package.metadata.get("License") or "").strip()
    return text if 0 < len(text) <= _LONGEST and "\n" not in text else "unknown"


def licences(lock: Path = LOCK) -> dict[str, tuple[str, str]]:
    """Version and licence of each locked package that is installed on this platform."""
    result = {}
    for name in locked(lock):
        try:
            package = distribution(name)
        except PackageNotFoundError:  # It is locked for another platform.
            continue
        result[name] = (package.version, licence_of(package))
    return result


if __name__ == "__main__":
    for package_name, (version, licence) in sorted(licences().items()):
        print(f"{package_name} {version}: {licence}")
