"""Loss of a panel when judges are absent: their votes are missing, and nothing is refitted.

The judges, pipelines and weights of the average are fixed; the pipelines and the fallback are
fitted ``FOLDS`` times, each time without one fold of the items, and so to most of the labels, since
the loss depends on the number of labels. The held-out fold is then scored with all votes, without
each judge in turn, without each family and each cluster of judges that err together
(:mod:`decision.absence_arms`), and without random shares of the judges (``DRAWS`` draws per fold).
The judges themselves were chosen on all labels, so the NLL here may be too good; what is used is
the difference from the same panel with no judge absent, item by item.

The share of absent weight beyond which the fallback scores is chosen on the same rows
(:mod:`decision.absence_threshold`), and the figures are those of the resulting rule: each half of
the items is scored under the threshold chosen on the other half. If all items choose another
threshold, the panel scores new items by a different rule from the figures; the difference is part
of the uncertainty.

Cost: ``FOLDS`` fits of one panel, O(K^2) for the clusters, and per fold about ``_CELLS`` scored
rows for single judges and as many for all other absences, whatever the number of judges: more
judges mean fewer evaluation rows. At most ``MOST_GROUPS`` groups are measured.

The measured absences: groups of judges that may be absent together, and random judges.

Groups are the families of the judge table and the clusters of judges that err together, determined
as on the page Judges, from all labelled rows of the fit. Only members in the panel count. A group
of one judge is measured as that judge, and one that is the whole panel would leave no judge; of two
groups with the same judges the family is used.

Figures of each absence from its losses: mean NLL, the rise, and its uncertainty.

Scores with judges absent, for many absences at once: full sums minus the absent parts.

The threshold of the fallback: the share of absent weight beyond which it scores an item.

Every measured row was scored twice, by the panel's own rule and by the fallback. A threshold
decides which of the two counts, and its NLL is the mean over rows and absences: half of the weight
is on no judge being absent, so that ordinary gaps in the votes count as much as outages; the other
half is shared equally by all other absences. Of ``GRID`` thresholds, the largest within one
standard error of the best is chosen; the largest of all means no fallback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.kernels.ballots import Ballots, uncoded
from judgepanel.kernels.calibration import KnotShape, apply_map
from judgepanel.kernels.evaluation import Recipe
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.redundancy import clusters, error_correlation, error_counts
from judgepanel.models import panel as models
from judgepanel.scoring import inference, interval, metrics, splits
from judgepanel.studies.contract import Prepared, Settings
from judgepanel.votes import MISSING

Kind = Literal["family", "cluster"]

SHARES = (0.1, 0.25, 0.5, 0.75)
MOST_GROUPS = 40


@dataclass(frozen=True, slots=True)
class JudgeGroup:
    """``judges`` of the panel (names, sorted) that form one family, or one cluster of errors."""

    kind: Kind
    name: str
    judges: tuple[str, ...]


def groups_of(
    prepared: Prepared, judges: Sequence[str], families: Sequence[str]
) -> tuple[JudgeGroup, ...]:
    """Return the groups of a panel, families first, in name order; the largest ``MOST_GROUPS``.

    ``families`` name those of ``prepared.judges``, '' if unknown. O(K^2) for K judges.
    """
    ballots = prepared.ballots
    panel, seen = set(judges), set[tuple[str, ...]]()
    label = clusters(error_correlation(error_counts(ballots.votes, ballots.signs))).label
    named: dict[tuple[Kind, str], list[str]] = {}
    for kind, names in (("family", families), ("cluster", [str(n) if n else "" for n in label])):
        for name, judge in sorted(zip(names, prepared.judges, strict=True)):
            if name and judge in panel:
                named.setdefault((kind, name), []).append(judge)  # type: ignore[arg-type]
    result = []
    for (kind, name), members in named.items():
        group = tuple(sorted(members))
        if 1 < len(group) < len(panel) and group not in seen:
            seen.add(group)
            result.append(JudgeGroup(kind, name, group))
    largest = sorted(result, key=lambda group: -len(group.judges))[:MOST_GROUPS]
    return tuple(group for group in result if group in largest)


def numbers_absent(n_judges: int) -> list[int]:
    """Return the distinct numbers of judges for the shares, at least one absent and one present."""
    return sorted({min(max(1, round(share * n_judges)), n_judges - 1) for share in SHARES})


NEVER = 1.0
GRID = 60
_SMALLEST = 1e-6
"""A complete item is scored by the panel itself, as is one short of it by rounding error."""
_KEY = (7, 61)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """NLL (n_arms, n_rows) by the panel's rule (``main``) and by the fallback (``other``).

    ``missing`` is the share of absent weight, same shape.
    """

    main: Floats
    other: Floats
    missing: Floats

    def under(self, limits: Floats) -> Floats:
        """NLL (n_arms, n_rows) if the fallback scores beyond ``limits`` (n_rows,)."""
        return np.where(self.missing > limits, self.other, self.main)


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Losses of one fold.

    ``new`` are losses on its own ``rows``, ``common`` on rows ``shared`` with all other folds, most
    of which were in the fit. ``owner`` (n_arms,) is the absence to which an arm belongs, 0 for
    none.
    """

    rows: Ints
    shared: Ints
    owner: Ints
    new: Scored
    common: Scored
    n_calibration: int

    def averaged(self, values: Floats) -> Floats:
        """Return means over the draws of each absence, (n_figures, n_rows)."""
        starts = np.flatnonzero(np.r_[True, np.diff(self.owner) > 0])
        sums = np.add.reduceat(values, starts, axis=0)
        return np.asarray(sums / np.bincount(self.owner)[:, None])

    def between_draws(self, values: Floats) -> Floats:
        """Variance between the means of draws, (n_figures,); 0 for a single draw."""
        means, counts = values.mean(axis=1), np.bincount(self.owner)
        centred = means - (np.bincount(self.owner, means) / counts)[self.owner]
        return np.asarray(np.bincount(self.owner, centred**2) / np.maximum(counts - 1, 1))

    def gains(self, grid: Floats) -> Floats:
        """NLL saved on each row by falling back beyond each threshold, (n_grid, n_rows)."""
        counts = np.bincount(self.owner)
        n_others = max(len(counts) - 1, 1)
        weights = np.where(self.owner == 0, 0.5, 0.5 / n_others / counts[self.owner])
        saved = weights[:, None] * (self.new.main - self.new.other)
        return np.array([(saved * (self.new.missing > limit)).sum(axis=0) for limit in grid])


