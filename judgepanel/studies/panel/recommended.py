"""The average of the default candidates in a split: what is recommended, as other studies see it.

Its weights are learnt on the calibration rows of the split alone, as the recommendation learns
them, so that studies of the average and the recommendation speak of the same probabilities.

Cost per split: that of the recommendation; about half of it where members alone compete
(:func:`average_on`, which studies with splits of their own use). Averages are kept with the splits
(:mod:`judgepanel.kernels.threads`): what a recommendation computed is not computed again.

The average of candidates: weights by Bayesian bootstrap, under a prior that is stated.

A member's weight is the mean, over draws of Dirichlet weights d on clusters of items (the Bayesian
bootstrap, Rubin 1981, doi:10.1214/aos/1176345338), of

    prior exp(-sum_i n d_i loss_i) / its sum over members,

the losses being cross-validated NLL on calibration rows. Without the draws these are pseudo-BMA
weights, with them pseudo-BMA+ (Yao, Vehtari, Simpson and Gelman 2018, doi:10.1214/17-BA1091,
section 3.4), here with a prior: .5 on joint over all judges
(:data:`studies.contest.candidates.LEAD`).

Cost: draws x clusters x members.

Panels beside the recommended average: their pipeline, their names, and verdicts in words.

Of the average there is no top k, since it weighs panels itself. It is compared with the top k under
``COMPARED``: the pipeline of its members that keep a few judges.

The candidates of a recommendation: panels that are averaged or chosen among.

How candidates compete on some rows: cross-validated losses of every one, and their panels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import aggregation, evaluation
from judgepanel.kernels.aggregation import AGGREGATORS, Aggregator, AnyAggregator, of_votes
from judgepanel.kernels.ballots import Ballots, digest_of
from judgepanel.kernels.calibration import Calibrator, fit
from judgepanel.kernels.evaluation import Choice, Recipe, SplitScores, evaluate_split
from judgepanel.kernels.graded import has_levels
from judgepanel.kernels.prefixes import Ranking, places_in, rank
from judgepanel.kernels.threads import SHARED
from judgepanel.models.panel import PanelModel, fit_panels, panels_of, pooled, whole_of
from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.metrics import ItemScores, item_scores
from judgepanel.scoring.splits import Split, folds, stream, unit_codes
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.common import recipe_of
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.options import StudySpec, check_known, option
from judgepanel.studies.panel.curated import CURATORS, Curated, curated
from judgepanel.studies.panel.curator import JudgeAttributes, Rules, evidence_of
from judgepanel.votes import InputError, VoteMatrix

Panels = tuple[tuple[str, int], ...]

ALL_JUDGES = "all"
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


FAVOURITES = ((ALL_JUDGES, "joint", "none"), (ALL_JUDGES, "joint_graded", "none"))
LEAD = 0.5
"""Prior weight of the favourite, joint over all judges: on real matrices it is most often the best
single pipeline. Joint on votes and joint on grades share it alike."""
MEMBERS: Mapping[AnyAggregator, tuple[Calibrator, ...]] = {
    "majority": ("temperature",),
    "one_coin": ("none", "temperature"),
    "joint": ("none", "temperature"),
    "accuracy_weighted": ("temperature", "beta"),
    "stacking": ("none",),
    "dawid_skene_semi": ("none", "temperature"),
    "one_coin_graded": ("none", "temperature"),
    "joint_graded": ("none", "temperature"),
}
"""Pipelines of the members beside the favourite, on all judges and on the better half of the judges
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

    def prior(self, allowed: Bools | None = None) -> Floats:
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

    def with_all_judges(self, prior: Floats) -> Floats:
        """A prior (n_candidates,) and below it that of the members that keep all judges, or the
        same again where none does, (2, n_candidates).
        """
        whole_panel = prior * np.array([candidate.name == ALL_JUDGES for candidate in self.all()])
        return np.stack([prior, whole_panel if whole_panel.any() else prior])


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
    """Joint over all judges, or over the best panel that keeps within a budget."""
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
    sizes: dict[int, str] = {n_judges: ALL_JUDGES}
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
    """Sums of votes and joint at every size, and what else the average takes of all judges."""
    every = panels(n_judges)
    whole_panel = ((ALL_JUDGES, n_judges),)
    return (
        Family("majority", every, MAPS),
        Family("one_coin", every, MAPS),
        Family("joint", panels(n_judges, TOP[1:]), SCALES),
        Family("accuracy_weighted", every, WEIGHTED),
        Family("stacking", whole_panel, SCALES),
        Family("dawid_skene_semi", whole_panel, SCALES),
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


LISTS: Mapping[str, Callable[[int], tuple[Family | Curation, ...]]] = {
    "default": _default,
    "wide": _wide,
}
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
    panels chosen to keep within it besides, monotone ones of all judges where a ``robust`` panel is
    wanted, and ones of all judges that read grades where votes are ``graded``.
    """
    monotone = (
        Family("joint_monotone", ((ALL_JUDGES, n_judges),), SCALES),
        Family("stacking_monotone", ((ALL_JUDGES, n_judges),), SCALES),
    )
    within = (Curation(BUDGET, "one_coin", WEIGHTED), Curation(BUDGET, "joint", SCALES))
    # Last, so that a candidate of votes has the same position with grades and without.
    on_grades = (
        Family("one_coin_graded", ((ALL_JUDGES, n_judges),), MAPS),
        Family("joint_graded", ((ALL_JUDGES, n_judges),), SCALES),
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
class ChoiceSettings:
    """What all candidates compete under: ``n_folds`` inner folds, the seed, what is ``known`` of
    the judges, and the ``rules`` by which curators choose.
    """

    n_folds: int
    seed: int
    known: JudgeAttributes
    rules: Rules


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidated:
    """What a choice may look at: ``losses`` (n_candidates, n_rows), cross-validated on these rows
    alone, and the ``panels`` bool (n_candidates, n_judges) that these rows choose.
    """

    losses: Floats
    panels: Bools

    def put(self, start: int, part: CrossValidated) -> int:
        """Overwrite the candidates from ``start`` on with others; return where these end."""
        end = start + len(part.losses)
        self.losses[start:end], self.panels[start:end] = part.losses, part.panels
        return end


@dataclass(frozen=True, slots=True, eq=False)
class CandidateResults:
    """Every candidate on the evaluation rows of a split, and what a choice may look at.

    ``arms`` are item scores (n_arms, n_eval) and ECE (n_arms,) of the candidates, and of choices
    among them, which whoever chooses fills in. ``null`` is the logit of the base rate.
    """

    arms: ItemScores
    standing: CrossValidated
    null: float
    null_nll: float
    constant_nll: float
    replaced: int

    @property
    def items(self) -> ItemScores:
        """Scores of the candidates."""
        return self.arms.part(slice(len(self.standing.losses)))


def compete(
    ballots: Ballots,
    split: Split,
    choices: Candidates,
    terms: ChoiceSettings,
    *,
    n_choices: int = 0,
) -> CandidateResults:
    """Fit every candidate on the calibration rows of a split, score the others, and cross-validate
    on the calibration rows alone; ``n_choices`` arms more are left to be filled in.
    """
    n_arms, n_eval = len(choices.all()) + n_choices, len(split.evaluation)
    nll, brier = np.empty((2, n_arms, n_eval))
    # Hits, which are 0, 1/2 or 1, in half precision.
    hit: NDArray[Any] = np.empty((n_arms, n_eval), dtype=np.float16)
    arms = ItemScores(nll, brier, hit, np.empty(n_arms))
    standing = _blank(choices, split.calibration, ballots)
    at = _Place(ballots, split, terms, (split.number, 1))
    start, replaced = 0, 0
    for family in choices.families:
        scores, own = _on_split(at, family, arms.part(slice(start, None)))
        start = standing.put(start, own)
        replaced += sum(scores.replaced.values())
        if family is choices.families[0]:
            null, null_nll = scores.fitted.null, scores.null_nll
            constant_nll = scores.constant_nll[family.calibrators[-1]]
        del scores, own  # Scores of a million items take memory while the next family is fitted.
    return CandidateResults(arms, standing, null, null_nll, constant_nll, replaced)


def stand(
    ballots: Ballots, rows: Ints, choices: Candidates, terms: ChoiceSettings, key: tuple[int, ...]
) -> CrossValidated:
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
    terms: ChoiceSettings,
    groups: Sequence[Sequence[int]],
    key: tuple[int, ...],
) -> Floats:
    """NLL (n_candidates, n) of these rows while a group of judges is absent, each group in turn.

    ``groups`` are columns of judges. Each half of the rows, or as many as ``_ABSENT_CELLS`` allow,
    is scored by candidates fitted on the other half, to which everybody was there.
    """
    parts = []
    for half in folds(ballots.units, rows, 2, seed=terms.seed, key=(*key, _HALVES)):
        rng = stream(terms.seed, *key, _HALVES, half.number)
        most = min(max(_ABSENT_CELLS // len(groups), 50), len(half.evaluation))
        some = np.sort(rng.choice(half.evaluation, most, replace=False))
        copied, scored = _with_absent(ballots, some, groups)
        at = _Place(copied, Split(half.number, half.calibration, scored), terms, key)
        by_family = [at.scored(family).evaluation for family in choices.families]
        parts.append(np.concatenate([part.nll for scores in by_family for part in scores.values()]))
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
    ballots: Ballots, names: tuple[str, ...], candidates: Sequence[Candidate], terms: ChoiceSettings
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
    curator, refit = CURATORS[candidate.curator], of_votes(candidate.aggregator)
    result = curated(ballots, whole, curator, evidence, refit)
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
class _Place:
    """Where a family competes: on a split of ballots; ``key`` starts its random streams."""

    ballots: Ballots
    split: Split
    terms: ChoiceSettings
    key: tuple[int, ...]

    def made(self, family: Curation) -> Curated:
        """What the curator of a family makes of the calibration rows."""
        ballots, split, terms = self.ballots, self.split, self.terms
        evidence = evidence_of(ballots, split.calibration, terms.known, terms.rules, self.key)
        return curated(ballots, split, CURATORS[family.curator], evidence, family.aggregator)

    def scored(
        self, family: Family | Curation, choice: Choice | None = None, out: ItemScores | None = None
    ) -> SplitScores:
        """A family on the evaluation rows; ``out`` as in :func:`evaluate`."""
        if isinstance(family, Curation):
            return self.scored_panel(family, self.made(family), out)
        recipe = family.recipe(self.terms.seed)
        return evaluate_split(self.ballots, self.split, family.sizes, recipe, choice, out)

    def scored_panel(self, family: Curation, made: Curated, out: ItemScores | None) -> SplitScores:
        """The panel of a curator on the evaluation rows."""
        fitted = evaluation.calibrate(self.ballots, self.split, made.scores, family.calibrators)
        return evaluation.evaluate(self.ballots, self.split, fitted, out)


def _on_split(
    at: _Place, family: Family | Curation, out: ItemScores
) -> tuple[SplitScores, CrossValidated]:
    if isinstance(family, Curation):
        panel = at.made(family)
        return at.scored_panel(family, panel, out), _curated_standing(at, family, panel)
    every = np.ones(len(family.sizes), dtype=bool)
    scores = at.scored(family, Choice(every, at.terms.n_folds, at.key), out)
    if scores.inner is None:
        raise ValueError("candidates are compared on calibration rows")
    return scores, _standing(at, family, scores.inner)


def _blank(choices: Candidates, rows: Ints, ballots: Ballots) -> CrossValidated:
    """Room for what every candidate achieves on some rows."""
    n = len(choices.all())
    return CrossValidated(np.empty((n, len(rows))), np.empty((n, ballots.n_judges), dtype=np.bool_))


def _family_standing(at: _Place, family: Family | Curation) -> CrossValidated:
    """Of one family on some rows, none of which is left to be scored."""
    if isinstance(family, Curation):
        return _curated_standing(at, family, at.made(family))
    rows, recipe = at.split.calibration, family.recipe(at.terms.seed)
    losses = evaluation.inner_losses(
        at.ballots, rows, family.sizes, recipe, n_folds=at.terms.n_folds, key=at.key
    )
    return _standing(at, family, losses)


def _standing(at: _Place, family: Family, losses: Floats) -> CrossValidated:
    """Of one family; ``losses`` is (n_calibrators, n_k, n_rows)."""
    order = rank(at.ballots, at.split.calibration, family.ranking)
    panels = np.tile(places_in(order) < family.sizes[:, None], (len(family.calibrators), 1))
    return CrossValidated(losses.reshape(-1, losses.shape[-1]), panels)


def _curated_standing(at: _Place, family: Curation, made: Curated) -> CrossValidated:
    """Of one curator, whose choice is made again in every inner fold."""
    names = family.calibrators
    if aggregation.cross_fits(family.aggregator) and made.scores.fold is not None:
        losses = evaluation.losses_by_fold(at.ballots, at.split, made.scores, names)
    else:
        ballots, rows = at.ballots, at.split.calibration
        losses = np.empty((len(names), 1, len(rows)))
        place = places_in(rows, ballots.n_items)
        for inner in folds(ballots.units, rows, at.terms.n_folds, seed=at.terms.seed, key=at.key):
            panel = replace(at, split=inner, key=(*at.key, inner.number)).made(family)
            fitted = evaluation.calibrate(ballots, inner, panel.scores, names)
            losses[..., place[inner.evaluation]] = evaluation.item_losses(fitted)
    panels = np.tile(made.chosen.judges, (len(names), 1))
    return CrossValidated(losses.reshape(len(names), -1), panels)


DRAWS = 200
LEAST = 0.02
"""Weight below which a member is left out."""
_CELLS = 2_000_000
_BOOTSTRAP = 67
"""Where the random stream of the weights begins."""


def bootstrap(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    """The random stream of the weights that rows learn; ``key`` says which rows."""
    return stream(seed, *key, _BOOTSTRAP)


def average_weights(
    losses: Floats, units: Ints, priors: Floats, rng: np.random.Generator
) -> Floats:
    """Weights (P, A) under each prior, which add up to 1; members below ``LEAST`` have none.

    Parameters
    ----------
    losses : float (A, n), cross-validated NLL of every candidate on the rows to learn from.
    units : int (n,), the cluster of each row.
    priors : float (P, A), in each at least one above 0; candidates with 0 take no part.
    rng : draws the bootstrap, one for all priors.
    """
    members = np.flatnonzero((priors > 0.0).any(axis=0))
    place, n_clusters = unit_codes(units)
    sums = np.stack([np.bincount(place, losses[m], n_clusters) for m in members])
    block = max(1, _CELLS // n_clusters)
    with np.errstate(divide="ignore"):
        starts = np.log(priors[:, members])
    total = np.zeros_like(starts)
    for start in range(0, DRAWS, block):
        cluster_weights = rng.standard_exponential((min(block, DRAWS - start), n_clusters))
        cluster_weights *= n_clusters / cluster_weights.sum(axis=1, keepdims=True)
        logs = starts[:, None] - cluster_weights @ sums.T
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        total += (weights / weights.sum(axis=-1, keepdims=True)).sum(axis=1)
    total[total < LEAST * DRAWS] = 0.0
    result = np.zeros(priors.shape)
    result[:, members] = total / total.sum(axis=1, keepdims=True)
    return result


def average_losses(losses: Floats, weights: Floats) -> Floats:
    """NLL (n,) of the average of candidates whose NLL is ``losses`` (A, n)."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return np.asarray(losses[members[0]])
    p = pooled([np.exp(-losses[member]) for member in members], weights[members].tolist())
    return np.asarray(-np.log(p))


def average_logits(losses: Floats, weights: Floats, signs: Floats) -> Floats:
    """Logits (n,) of the average; ``signs`` (n,) are +1 where the label is 1, else -1."""
    p_true = np.exp(-average_losses(losses, weights))
    with np.errstate(divide="ignore"):
        return np.asarray(signs * (np.log(p_true) - np.log1p(-p_true)))


def average_scores(
    items: ItemScores, weights: Floats, signs: Floats, *, symmetric: bool
) -> ItemScores:
    """Scores (1, n) of the average; ``items`` are those of the candidates."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return items.part(slice(members[0], members[0] + 1))
    return item_scores(average_logits(items.nll, weights, signs)[None], signs, symmetric=symmetric)


AVERAGE: Literal["average"] = "average"
"""Name of the average, as a panel and where a study asks for an aggregator."""
PanelAggregator = Literal[Aggregator, "average"]
AVERAGE_HELP = "how votes are summed; average: the recommended panel"
PANEL_AGGREGATORS: tuple[PanelAggregator, ...] = (AVERAGE, *AGGREGATORS)
"""Aggregators of a panel: the recommended average, or one aggregator."""
FOLDS = 5
"""Inner folds in which candidates are compared."""
_KEPT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Averaged:
    """The average on the rows that were scored: ``logits`` (n_eval,), the logit of the base rate
    and its NLL.
    """

    logits: Floats
    null: float
    null_nll: float


def recommended(votes: VoteMatrix, settings: Settings, split: Split) -> Averaged:
    """The average of the default candidates in a split of an analysis; remembered."""
    average: Averaged | None = SHARED.find(split.number, _key(settings), votes.sha256)
    if average is None:
        ballots = prepare(votes, settings).ballots
        average = _averaged(ballots, split, _candidates(ballots), settings.seed)
        remember(votes, settings, split.number, average)
    return average


def recommended_on(votes: VoteMatrix, settings: Settings, split: Split) -> Averaged:
    """The same on any other split of the items; members alone compete, to the same but rounding."""
    return average_on(prepare(votes, settings).ballots, split, settings.seed)


def average_on(ballots: Ballots, split: Split, seed: int) -> Averaged:
    """The same on a split of any ballots: other judges, fewer labels, damaged votes."""
    key = AVERAGE, seed, digest_of(ballots.digest, split.calibration, split.evaluation)
    average: Averaged | None = SHARED.find(split.number, key)
    if average is None:
        average = _averaged(ballots, split, _candidates(ballots).members(), seed)
        SHARED.keep(split.number, key, average, average.logits.nbytes)
    return average


def all_judges(
    ballots: Ballots,
    split: Split,
    aggregator: PanelAggregator,
    calibrator: Calibrator,
    settings: Settings,
) -> SplitScores:
    """Scores of all judges in a split, under one pipeline or the recommended average."""
    if aggregator == AVERAGE:
        return scored_average(ballots, split, settings.seed)
    recipe = recipe_of(settings, aggregator, (calibrator,), "accuracy")
    return evaluate_split(ballots, split, np.array([ballots.n_judges]), recipe)


def scored_average(ballots: Ballots, split: Split, seed: int) -> SplitScores:
    """The average as a single uncalibrated panel: its members have calibrators of their own."""
    return as_scores(ballots, split, average_on(ballots, split, seed))


def as_scores(ballots: Ballots, split: Split, average: Averaged) -> SplitScores:
    """Scores of the average on the evaluation rows of a split."""
    signs = ballots.signs.astype(np.float64)
    labels = signs[split.calibration]
    maps = fit(("none",), np.zeros((1, len(labels))), labels, symmetric=ballots.symmetric)
    fitted = evaluation.Calibrated(
        maps, average.logits[None], None, signs[split.evaluation], null=average.null
    )
    scores = evaluation.evaluate(ballots, split, fitted)
    return replace(scores, constant_nll={"none": scores.null_nll})


def check_panel_aggregators(names: Sequence[str], settings: Settings) -> None:
    """Refuse unknown aggregators, and the average under the paper's protocol.

    Raises
    ------
    InputError
        An unknown name; under the paper's protocol the average would rest on in-sample scores.
    """
    check_known("aggregator", PANEL_AGGREGATORS, names)
    if AVERAGE in names and settings.protocol != "honest":
        why = "the average under the paper's protocol would rest on in-sample scores"
        raise InputError(why, value=settings.protocol, allowed="honest")


@dataclass(frozen=True, slots=True)
class AverageSpec(StudySpec):
    """The aggregator of a study that can show the recommended average, which has no calibrator.

    Raises
    ------
    InputError
        As for :class:`StudySpec`; the average under the paper's protocol.
    """

    aggregator: PanelAggregator = option("one_coin", AVERAGE_HELP)

    def __post_init__(self) -> None:
        StudySpec.__post_init__(self)
        check_panel_aggregators((self.aggregator,), self.settings)
        if self.aggregator == AVERAGE:
            for name, none in (("calibrator", "none"), ("calibrators", ("none",))):
                if hasattr(self, name):
                    object.__setattr__(self, name, none)


class BestPanels:
    """A spec of the best judges, or all, under one pipeline; beside the average, ``COMPARED``."""

    __slots__ = ()

    def sizes(self: Any, n_judges: int) -> Ints:
        """Return panel sizes in ascending order, all judges last."""
        return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))

    @property
    def recipe(self: Any) -> Recipe:
        """The recipe of all panels; beside the average, that of the best judges."""
        own = self.calibrators if hasattr(self, "calibrators") else (self.calibrator,)
        pipeline = COMPARED if self.aggregator == AVERAGE else (self.aggregator, *own)
        return recipe_of(self.settings, pipeline[0], pipeline[1:], self.ranking)


def remember(votes: VoteMatrix, settings: Settings, number: int, average: Averaged) -> None:
    """Keep the average of a split of an analysis for studies that ask for it."""
    SHARED.keep(number, _key(settings), average, average.logits.nbytes, votes.sha256)


def remembered(
    votes: VoteMatrix, settings: Settings, numbers: Iterable[int]
) -> dict[int, Averaged]:
    """What is remembered of these splits of an analysis, by number."""
    key = _key(settings)
    known = {number: SHARED.find(number, key, votes.sha256) for number in numbers}
    return {number: average for number, average in known.items() if average is not None}


def _key(settings: Settings) -> tuple[str, Settings]:
    return AVERAGE, settings.of_splits


def fits_memory(n_items: int, settings: Settings) -> bool:
    """Whether the averages of all splits of an analysis can be kept."""
    return 8 * n_items * settings.most_splits <= _KEPT_BYTES


def averaged_of(results: CandidateResults, weights: Floats, signs: Floats) -> Averaged:
    """The average under these weights (A,), from the scores of the candidates."""
    logits = average_logits(results.items.nll, weights, signs)
    return Averaged(logits, results.null, results.null_nll)


def _candidates(ballots: Ballots) -> Candidates:
    return candidates_of(
        "default", ballots.n_judges, symmetric=ballots.symmetric, graded=has_levels(ballots)
    )


def _averaged(ballots: Ballots, split: Split, choices: Candidates, seed: int) -> Averaged:
    unknown = JudgeAttributes(
        ("",) * ballots.n_judges, None
    )  # the default candidates have no curator
    terms = ChoiceSettings(FOLDS, seed, unknown, Rules(seed=seed, budget=None, tables=False))
    results = compete(ballots, split, choices, terms)
    units, priors = ballots.units[split.calibration], choices.with_all_judges(choices.prior())
    rng = bootstrap(seed, (split.number, 1))
    weights = average_weights(results.standing.losses, units, priors, rng)
    return averaged_of(results, weights[0], ballots.signs[split.evaluation].astype(np.float64))


Objects = NDArray[np.object_]

COMPARED = FEW_MEMBER
"""Pipeline of the panels that the average is compared with."""
RECOMMENDED: Literal["the recommended panel"] = "the recommended panel"
"""Name of the average among the panels."""


def panel_names(panels: Ints, aggregator: str) -> tuple[str, ...]:
    """Return ``top-5``, ..., ``all 65``: the last size is all judges.

    By average they are ``top-5 by one-coin``, ..., ``the recommended panel``.
    """
    whole_panel = RECOMMENDED if aggregator == AVERAGE else f"all {panels[-1]:,}"
    return (*(compared_name(int(k), aggregator) for k in panels[:-1]), whole_panel)


def compared_name(k: int, aggregator: str) -> str:
    """Return the name of the k best judges: ``top-5``, or by average ``top-5 by one-coin``."""
    return by_aggregator(arm_name(k), COMPARED[0]) if aggregator == AVERAGE else arm_name(k)


def pipeline_columns(
    aggregator: str, calibrators: Sequence[str], n_panels: int
) -> tuple[Objects, Objects]:
    """Return aggregators (n_panels, 1) and calibrators (n_calibrators, n_panels, 1) by name."""
    aggregators = np.full((n_panels, 1), aggregator, dtype=object)
    names = np.array(calibrators, dtype=object)[:, None, None].repeat(n_panels, axis=1)
    if aggregator == AVERAGE:
        aggregators[:-1], names[:, :-1] = COMPARED
    return aggregators, names


def verdicts_between(first: str, second: str) -> dict[Verdict, str]:
    """Return verdicts in words for two panels that may both keep all judges."""
    return {
        "keep all": f"{first} is better",
        "curate": f"{second} is better",
        "no loss from keeping": f"no loss with {first}",
        "no loss from curating": f"no loss with {second}",
        "undecided": "undecided",
        "tie": "tie",
    }


AGAINST_AVERAGE = verdicts_between(RECOMMENDED, "the other")
"""Verdicts for any other panel against the recommended one."""


def by_aggregator(panel: str, aggregator: str) -> str:
    """Return ``all 65 by joint``, ``top-5 by one-coin``."""
    return f"{panel} by {aggregator.replace('_', '-')}"
