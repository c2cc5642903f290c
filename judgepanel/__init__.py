"""judgepanel: which judges to keep, and how sure to be, on a team's own votes.

The functions for notebooks and scripts (docs/python.md)::

    import judgepanel as jp

    votes = jp.from_frame(frame, label="gold")
    jp.curve(votes).plot()
    panel = jp.recommend(votes)
    panel.save("panel.json")
    panel.score(new_frame)

What is named here is imported when it is first used, so that ``import judgepanel`` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgepanel import models as models
    from judgepanel.api.panels import Panel as Panel
    from judgepanel.api.panels import RecommendedPanel as RecommendedPanel
    from judgepanel.api.panels import load_panel as load_panel
    from judgepanel.api.panels import recommend as recommend
    from judgepanel.api.reports import report as report
    from judgepanel.api.studies import StudyResult as StudyResult
    from judgepanel.api.studies import curve as curve
    from judgepanel.api.studies import estimate as estimate
    from judgepanel.api.studies import items_to_label as items_to_label
    from judgepanel.api.studies import study as study
    from judgepanel.api.votes import DataWarning as DataWarning
    from judgepanel.api.votes import Inspection as Inspection
    from judgepanel.api.votes import Votes as Votes
    from judgepanel.api.votes import from_frame as from_frame
    from judgepanel.api.votes import inspect as inspect
    from judgepanel.api.votes import load as load
    from judgepanel.votes.choices import Thresholds as Thresholds
    from judgepanel.votes.errors import InputError as InputError

__version__ = "0.1.0"

ENGINE = 17
"""Raised whenever golden figures change; stored results of an older engine are marked."""


def lazy_names(
    package: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package; ``names`` are those of each module.

    Those of the module ``""`` are subpackages.
    """
    where = {name: module for module, exported in names.items() for name in exported}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = where[name]
        value = (
            getattr(import_module(f"{package}.{module}"), name)
            if module
            else import_module(f"{package}.{name}")
        )
        setattr(sys.modules[package], name, value)
        return value

    def names_of() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where})

    return get, names_of


_NAMES = {
    "": ("models",),
    "api.panels": ("Panel", "RecommendedPanel", "load_panel", "recommend"),
    "api.reports": ("report",),
    "api.studies": ("StudyResult", "curve", "estimate", "items_to_label", "study"),
    "api.votes": ("DataWarning", "Inspection", "Votes", "from_frame", "inspect", "load"),
    "votes.errors": ("InputError",),
    "votes.choices": ("Thresholds",),
}
__all__ = [name for names in _NAMES.values() for name in names] + ["ENGINE", "__version__"]
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
