"""The candidates of a recommendation: panels that are averaged or chosen among."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.aggregation import Aggregator, AnyAggregator
from judgepanel.kernels.aggregate.prefixes import Ranking
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.evaluation import Recipe
from judgepanel.studies.panel.curator_list import CURATORS

Panels = tuple[tuple[str, int], ...]

EVERYONE = "all"
TOP = (1, 3, 5, 10, 20)
MAPS: tuple[Calibrator, ...] = ("none", "temperature", "platt", "beta")
SCALES: tuple[Calibrator, ...] = ("none", "temperature")
WEIGHTED: tuple[Calibrator, ...] = ("temperature", "beta")
SUMMED = ("above_chance", "one_per_cluster", "finite_calibration")
JOINED = ("above_chance", "forward", "one_per_cluster")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Judges under one pipeline; ``name`` says which they are: the ``k`` best by a ranking, or
    those that a ``curator`` chooses, however many (``k`` is 0).
    """

    name: str
    k: int
    aggregator: AnyAggregator
    calibrator: Calibrator
    ranking: Ranking = "accuracy"
    curator: str | None = None

    @property
    def title(self) -> str:
        """Judges and pipeline in a few words, by which it is asked for."""
        return f"{self.name}, {self.aggregator}, {self.calibrator}"


FAVOURITES = ((EVERYONE, "joint", "none"), (EVERYONE, "joint_graded", "none"))
LEAD = 0.5
"""Prior weight of the favourite, joint over everyone: on real matrices it is most often the best
single pipeline. Joint on votes and joint on grades share it alike."""
MEMBERS: Mapping[AnyAggregator, tuple[Calibrator, ...]] = MappingProxyType(
    {
        "majority": ("temperature",),
        "one_coin": ("none", "temperature"),
        "joint": ("none", "temperature"),
        "accuracy_weighted": ("temperature", "beta"),
        "stacking": ("none",),
        "dawid_skene_semi": ("none", "temperature"),
        "one_coin_graded": ("none", "temperature"),
        "joint_graded": ("none", "temperature"),
    }
)
"""Pipelines of the members beside the favourite, on everyone and on the better half of the judges
as far as the list has them; they share the rest of the prior alike."""
FEW = (3, 5, 10)
FEW_MEMBER: tuple[Aggregator, Calibrator] = ("one_coin", "temperature")
"""The pipeline of members that keep a few judges."""


@dataclass(frozen=True, slots=True)
class Family:
    """Panels of one aggregator under several calibrators; they share their raw scores."""

    aggregator: AnyAggregator
    panels: Panels
    calibrators: tuple[Calibrator, ...]
    ranking: Ranking = "accuracy"

    @property
    def sizes(self) -> Ints:
        """Distinct panel sizes, ascending."""
        return np.array(sorted({k for _, k in self.panels}), dtype=np.int64)

    def recipe(self, seed: int) -> Recipe:
        """How its panels are built."""
        return Recipe(self.aggregator, self.calibrators, self.ranking, seed=seed)

    def candidates(self) -> tuple[Candidate, ...]:
        """Its candidates; panels vary fastest."""
        return tuple(
            Candidate(name, k, self.aggregator, calibrator, self.ranking)
            for calibrator in self.calibrators
            for name, k in self.panels
        )


@dataclass(frozen=True, slots=True)
class Curation:
    """The panel of one curator under one aggregator and several calibrators."""

    curator: str
    aggregator: Aggregator
    calibrators: tuple[Calibrator, ...]

    def candidates(self) -> tuple[Candidate, ...]:
        """Its candidates, one per calibrator."""
        name = CURATORS[self.curator].title
        return tuple(
            Candidate(name, 0, self.aggregator, calibrator, curator=self.curator)
            for calibrator in self.calibrators
        )


