"""The candidates of a recommendation: panels that are averaged or chosen among.

How candidates compete on some rows: cross-validated losses of every one, and their panels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregation import Aggregator, AnyAggregator, cross_fits, of_votes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrated import (
    SplitScores,
    calibrate,
    evaluate,
    item_losses,
    losses_by_fold,
)
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Choice, Recipe, evaluate_split, inner_losses
from judgepanel.kernels.prefixes import Ranking, places_in, rank
from judgepanel.models.panel import PanelModel, fit_panels, panels_of, whole_of
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split, folds
from judgepanel.studies.panel.curated import CURATORS, Curated, curated
from judgepanel.studies.panel.curator import Known, Rules, evidence_of

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
    return (candidate.name, candidate.aggregator, candidate.calibrator) in FAVOURITES


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


@dataclass(frozen=True, slots=True)
class Terms:
    """What all candidates compete under: ``n_folds`` inner folds, the seed, what is ``known`` of
    the judges, and the ``rules`` by which curators choose.
    """

    n_folds: int
    seed: int
    known: Known
    rules: Rules


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a choice may look at: ``losses`` (n_candidates, n_rows), cross-validated on these rows
    alone, and the ``panels`` bool (n_candidates, n_judges) that these rows choose.
    """

    losses: Floats
    panels: Bools

    def put(self, start: int, part: Standing) -> int:
        """Overwrite the candidates from ``start`` on with others; return where these end."""
        end = start + len(part.losses)
        self.losses[start:end], self.panels[start:end] = part.losses, part.panels
        return end


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Every candidate on the evaluation rows of a split, and what a choice may look at.

    ``arms`` are item scores (n_arms, n_eval) and ECE (n_arms,) of the candidates, and of choices
    among them, which whoever chooses fills in. ``null`` is the logit of the base rate.
    """

    arms: ItemScores
    standing: Standing
    null: float
    null_nll: float
    constant_nll: float
    replaced: int

    @property
    def items(self) -> ItemScores:
        """Scores of the candidates."""
        return self.arms.part(slice(len(self.standing.losses)))


def compete(
    ballots: Ballots, split: Split, choices: Candidates, terms: Terms, *, n_choices: int = 0
) -> Results:
    """Fit every candidate on the calibration rows of a split, score the others, and cross-validate
    on the calibration rows alone; ``n_choices`` arms more are left to be filled in.
    """
    arms = _blank_arms(len(choices.all()) + n_choices, len(split.evaluation))
    standing = _blank(choices, split.calibration, ballots)
    at = _Place(ballots, split, terms, (split.number, 1))
    start, replaced = 0, 0
    for family in choices.families:
        part = _on_split(at, family)
        standing.put(start, part.standing)
        for name in family.calibrators:
            start = arms.put(start, part.scores.evaluation[name])
        replaced += sum(part.scores.replaced.values())
        if family is choices.families[0]:
            null, null_nll = part.scores.fitted.null, part.scores.null_nll
            constant_nll = part.scores.constant_nll[family.calibrators[-1]]
        del part  # Scores of a million items take memory while the next family is fitted.
    return Results(arms, standing, null, null_nll, constant_nll, replaced)


def stand(
    ballots: Ballots, rows: Ints, choices: Candidates, terms: Terms, key: tuple[int, ...]
) -> Standing:
    """Cross-validate every candidate on these rows alone; folds are drawn by ``key``."""
    standing = _blank(choices, rows, ballots)
    at = _Place(ballots, Split(0, rows, rows[:0]), terms, key)
    start = 0
    for family in choices.families:
        start = standing.put(start, _family_standing(at, family))
    return standing


def absent_losses(
    ballots: Ballots,
    rows: Ints,
    choices: Candidates,
    terms: Terms,
    groups: Sequence[Sequence[int]],
    key: tuple[int, ...],
) -> Floats:
    """NLL (n_candidates, n) of these rows while a group of judges is absent, each group in turn.

    ``groups`` are columns of judges. Each half of the rows, or as many as ``_ABSENT_CELLS`` allow,
    is scored by candidates fitted on the other half, to which everybody was there.
    """
    parts = []
    for half in folds(ballots.units, rows, 2, seed=terms.seed, key=(*key, _HALVES)):
        rng = np.random.default_rng(
            np.random.SeedSequence(terms.seed, spawn_key=(*key, _HALVES, half.number))
        )
        most = min(max(_ABSENT_CELLS // len(groups), 50), len(half.evaluation))
        some = np.sort(rng.choice(half.evaluation, most, replace=False))
        copied, scored = _with_absent(ballots, some, groups)
        at = _Place(copied, Split(half.number, half.calibration, scored), terms, key)
        by_family = [at.scored(family).evaluation for family in choices.families]
        parts.append(
            np.concatenate([scores.nll for scored in by_family for scores in scored.values()])
        )
    return np.concatenate(parts, axis=1)


def _with_absent(
    ballots: Ballots, rows: Ints, groups: Sequence[Sequence[int]]
) -> tuple[Ballots, Ints]:
    """Ballots with a copy of the rows for each group, without its votes; where the copies are."""
    copies = np.stack([ballots.votes[rows]] * len(groups))
    for copy, columns in zip(copies, groups, strict=True):
        copy[:, list(columns)] = 0
    margins = ballots.margins
    if margins is not None:
        margins = np.concatenate([margins, np.tile(margins[rows], (len(groups), 1))])
    copied = replace(
        ballots,
        votes=np.concatenate([ballots.votes, copies.reshape(-1, ballots.n_judges)]),
        signs=np.concatenate([ballots.signs, np.tile(ballots.signs[rows], len(groups))]),
        units=np.concatenate([ballots.units, np.tile(ballots.units[rows], len(groups))]),
        ties=None,
        margins=margins,
    )
    return copied, np.arange(ballots.n_items, copied.n_items)


def final_members(
    ballots: Ballots, names: tuple[str, ...], candidates: Sequence[Candidate], terms: Terms
) -> list[PanelModel]:
    """Candidates that differ by their calibrator alone, fitted on all rows with one rule.

    ``names`` are the columns of ``ballots``.
    """
    candidate = candidates[0]
    calibrators = tuple(one.calibrator for one in candidates)
    recipe = Recipe(candidate.aggregator, calibrators, candidate.ranking, seed=terms.seed)
    if candidate.curator is None:
        return fit_panels(ballots, names, candidate.k, recipe)
    whole = whole_of(ballots)
    evidence = evidence_of(ballots, whole.calibration, terms.known, terms.rules, FINAL)
    result = curated(
        ballots, whole, CURATORS[candidate.curator], evidence, of_votes(candidate.aggregator)
    )
    judges = result.chosen.judges
    if result.chosen.table:
        raise ValueError("a table of patterns is not a panel that can be taken away")
    panel = tuple(name for name, chosen in zip(names, judges, strict=True) if chosen)
    return panels_of(ballots.of_judges(judges), panel, len(panel), result.scores, recipe)


FINAL = (0, 2)
"""Where the random streams of the choice on all labelled rows begin."""
_HALVES = 71
_ABSENT_CELLS = 6_000


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    scores: SplitScores
    standing: Standing


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a family competes: on a split of ballots; ``key`` starts its random streams."""

    ballots: Ballots
    split: Split
    terms: Terms
    key: tuple[int, ...]

    def made(self, family: Curation) -> Curated:
        """What the curator of a family makes of the calibration rows."""
        ballots, split, terms = self.ballots, self.split, self.terms
        evidence = evidence_of(ballots, split.calibration, terms.known, terms.rules, self.key)
        return curated(ballots, split, CURATORS[family.curator], evidence, family.aggregator)

    def scored(self, family: Family | Curation, choice: Choice | None = None) -> SplitScores:
        """A family on the evaluation rows."""
        if isinstance(family, Curation):
            return self.scored_panel(family, self.made(family))
        recipe = family.recipe(self.terms.seed)
        return evaluate_split(self.ballots, self.split, family.sizes, recipe, choice)

    def scored_panel(self, family: Curation, made: Curated) -> SplitScores:
        """The panel of a curator on the evaluation rows."""
        fitted = calibrate(self.ballots, self.split, made.scores, family.calibrators)
        return evaluate(self.ballots, self.split, fitted, made.scores.order, np.zeros((0, 1)))