@dataclass(frozen=True, slots=True, eq=False)
class Threshold:
    """``beyond`` from all items; ``cross`` (n_items,) for each item from the half it is not in."""

    beyond: float
    cross: Floats


def threshold(losses: list[Losses], units: Ints, seed: int) -> Threshold:
    """Choose the threshold on measured rows; units stay whole when items are halved."""
    shares = np.concatenate([one_loss.new.missing.ravel() for one_loss in losses])
    levels = np.unique(np.quantile(shares, np.linspace(0.0, 1.0, GRID)))
    between = (levels[1:] + levels[:-1]) / 2.0
    grid = np.append(between[between > _SMALLEST], NEVER)
    n_units = int(units.max()) + 1
    gains, times = np.zeros((n_units, len(grid))), np.zeros(n_units)
    for loss in losses:
        np.add.at(gains, units[loss.rows], loss.gains(grid).T)
        np.add.at(times, units[loss.rows], 1.0)
    rng = splits.stream(seed, *_KEY)
    half = rng.permutation(n_units) % 2 == 0
    first, second = (
        _taken(grid, gains[side & (times > 0)], times[side & (times > 0)]) for side in (half, ~half)
    )
    return Threshold(
        beyond=_taken(grid, gains[times > 0], times[times > 0]),
        cross=np.where(half[units], second, first),
    )


def _taken(grid: Floats, gains: Floats, times: Floats) -> float:
    """The largest threshold within one standard error of the best.

    ``gains`` (n_units, n_grid) are sums over ``times`` (n_units,) rows.
    """
    if not len(times):
        return NEVER
    total = times.sum()
    behind = gains[:, [int(gains.sum(axis=0).argmax())]] - gains
    mean = behind.sum(axis=0) / total
    error = np.sqrt(((behind - mean * times[:, None]) ** 2).sum(axis=0)) / total
    return float(grid[mean <= error].max())


