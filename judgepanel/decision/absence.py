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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.decision.absence_arms import JudgeGroup, Kind, groups_of, numbers_absent
from judgepanel.decision.absence_figures import AbsenceFigures, figures_of
from judgepanel.decision.absence_scores import fallback_without, scores_without
from judgepanel.decision.absence_threshold import NEVER, Losses, Scored, threshold
from judgepanel.kernels.application import uncoded
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.fallback import Fallback, fit_fallback, in_order
from judgepanel.models.mixture import Mixture, mixture_of
from judgepanel.models.panel import PanelModel, fit_panels
from judgepanel.scoring.splits import Split, folds
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes import MISSING

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
    fallback: Fallback | None
    n_calibration: float
    n_evaluation: float
    n_splits: int


@dataclass(frozen=True, slots=True, eq=False)
class _Arms:
    """Absences that are scored together, as positions in ``names`` order; the first is empty.

    ``owner`` (n_arms,) is the figure to which an arm belongs (0: no judge absent): draws share one.
    """

    absent: list[list[int]]
    owner: Ints


def measure_absence(
    prepared: Prepared, settings: Settings, model: Mixture, families: Sequence[str] = ()
) -> Absence | None:
    """Measure the losses of a panel fitted on ``prepared``; None for a single judge.

    ``families`` name those of ``prepared.judges``, '' if unknown.
    """
    if len(model.judges) < 2:
        return None
    names = sorted(model.judges)
    groups = groups_of(prepared, names, families or [""] * len(prepared.judges))
    ballots = _of_judges(prepared, names)
    alone: list[Losses] = []
    together: list[Losses] = []
    everyone, n_folds = np.arange(ballots.n_items), min(FOLDS, settings.most_splits)
    for drawn in folds(ballots.units, everyone, n_folds, seed=settings.seed, key=(_STREAM,)):
        rng = _stream(settings.seed, drawn.number)
        fitted = _fitted(ballots.of_items(drawn.calibration), model, names, groups, rng)
        for arms, losses in (
            (_one_by_one(len(names)), alone),
            (_at_once(names, groups, rng), together),
        ):
            losses.append(_losses(ballots, drawn, fitted, names, arms, rng))
    return _figures(ballots, model, names, groups, (alone, together), settings.seed)


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, _STREAM)))


def _one_by_one(n_judges: int) -> _Arms:
    return _Arms([[], *([j] for j in range(n_judges))], np.arange(n_judges + 1))


def _at_once(names: Sequence[str], groups: Sequence[JudgeGroup], rng: np.random.Generator) -> _Arms:
    place = {name: j for j, name in enumerate(names)}
    absent = [[], *([place[name] for name in group.judges] for group in groups)]
    owner = list(range(len(absent)))
    for n_absent in numbers_absent(len(names)):
        absent += [rng.permutation(len(names))[:n_absent].tolist() for _ in range(DRAWS)]
        owner += [owner[-1] + 1] * DRAWS
    return _Arms(absent, np.array(owner))


def _fitted(
    ballots: Ballots,
    model: Mixture,
    names: Sequence[str],
    groups: Sequence[JudgeGroup],
    rng: np.random.Generator,
) -> Mixture:
    """Return the panel fitted on some rows, with a fallback that is not active yet."""
    models = _refitted(ballots, model, names)
    fitted = mixture_of(models, [member.weight for member in model.members])
    fallback = _fallback(ballots, names, groups, rng)
    if fallback is None:
        return fitted
    places = np.array([names.index(name) for name in fitted.judges])
    return replace(fitted, fallback=in_order(fallback, places, NEVER))