@dataclass(frozen=True, slots=True)
class Candidates:
    """Families and curations in a fixed order."""

    families: tuple[Family | Curation, ...]

    def all(self) -> tuple[Candidate, ...]:
        """All candidates; positions follow :mod:`studies.contest.compete`."""
        return tuple(candidate for family in self.families for candidate in family.candidates())

    def prior(self, allowed: NDArray[np.bool_] | None = None) -> Floats:
        """Prior weight (n_candidates,) in the average; 0 for those that are no members.

        Members that need more judges than there are, or that are not ``allowed`` (n_candidates,),
        leave their share to the others. Under a budget joint on the best panel within it leads. All
        0 if no member is allowed.
        """
        listed = self.all()
        n_judges = max(candidate.k for candidate in listed)
        leading = np.array([_leads(candidate) for candidate in listed], dtype=bool)
        members = leading | np.array([_follows(candidate, n_judges) for candidate in listed])
        if allowed is not None:
            leading, members = leading & allowed, members & allowed
        within = np.array([candidate.curator == BUDGET for candidate in listed], dtype=bool)
        if (leading & within).any():
            leading &= within
        others = members & ~leading
        weights = LEAD * leading / max(leading.sum(), 1)
        weights = weights + (1.0 - LEAD) * others / max(others.sum(), 1)
        return np.asarray(weights / max(weights.sum(), np.finfo(np.float64).tiny))

    def members(self) -> Candidates:
        """Those that the average can take, and as few others as families allow; all curations."""
        weighed = {
            (candidate.k, candidate.aggregator, candidate.calibrator, candidate.ranking)
            for candidate, weight in zip(self.all(), self.prior(), strict=True)
            if weight > 0.0
        }
        families = [
            _only(family, weighed) if isinstance(family, Family) else family
            for family in self.families
        ]
        return Candidates(tuple(family for family in families if family is not None))

    def with_everyone(self, prior: Floats) -> Floats:
        """A prior (n_candidates,) and below it that of the members that keep all judges, or the
        same again where none does, (2, n_candidates).
        """
        everyone = prior * np.array([candidate.name == EVERYONE for candidate in self.all()])
        return np.stack([prior, everyone if everyone.any() else prior])


def _only(
    family: Family, weighed: set[tuple[int, AnyAggregator, Calibrator, Ranking]]
) -> Family | None:
    """The family with its panels and calibrators that are among those weighed; None without any."""
    own = {
        (k, calibrator)
        for k, aggregator, calibrator, ranking in weighed
        if (aggregator, ranking) == (family.aggregator, family.ranking)
    }
    panels = tuple(panel for panel in family.panels if any(panel[1] == k for k, _ in own))
    calibrators = tuple(name for name in family.calibrators if any(name == c for _, c in own))
    return replace(family, panels=panels, calibrators=calibrators) if own else None


BUDGET = "budget"
"""The curator of the best panel that keeps within a budget."""


def _leads(candidate: Candidate) -> bool:
    """Joint over everyone, or over the best panel that keeps within a budget."""
    if candidate.curator == BUDGET:
        return (candidate.aggregator, candidate.calibrator) == FAVOURITES[0][1:]
    return _names(candidate) in FAVOURITES


def _follows(candidate: Candidate, n_judges: int) -> bool:
    pipeline = (candidate.aggregator, candidate.calibrator)
    if candidate.curator is not None:
        return candidate.curator == BUDGET and pipeline == FEW_MEMBER
    if candidate.ranking != "accuracy":
        return False
    if candidate.k in FEW and pipeline == FEW_MEMBER:
        return True
    large = candidate.k in (n_judges, half(n_judges))
    return large and candidate.calibrator in MEMBERS.get(candidate.aggregator, ())