@dataclass(frozen=True, slots=True)
class AbsenceFigures:
    """``n_absent`` judges (a ``share`` of the panel) absent: the mean NLL and its rise.

    ``delta`` = NLL - NLL with no judge absent, with its 95 % interval for very many new items from
    Student's t with ``df``. A file of m items adds ``item_sd``^2 / m to the variance
    (:func:`decision.absence_nearest.on_items`). ``main_nll`` is the NLL of the panel's own rule
    without the fallback.
    """

    n_absent: int
    share: float
    nll: float
    delta: interval.Interval
    df: float
    item_sd: float
    main_nll: float


def figures_of(
    losses: list[Losses], limits: Threshold, units: Ints, sizes: Sequence[int], n_judges: int
) -> tuple[list[AbsenceFigures], float]:
    """Return the figures of every absence, and the NLL with no judge absent."""
    n_figures = int(losses[0].owner[-1]) + 1
    seen = np.unique(np.concatenate([loss.rows for loss in losses]))
    sums, mains, finals = (np.zeros((n_figures, len(seen)), order="F") for _ in range(3))
    times = np.zeros(len(seen))
    of_panels, draws = [], []
    for loss in losses:
        nll = loss.new.under(limits.cross[loss.rows])
        place = np.searchsorted(seen, loss.rows)
        sums[:, place] += loss.averaged(nll)
        mains[:, place] += loss.averaged(loss.new.main)
        finals[:, place] += loss.averaged(loss.new.under(np.full(len(place), limits.beyond)))
        times[place] += 1
        common = loss.common.under(limits.cross[loss.shared])
        of_panels.append(loss.averaged(common - common[0]).mean(axis=1))
        draws.append(loss.between_draws(nll - nll[0]))
    items, mains = sums / times, mains / times
    rises, final = items[1:] - items[0], finals / times
    rule = (final[1:] - final[0] - rises).mean(axis=1)
    between, n_draws = np.mean(draws, axis=0)[1:], np.bincount(losses[0].owner)[1:] * len(losses)
    panels = np.array(of_panels)[:, 1:]
    reach, df, item_sd = _uncertainty(
        rises, panels, units[seen], draws=between, n_draws=n_draws, rule=rule
    )
    value = rises.mean(axis=1)
    delta = interval.Interval(value, value - reach, value + reach)
    figures = [
        AbsenceFigures(
            n_absent=size,
            share=size / n_judges,
            nll=float(items[arm + 1].mean()),
            delta=delta[arm],
            df=float(df[arm]),
            item_sd=float(item_sd[arm]),
            main_nll=float(mains[arm + 1].mean()),
        )
        for arm, size in enumerate(sizes)
    ]
    return figures, float(items[0].mean())


