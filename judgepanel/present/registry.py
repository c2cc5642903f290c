"""The registry of studies: the page of each, and the module that presents it.

The command line, menu, pages, reports, the list of studies and the job queue read it. A study that
is not registered is not shown. A module is imported when its study is first used, so that nobody
waits for the imports of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.entry import Entry
from judgepanel.present.pages import (
    BUDGET_PAGE,
    CLAIM_PAGE,
    CONFIDENCE_PAGE,
    CURVE_PAGE,
    JUDGES_PAGE,
    METHODS_PAGE,
    RECOMMENDED_PAGE,
    ROBUSTNESS_PAGE,
    SCOPE_PAGE,
    Page,
)
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.settings import Settings
from judgepanel.votes import InputError, VoteMatrix

Value = TypeVar("Value")

_PRESENTED: Mapping[Page, tuple[str, ...]] = MappingProxyType(
    {
        CURVE_PAGE: ("decide.panel_curve",),
        RECOMMENDED_PAGE: (
            "decide.recommend",
            "decide.value",
            "decide.cost",
            "decide.escalation",
            "decide.curators",
            "decide.what_if",
        ),
        CONFIDENCE_PAGE: (
            "trust.reliability",
            "trust.selective",
            "trust.conformal",
            "trust.items",
        ),
        BUDGET_PAGE: ("trust.label_budget", "trust.fraction_sweep"),
        SCOPE_PAGE: ("trust.scope", "trust.group_change"),
        ROBUSTNESS_PAGE: (
            "robustness.difficulty_transfer",
            "robustness.slice_transfer",
            "robustness.permutation",
            "robustness.corruption",
            "robustness.distortion",
            "robustness.reliability_weighting",
            "robustness.jury",
            "robustness.narrow_band",
        ),
        JUDGES_PAGE: ("understand.judges", "understand.variance_decomposition"),
        METHODS_PAGE: (
            "understand.method_grid",
            "understand.pipeline_ablation",
            "understand.calibrator_design",
        ),
        CLAIM_PAGE: ("understand.claim",),
    }
)
"""Modules below ``judgepanel.present``, named after the studies that they present, by page and in
the order of its sections."""


def _name(module: str) -> str:
    return module.rpartition(".")[2]


_MODULES: Mapping[str, str] = MappingProxyType(
    {
        _name(module): f"judgepanel.present.{module}"
        for module in chain.from_iterable(_PRESENTED.values())
    }
)


class _ByName(Mapping[str, Value]):
    """What the registry holds of each study, by name; made of its entry when it is first used."""

    def __init__(self, of: Callable[[Entry], Value]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> Value:
        return self._of(import_module(_MODULES[name]).ENTRY)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


ENTRIES: Mapping[str, Entry] = _ByName(lambda entry: entry)
"""Studies by name, in the order of the pages and of their sections."""
STUDIES: Mapping[str, Study[Any, Any, Any]] = _ByName(lambda entry: entry.study)


def entries_of(page: Page) -> tuple[Entry, ...]:
    """Return the studies of a page, in order."""
    return tuple(ENTRIES[_name(module)] for module in _PRESENTED.get(page, ()))


def default_specs(
    votes: VoteMatrix, settings: Settings, recommendation: Recommendation | None = None
) -> dict[str, tuple[Spec, ...]]:
    """Return the specs to look for by study, those under the recommended pipeline first."""
    specs = {name: entry.specs(votes, settings, recommendation) for name, entry in ENTRIES.items()}
    return {name: some for name, some in specs.items() if some}


def study_named(name: str) -> Study[Any, Any, Any]:
    """Return the study of this name; InputError lists the known ones."""
    if name not in _MODULES:
        raise InputError("unknown study", value=name, allowed=", ".join(STUDIES))
    return STUDIES[name]