def _names(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.name, candidate.aggregator, candidate.calibrator


def panels(n_judges: int, top: tuple[int, ...] = TOP) -> Panels:
    """{top-1, 3, 5, 10, 20, top half, all}, each size once, ascending."""
    sizes: dict[int, str] = {n_judges: EVERYONE}
    for k in top:
        if k < n_judges:
            sizes.setdefault(k, f"top-{k}")
    if half(n_judges) < n_judges:
        sizes.setdefault(half(n_judges), f"top half ({half(n_judges)})")
    return tuple((sizes[k], k) for k in sorted(sizes))


def half(n_judges: int) -> int:
    """How many judges the better half has."""
    return (n_judges + 1) // 2


def _default(n_judges: int) -> tuple[Family | Curation, ...]:
    """Sums of votes and joint at every size, and what else the average takes of everyone."""
    every = panels(n_judges)
    everyone = ((EVERYONE, n_judges),)
    return (
        Family("majority", every, MAPS),
        Family("one_coin", every, MAPS),
        Family("joint", panels(n_judges, TOP[1:]), SCALES),
        Family("accuracy_weighted", every, WEIGHTED),
        Family("stacking", everyone, SCALES),
        Family("dawid_skene_semi", everyone, SCALES),
    )


def _wide(n_judges: int) -> tuple[Family | Curation, ...]:
    """The default ones, every other aggregator, isotonic, judges far from chance, and curators."""
    every, most = panels(n_judges), panels(n_judges, (20,))
    some = tuple(panel for panel in most if panel[1] < n_judges)
    return (
        *_default(n_judges),
        Family("joint", panels(n_judges, (3, 5, 10)), ("beta",)),
        Family("log_odds", every, ("temperature", "beta")),
        Family("one_coin", every, ("isotonic", "beta_cv")),
        Family("dawid_skene", most, SCALES),
        Family("dawid_skene_semi", some, SCALES),
        Family("stacking", some, SCALES),
        Family("one_coin", _far(n_judges), ("temperature", "beta"), "informativeness"),
        Family("joint", _far(n_judges), SCALES, "informativeness"),
        *(Curation(name, "one_coin", ("temperature", "beta")) for name in SUMMED),
        *(Curation(name, "joint", SCALES) for name in JOINED),
    )


def _far(n_judges: int) -> Panels:
    """Panels of the judges farthest from chance, which anti-experts are too."""
    sizes = [k for k in (10, 20, 30) if k < n_judges]
    return tuple((f"{k} farthest from chance", k) for k in sizes)


LISTS: Mapping[str, Callable[[int], tuple[Family | Curation, ...]]] = MappingProxyType(
    {"default": _default, "wide": _wide}
)
"""Lists of candidates by name, from the number of judges."""


def candidates_of(
    name: str,
    n_judges: int,
    *,
    symmetric: bool,
    budget: bool = False,
    robust: bool = False,
    graded: bool = False,
) -> Candidates:
    """A list of candidates; under ``symmetric`` Platt coincides with temperature and is left out.

    Families without a panel (too few judges) are left out as well. With a ``budget`` there are
    panels chosen to keep within it besides, monotone ones of everyone where a ``robust`` panel is
    wanted, and ones of everyone that read grades where votes are ``graded``.
    """
    monotone = (
        Family("joint_monotone", ((EVERYONE, n_judges),), SCALES),
        Family("stacking_monotone", ((EVERYONE, n_judges),), SCALES),
    )
    within = (
        Curation(BUDGET, "one_coin", WEIGHTED),
        Curation(BUDGET, "joint", SCALES),
    )
    # Last, so that a candidate of votes has the same position with grades and without.
    on_grades = (
        Family("one_coin_graded", ((EVERYONE, n_judges),), MAPS),
        Family("joint_graded", ((EVERYONE, n_judges),), SCALES),
    )
    families = (
        *LISTS[name](n_judges),
        *(monotone if robust else ()),
        *(within if budget else ()),
        *(on_grades if graded else ()),
    )
    return Candidates(
        tuple(
            replace(family, calibrators=_distinct(family.calibrators, symmetric=symmetric))
            for family in families
            if isinstance(family, Curation) or family.panels
        )
    )


def _distinct(calibrators: tuple[Calibrator, ...], *, symmetric: bool) -> tuple[Calibrator, ...]:
    return tuple(name for name in calibrators if not (symmetric and name == "platt"))