def _uncertainty(
    rises: Floats, of_panels: Floats, units: Ints, *, draws: Floats, n_draws: Ints, rule: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the uncertainty of rises, (n,) each.

    It is the 95 % reach on very many new items, degrees of freedom, and the standard deviation of
    the rise of a single item, from ``rises`` (n, n_items) of new items, and mean rises
    ``of_panels`` (n_folds, n), those of the panels of all folds on the same items, so that they
    differ only by the labels of the fits. Two panels of K folds share K - 2 of K - 1 parts of their
    labels, so the variance between panels with independent labels is K - 1 times that between
    these. The panel that scores new items is one more draw of its labels. Randomly absent judges
    are one draw of such judges: ``draws`` is the variance of one draw, and ``n_draws`` of them were
    averaged. ``rule`` is the distance of the rises under the panel's final threshold from these.
    """
    n_folds, n_items = of_panels.shape[0], rises.shape[1]
    v = inference.sampling_variance(rises, units)
    labels = (n_folds - 1) * of_panels.var(axis=0, ddof=1)
    known = v + draws / n_draws
    unknown = labels + draws
    total = known + unknown + rule**2
    df = inference.satterthwaite(
        (known, splits.unit_codes(units)[1] - 1), (unknown, n_folds - 1), (rule**2, np.inf)
    )
    quantile = distributions.t_ppf(0.5 + inference.LEVEL / 2.0, df)
    return np.asarray(quantile * np.sqrt(total)), df, np.sqrt(v * n_items)


_SIGN = {"1": 1.0, "0": -1.0, ".": 0.0}


def scores_without(panel: models.Mixture, codes: Votes, absent: list[list[int]]) -> Floats:
    """P(label = 1), (n_arms, n_items), with the judges at the positions of each arm absent.

    ``codes`` (n_items, n_judges) are in panel order. The result equals ``panel.score`` with those
    votes missing, up to rounding and without the fallback. Without any votes it is the prior.
    """
    scores = []
    for member in panel.members:
        place = {column: j for j, column in enumerate(member.columns)}
        positions = [[place[j] for j in arm if j in place] for arm in absent]
        own = codes[:, list(member.columns)]
        signs, there = _signs(own), _there(len(member.columns), positions)
        p = _probabilities(member.model, _logits(member.model, own, signs, positions, there))
        scores.append(np.where(_empty(signs, there), member.model.prior, p))
    flat = [values.ravel() for values in scores]
    weights = [member.weight for member in panel.members]
    return models.pooled(flat, weights).reshape(len(absent), len(codes))


def _logits(
    model: models.PanelModel, codes: Votes, signs: Floats, absent: list[list[int]], there: Floats
) -> Floats:
    """Raw logits (n_arms, n_items); ``there`` (n_judges, n_arms) is 0 for absent judges, else 1."""
    rule = model.rule
    if isinstance(rule, models.TwoCoin):
        arms = (np.where(column > 0.0, codes, MISSING) for column in there.T)
        return np.stack([model.logits(cast) for cast in arms])
    if isinstance(rule, models.VoteFraction):
        weights = np.array(rule.weights)[:, None] * there
        ones, zeros = (side.astype(np.float64) @ weights for side in (signs > 0.0, signs < 0.0))
        return np.asarray((np.log(ones + 1.0) - np.log(zeros + 1.0)).T)
    weights = (
        rule.weights_of(codes) if isinstance(rule, models.LevelSum) else np.array(rule.weights)
    )
    linear = ((signs * weights) @ there).T + rule.intercept
    return linear if isinstance(rule, models.VoteSum) else linear + _likeness(rule, signs, absent)


def _likeness(
    rule: models.JointSum | models.LevelSum, signs: Floats, absent: list[list[int]]
) -> Floats:
    """Contribution of similarity to past items, (n_arms, n_items)."""
    past = np.array([[_SIGN[mark] for mark in row] for row in rule.prototypes])
    past = past.reshape(-1, signs.shape[1]) * np.array(rule.shares or [1.0])
    alike, pull = signs @ past.T, np.array(rule.pull)
    parts = np.empty((len(absent), len(signs)))
    for part, positions in zip(parts, absent, strict=True):
        d = alike - signs[:, positions] @ past[:, positions].T
        square = d * d
        d *= square
        square += 1.0
        d *= square
        part[:] = d @ (0.5 * pull)
    return parts


def _probabilities(model: models.PanelModel, logits: Floats) -> Floats:
    """As ``model.probabilities`` of every arm, up to rounding.

    The scalar functions that agree with panel files to the bit would take most of the time.
    """
    shape = model.shape
    if isinstance(shape, KnotShape):
        return np.stack([model.probabilities(arm) for arm in logits])
    params = np.array([shape.a, shape.b, shape.c])
    return np.clip(sigmoid(apply_map(params, logits, shape.clip)), metrics.CLIP, 1.0 - metrics.CLIP)


def _there(n_judges: int, absent: list[list[int]]) -> Floats:
    """Return (n_judges, n_arms), 0 for the judges that are absent in an arm, else 1."""
    there = np.ones((n_judges, len(absent)))
    for arm, positions in enumerate(absent):
        there[positions, arm] = 0.0
    return there


def _empty(signs: Floats, there: Floats) -> Bools:
    """Whether no judge that is there voted on an item, (n_arms, n_items)."""
    return np.asarray((np.abs(signs) @ there == 0.0).T)


def _signs(codes: Votes) -> Floats:
    """Votes (n_items, n_judges) as -1, 1 and 0 where missing."""
    votes = uncoded(codes)
    return np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)


def fallback_without(
    fallback: models.Fallback, panel: models.Mixture, votes: Votes, absent: list[list[int]]
) -> tuple[Floats, Floats]:
    """P(label = 1) by the fallback alone, and the missing share of its weight.

    Each is (n_arms, n_items); arms as in :func:`scores_without`, up to rounding.
    """
    weights = np.array(fallback.weights)
    signs = _signs(votes)
    there = _there(len(weights), absent)
    present = ((np.abs(weights) * np.abs(signs)) @ there / np.abs(weights).sum()).T
    logits = ((weights * signs) @ there).T / fallback.temperature(present)
    p = np.clip(sigmoid(logits), metrics.CLIP, 1.0 - metrics.CLIP)
    return np.where(_empty(signs, there), panel.prior, p), 1.0 - present


FOLDS = 5
DRAWS = 10
FIT_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
_FIT_ROWS = 2_000
_CELLS = 30_000
_STREAM = 61


@dataclass(frozen=True, slots=True)
class GroupAbsence:
    """An absent family or cluster: ``judges`` are positions in panel order."""

    kind: Kind
    name: str
    judges: tuple[int, ...]
    figures: AbsenceFigures


@dataclass(frozen=True, slots=True)
class Absence:
    """Losses of a panel when judges are absent.

    ``single`` has each of the ``judges`` absent alone, in panel order; ``groups`` are families and
    clusters; ``several`` are random numbers of judges, ascending; ``nll`` is the mean NLL with no
    judge absent. ``fallback`` is None if nothing scores absences better than the panel itself.
    """

    judges: tuple[str, ...]
    nll: float
    single: tuple[AbsenceFigures, ...]
    groups: tuple[GroupAbsence, ...]
    several: tuple[AbsenceFigures, ...]
    fallback: models.Fallback | None
    n_calibration: float
    n_evaluation: float
    n_splits: int


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """A panel whose judges are absent: ``names`` of its judges, sorted, and groups of them."""

    model: models.Mixture
    names: list[str]
    groups: tuple[JudgeGroup, ...]

    def places(self, judges: Sequence[str]) -> list[int]:
        """Return positions of judges in ``names``."""
        return [self.names.index(judge) for judge in judges]

    @property
    def absent(self) -> list[list[int]]:
        """Nobody, then each group."""
        return [[], *(self.places(group.judges) for group in self.groups)]


def measure_absence(
    prepared: Prepared, settings: Settings, model: models.Mixture, families: Sequence[str] = ()
) -> Absence | None:
    """Measure the losses of a panel fitted on ``prepared``; None for a single judge.

    ``families`` name those of ``prepared.judges``, '' if unknown.
    """
    if len(model.judges) < 2:
        return None
    names = sorted(model.judges)
    groups = groups_of(prepared, names, families or [""] * len(prepared.judges))
    place = {name: column for column, name in enumerate(prepared.judges)}
    ballots = prepared.ballots.of_judges([place[name] for name in names])
    panel = _Panel(model, names, groups)
    alone: list[Losses] = []
    together: list[Losses] = []
    one_by_one = [[], *([j] for j in range(len(names)))], np.arange(len(names) + 1)
    all_rows, n_folds = np.arange(ballots.n_items), min(FOLDS, settings.most_splits)
    for drawn in splits.folds(ballots.units, all_rows, n_folds, seed=settings.seed, key=(_STREAM,)):
        rng = splits.stream(settings.seed, drawn.number, _STREAM)
        fitted = _fitted(ballots.of_items(drawn.calibration), panel, rng)
        for (absent, owner), losses in ((one_by_one, alone), (_at_once(panel, rng), together)):
            losses.append(_losses(ballots, drawn, fitted, panel, absent, owner, rng))
    limits = threshold(together, ballots.units, settings.seed)
    singles, nobody = figures_of(alone, limits, ballots.units, [1] * len(names), len(names))
    sizes = [len(group.judges) for group in groups] + numbers_absent(len(names))
    others, _ = figures_of(together, limits, ballots.units, sizes, len(names))
    at = {name: j for j, name in enumerate(model.judges)}
    fallback = None
    if limits.beyond < NEVER:
        fallback = _fallback(ballots, panel, splits.stream(settings.seed, FOLDS, _STREAM))
    if fallback is not None:
        fallback = models.in_order(fallback, np.array(panel.places(model.judges)), limits.beyond)
    by_name = dict(zip(names, singles, strict=True))
    return Absence(
        judges=model.judges,
        nll=nobody,
        single=tuple(by_name[name] for name in model.judges),
        groups=tuple(
            GroupAbsence(
                group.kind, group.name, tuple(sorted(at[name] for name in group.judges)), figures
            )
            for group, figures in zip(groups, others, strict=False)
        ),
        several=tuple(others[len(groups) :]),
        fallback=fallback,
        n_calibration=float(np.mean([losses.n_calibration for losses in alone])),
        n_evaluation=float(np.mean([len(losses.rows) for losses in alone])),
        n_splits=len(alone),
    )


def _at_once(panel: _Panel, rng: np.random.Generator) -> tuple[list[list[int]], Ints]:
    """Return absences that are scored together, the first of nobody, and the figure of each (0: no
    judge absent): draws share one.
    """
    absent, n_judges = panel.absent, len(panel.names)
    owner = list(range(len(absent)))
    for n_absent in numbers_absent(n_judges):
        absent += [rng.permutation(n_judges)[:n_absent].tolist() for _ in range(DRAWS)]
        owner += [owner[-1] + 1] * DRAWS
    return absent, np.array(owner)


def _fitted(ballots: Ballots, panel: _Panel, rng: np.random.Generator) -> models.Mixture:
    """Return the panel fitted on some rows, with a fallback that is not active yet.

    Members of one aggregator and panel share a rule.
    """
    members = [member.model for member in panel.model.members]
    keys = [(model.aggregator, tuple(sorted(panel.places(model.judges)))) for model in members]
    calibrators = [model.calibrator for model in members]
    fits = {}
    for key in dict.fromkeys(keys):
        aggregator, columns = key
        own = tuple(c for c, one in zip(calibrators, keys, strict=True) if one == key)
        names = tuple(panel.names[column] for column in columns)
        panels = models.fit_panels(
            ballots.of_judges(list(columns)), names, len(columns), Recipe(aggregator, own)
        )
        fits.update({(key, fit.calibrator): fit for fit in panels})
    fitted = models.mixture_of(
        [fits[pair] for pair in zip(keys, calibrators, strict=True)],
        [member.weight for member in panel.model.members],
    )
    fallback = _fallback(ballots, panel, rng)
    if fallback is None:
        return fitted
    places = np.array(panel.places(fitted.judges))
    return replace(fitted, fallback=models.in_order(fallback, places, NEVER))


def _fallback(ballots: Ballots, panel: _Panel, rng: np.random.Generator) -> models.Fallback | None:
    """Fit the fallback to rows with no judge, each group and random shares of the judges absent."""
    absent, n_judges = panel.absent, len(panel.names)
    absent += [rng.permutation(n_judges)[: round(q * n_judges)].tolist() for q in FIT_SHARES]
    masks = np.zeros((len(absent), n_judges), dtype=bool)
    for mask, positions in zip(masks, absent, strict=True):
        mask[positions] = True
    return models.fit_fallback(
        ballots, masks, _sample_of_rows(np.arange(ballots.n_items), _FIT_ROWS, rng)
    )


def _sample_of_rows(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return at most ``most`` rows at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _losses(
    ballots: Ballots,
    drawn: splits.Split,
    fitted: models.Mixture,
    panel: _Panel,
    absent: list[list[int]],
    owner: Ints,
    rng: np.random.Generator,
) -> Losses:
    """NLL of evaluation rows under every arm, by the panel's own rule and by the fallback."""
    most = max(_CELLS // len(absent), 50)
    rows = _sample_of_rows(drawn.evaluation, most, rng)
    shared = _sample_of_rows(np.arange(ballots.n_items), most, splits.stream(0, FOLDS, _STREAM))
    all_rows = np.concatenate([rows, shared])
    place = {name: column for column, name in enumerate(fitted.judges)}
    columns = np.array(panel.places(fitted.judges))
    cells = np.ix_(all_rows, columns)
    margins = None if ballots.margins is None else ballots.margins[cells]
    signs = ballots.votes[cells]
    votes = np.where(signs == 0, MISSING, (signs + 1) // 2).astype(np.int8)
    codes = fitted.codes(votes, margins)
    absent = [[place[panel.names[j]] for j in positions] for positions in absent]
    right = ballots.signs[all_rows] > 0
    own = replace(fitted, fallback=None)
    main = _nll(scores_without(own, codes, absent), right)
    other, missing = main, np.zeros_like(main)
    if fitted.fallback is not None:
        p, missing = fallback_without(fitted.fallback, own, uncoded(codes), absent)
        other = _nll(p, right)
    n = len(rows)
    return Losses(
        rows=rows,
        shared=shared,
        owner=owner,
        new=Scored(main[:, :n], other[:, :n], missing[:, :n]),
        common=Scored(main[:, n:], other[:, n:], missing[:, n:]),
        n_calibration=len(drawn.calibration),
    )


def _nll(p: Floats, right: Bools) -> Floats:
    return np.asarray(-np.log(np.where(right, p, 1.0 - p)))
