"""Figures of each absence from its losses: mean NLL, the rise, and its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.decision.absence_threshold import Losses, Threshold
from judgepanel.scoring.inference import LEVEL, sampling_variance, satterthwaite
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import unit_codes


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
    delta: Interval
    df: float
    item_sd: float
    main_nll: float


def figures_of(
    losses: list[Losses],
    limits: Threshold,
    units: Ints,
    sizes: Sequence[int],
    n_judges: int,
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
    spread = _Spread.of(
        rises,
        np.array(of_panels)[:, 1:],
        units[seen],
        draws=np.mean(draws, axis=0)[1:],
        n_draws=np.bincount(losses[0].owner)[1:] * len(losses),
        rule=rule,
    )
    value = rises.mean(axis=1)
    delta = Interval(value, value - spread.reach, value + spread.reach)
    figures = [
        AbsenceFigures(
            n_absent=size,
            share=size / n_judges,
            nll=float(items[arm + 1].mean()),
            delta=delta[arm],
            df=float(spread.df[arm]),
            item_sd=float(spread.item_sd[arm]),
            main_nll=float(mains[arm + 1].mean()),
        )
        for arm, size in enumerate(sizes)
    ]
    return figures, float(items[0].mean())


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Uncertainty of rises, (n,) each.

    The 95 % ``reach`` on very many new items, degrees of freedom, and the standard deviation of the
    rise of a single item.
    """

    reach: Floats
    df: Floats
    item_sd: Floats

    @classmethod
    def of(
        cls,
        rises: Floats,
        of_panels: Floats,
        units: Ints,
        *,
        draws: Floats,
        n_draws: Ints,
        rule: Floats,
    ) -> _Spread:
        """From ``rises`` (n, n_items) of new items, and mean rises ``of_panels`` (n_folds, n).

        ``of_panels`` are the rises of the panels of all folds on the same items, so they differ
        only by the labels of the fits. Two panels of K folds share K - 2 of K - 1 parts of their
        labels, so the variance between panels with independent labels is K - 1 times that between
        these. The panel that scores new items is one more draw of its labels. Randomly absent
        judges are one draw of such judges: ``draws`` is the variance of one draw, and ``n_draws``
        of them were averaged. ``rule`` is the distance of the rises under the panel's final
        threshold from these.
        """
        n_folds, n_items = of_panels.shape[0], rises.shape[1]
        v = sampling_variance(rises, units)
        labels = (n_folds - 1) * of_panels.var(axis=0, ddof=1)
        known = v + draws / n_draws
        unknown = labels + draws
        total = known + unknown + rule**2
        df = satterthwaite(
            (known, unit_codes(units)[1] - 1), (unknown, n_folds - 1), (rule**2, np.inf)
        )
        quantile = distributions.t_ppf(0.5 + LEVEL / 2.0, df)
        return cls(np.asarray(quantile * np.sqrt(total)), df, np.sqrt(v * n_items))