def _on_split(at: _Place, family: Family | Curation) -> _Part:
    if isinstance(family, Curation):
        panel = at.made(family)
        return _Part(at.scored_panel(family, panel), _curated_standing(at, family, panel))
    every = np.ones(len(family.sizes), dtype=bool)
    scores = at.scored(family, Choice(every, at.terms.n_folds, at.key))
    if scores.inner is None:
        raise ValueError("candidates are compared on calibration rows")
    return _Part(scores, _standing(at, family, scores.inner))


def _blank_arms(n_arms: int, n_eval: int) -> ItemScores:
    """Room for scores of all arms; hits, which are 0, 1/2 or 1, in single precision."""
    nll, brier = np.empty((2, n_arms, n_eval))
    hit: NDArray[Any] = np.empty((n_arms, n_eval), dtype=np.float32)
    return ItemScores(nll, brier, hit, np.empty(n_arms))


def _blank(choices: Candidates, rows: Ints, ballots: Ballots) -> Standing:
    """Room for what every candidate achieves on some rows."""
    n = len(choices.all())
    return Standing(np.empty((n, len(rows))), np.empty((n, ballots.n_judges), dtype=np.bool_))


def _family_standing(at: _Place, family: Family | Curation) -> Standing:
    """Of one family on some rows, none of which is left to be scored."""
    if isinstance(family, Curation):
        return _curated_standing(at, family, at.made(family))
    rows, recipe = at.split.calibration, family.recipe(at.terms.seed)
    losses = inner_losses(
        at.ballots, rows, family.sizes, recipe, n_folds=at.terms.n_folds, key=at.key
    )
    return _standing(at, family, losses)