def _refitted(ballots: Ballots, model: Mixture, names: Sequence[str]) -> list[PanelModel]:
    """Return the members fitted on some rows; those of one aggregator and panel share a rule."""
    keys = [
        (member.model.aggregator, tuple(sorted(names.index(name) for name in member.model.judges)))
        for member in model.members
    ]
    calibrators = [member.model.calibrator for member in model.members]
    fits = {}
    for key in dict.fromkeys(keys):
        aggregator, columns = key
        panels = fit_panels(
            ballots.of_judges(list(columns)),
            tuple(names[column] for column in columns),
            len(columns),
            aggregator=aggregator,
            calibrators=tuple(c for c, own in zip(calibrators, keys, strict=True) if own == key),
        )
        fits.update({(key, panel.calibrator): panel for panel in panels})
    return [fits[pair] for pair in zip(keys, calibrators, strict=True)]


def _fallback(
    ballots: Ballots,
    names: Sequence[str],
    groups: Sequence[JudgeGroup],
    rng: np.random.Generator,
) -> Fallback | None:
    """Fit the fallback to rows with no judge, each group and random shares of the judges absent."""
    place = {name: j for j, name in enumerate(names)}
    absent = [[], *([place[name] for name in group.judges] for group in groups)]
    absent += [rng.permutation(len(names))[: round(q * len(names))].tolist() for q in FIT_SHARES]
    masks = np.zeros((len(absent), len(names)), dtype=bool)
    for mask, positions in zip(masks, absent, strict=True):
        mask[positions] = True
    return fit_fallback(ballots, masks, _some(np.arange(ballots.n_items), _FIT_ROWS, rng))


def _some(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return at most ``most`` rows at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _losses(
    ballots: Ballots,
    drawn: Split,
    fitted: Mixture,
    names: Sequence[str],
    arms: _Arms,
    rng: np.random.Generator,
) -> Losses:
    """NLL of evaluation rows under every arm, by the panel's own rule and by the fallback."""
    most = max(_CELLS // len(arms.absent), 50)
    rows = _some(drawn.evaluation, most, rng)
    shared = _some(np.arange(ballots.n_items), most, _stream(0, FOLDS))
    all_rows = np.concatenate([rows, shared])
    place = {name: column for column, name in enumerate(fitted.judges)}
    columns = np.array([names.index(name) for name in fitted.judges])
    cells = np.ix_(all_rows, columns)
    margins = None if ballots.margins is None else ballots.margins[cells]
    codes = fitted.codes(_unsigned(ballots.votes[cells]), margins)
    absent = [[place[names[j]] for j in positions] for positions in arms.absent]
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
        owner=arms.owner,
        new=Scored(main[:, :n], other[:, :n], missing[:, :n]),
        common=Scored(main[:, n:], other[:, n:], missing[:, n:]),
        n_calibration=len(drawn.calibration),
    )


def _nll(p: Floats, right: Bools) -> Floats:
    return np.asarray(-np.log(np.where(right, p, 1.0 - p)))


def _figures(
    ballots: Ballots,
    model: Mixture,
    names: list[str],
    groups: tuple[JudgeGroup, ...],
    measured: tuple[list[Losses], list[Losses]],
    seed: int,
) -> Absence:
    alone, together = measured
    limits = threshold(together, ballots.units, seed)
    singles, nobody = figures_of(alone, limits, ballots.units, [1] * len(names), len(names))
    sizes = [len(group.judges) for group in groups] + numbers_absent(len(names))
    others, _ = figures_of(together, limits, ballots.units, sizes, len(names))
    at = {name: j for j, name in enumerate(model.judges)}
    fallback = None
    if limits.beyond < NEVER:
        fallback = _fallback(ballots, names, groups, _stream(seed, FOLDS))
    if fallback is not None:
        order = np.array([names.index(name) for name in model.judges])
        fallback = in_order(fallback, order, limits.beyond)
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


def _of_judges(prepared: Prepared, names: list[str]) -> Ballots:
    place = {name: column for column, name in enumerate(prepared.judges)}
    return prepared.ballots.of_judges([place[name] for name in names])


def _unsigned(signs: Votes) -> Votes:
    return np.where(signs == 0, MISSING, (signs + 1) // 2).astype(np.int8)
