"""All curators by name, and the selection for a study."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from judgepanel.studies.panel import budget_search, choices
from judgepanel.studies.panel.curator import Curator, Known, Rules

EVERYONE = "all"
ORACLE = "oracle"
SELECTOR = "finite_calibration"
BUDGET = "budget"
MOST_CELLS = 5e6
"""Panels x calibration rows above which a search runs only if requested by name."""


def _pairs(n_judges: int, rules: Rules) -> float:
    return n_judges * (n_judges + 1) / 2.0


def _beam(n_judges: int, rules: Rules) -> float:
    return float(n_judges * rules.width * min(rules.steps, n_judges))


CURATORS: Mapping[str, Curator] = MappingProxyType(
    {
        curator.name: curator
        for curator in (
            Curator(EVERYONE, "all judges", choices.everyone, uses_labels=False),
            Curator("accuracy", "top k by accuracy", partial(choices.top_k, ranking="accuracy")),
            Curator(
                "informativeness",
                "top k by distance from chance",
                partial(choices.top_k, ranking="informativeness"),
            ),
            Curator("fixed_size", "top by accuracy, k given", choices.fixed_size),
            Curator("random", "random judges, k given", choices.random_k, uses_labels=False),
            Curator("forward", "greedy forward", choices.greedy_forward),
            Curator("beam", "forward beam", choices.beam_forward, searches=_beam),
            Curator(
                "backward", "backward elimination", choices.backward_elimination, searches=_pairs
            ),
            Curator("lasso", "l1 path", choices.lasso),
            Curator("exhaustive", "every union of groups", choices.every_union),
            Curator("one_per_family", "one per family", choices.one_per_family, needs="families"),
            Curator("one_per_cluster", "one per cluster found", choices.one_per_cluster),
            Curator("checks", "without P1 failures", choices.without_failures),
            Curator("above_chance", "without judges below chance", choices.above_chance),
            Curator(
                "cheapest", "the k cheapest", choices.cheapest_k, uses_labels=True, needs="costs"
            ),
            Curator(
                BUDGET,
                "the best found under a budget",
                budget_search.best_under_budget,
                needs="budget",
            ),
            Curator(SELECTOR, "finite-calibration selector", choices.finite_calibration),
            Curator(ORACLE, "oracle k", None),
        )
    }
)
"""Curators in display order."""

NAMES: tuple[str, ...] = tuple(CURATORS)


def taken(
    asked: tuple[str, ...] | None, known: Known, rules: Rules, n_judges: int, n_rows: float
) -> tuple[tuple[Curator, ...], tuple[str, ...]]:
    """Return the curators of a study, all judges first, and one sentence for each one left out.

    Without names these are all curators that have their inputs and whose search is not too long; if
    there is no budget, the one that needs it is left out without a sentence.
    """
    curators, left_out = [CURATORS[EVERYONE]], []
    for name in NAMES if asked is None else asked:
        curator = CURATORS[name]
        if curator.needs == "budget" and asked is None and rules.budget is None:
            continue
        why = _why_not(curator, known, rules)
        if not why and asked is None:
            why = _too_long(curator, rules, n_judges, n_rows)
        if why:
            left_out.append(f"{curator.title} is left out: {why}")
        elif curator not in curators:
            curators.append(curator)
    return tuple(curators), tuple(left_out)


def _why_not(curator: Curator, known: Known, rules: Rules) -> str:
    if curator.needs in ("costs", "budget") and known.costs is None:
        return "it needs a judge table with a cost for every judge."
    if curator.needs == "budget" and rules.budget is None:
        return "it needs a budget."
    if curator.needs == "families" and not any(known.families):
        return "it needs a judge table with families."
    return ""


def _too_long(curator: Curator, rules: Rules, n_judges: int, n_rows: float) -> str:
    panels = curator.panels(n_judges, rules)
    if panels * n_rows <= MOST_CELLS:
        return ""
    return (
        f"it compares up to {panels:,.0f} panels on {n_rows:,.0f} items in every split; ask for "
        f"it by name ({curator.name})."
    )