def _standing(at: _Place, family: Family, losses: Floats) -> Standing:
    """Of one family; ``losses`` is (n_calibrators, n_k, n_rows)."""
    order = rank(at.ballots, at.split.calibration, family.ranking)
    panels = places_in(order) < family.sizes[:, None]
    return Standing(
        losses.reshape(-1, losses.shape[-1]), np.tile(panels, (len(family.calibrators), 1))
    )


def _curated_standing(at: _Place, family: Curation, made: Curated) -> Standing:
    """Of one curator, whose choice is made again in every inner fold."""
    names = family.calibrators
    if cross_fits(family.aggregator) and made.scores.fold is not None:
        losses = losses_by_fold(at.ballots, at.split, made.scores, names)
    else:
        losses = _by_inner_folds(at, family)
    panels = np.tile(made.chosen.judges, (len(names), 1))
    return Standing(losses.reshape(len(names), -1), panels)


def _by_inner_folds(at: _Place, family: Curation) -> Floats:
    ballots, rows = at.ballots, at.split.calibration
    losses = np.empty((len(family.calibrators), 1, len(rows)))
    place = np.full(ballots.n_items, -1)
    place[rows] = np.arange(len(rows))
    for inner in folds(ballots.units, rows, at.terms.n_folds, seed=at.terms.seed, key=at.key):
        panel = replace(at, split=inner, key=(*at.key, inner.number)).made(family)
        fitted = calibrate(ballots, inner, panel.scores, family.calibrators)
        losses[..., place[inner.evaluation]] = item_losses(fitted)
    return losses
