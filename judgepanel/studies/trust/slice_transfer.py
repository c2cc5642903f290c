"""Slice transfer: each slice of items scored by panels that were fitted on other slices.

A slice is a category of an item feature, or a quarter of a numeric one. In every split part of the
slice is scored by three panels: fitted on the slice's other items, on as many labels from the other
slices, and on all the labels of the calibration share of the other slices. The first two differ
only in the source of their labels.

Result of :data:`SLICE_TRANSFER`: every slice with its own labels and labels from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibration import Calibrator
from judgepanel.scoring.inference import MARGIN, bonferroni_reach, estimate, holm
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split, nested_rows, subsplit
from judgepanel.studies import codec, common, options, results
from judgepanel.studies.accumulate import METRICS, RANGES, Arms, Tally, only, tally
from judgepanel.studies.contract import Chunk, Deciding, Prepared, Settings, Study, prepare, steady
from judgepanel.studies.panel.recommended import AverageSpec, all_judges
from judgepanel.studies.slices import Slices, slices_of
from judgepanel.votes import InputError, VoteMatrix


def slice_pools(slices: Slices, n_items: int) -> Floats:
    """Return the number of items available for each panel's labels, (n_slices, 3); see ``ARMS``."""
    own = np.array([float(len(rows)) for rows in slices.rows])
    return np.stack([own, n_items - own, n_items - own], axis=-1).reshape(-1, 3)


Outcome = Literal["fails", "helps", "holds", "undecided"]

ARMS = ("own", "elsewhere", "elsewhere, more")
"""Labels of the slice; as many of the other slices; the calibration share of the other slices."""
ALPHA = 0.05


@results.frozen
class SliceTransfer(results.RunResult):
    """Result of :data:`SLICE_TRANSFER`; without a usable feature there are no slices.

    ``slices`` are those of ``feature``, ``offered`` are all features. ``n_slice`` (n_slices,)
    counts items, ``labels`` (n_slices, n_arms) the labels on which each panel of ``ARMS`` was
    fitted. ``nll`` (n_slices, n_arms) is in nats per item of the slice, with 95 % intervals for new
    items of it; ``accuracy`` in [0, 1]; ``null_nll`` is the NLL of the base rate of the same
    labels, ``constant_nll`` that of a constant score through the calibrator.

    ``delta`` (n_slices, n_arms) is NLL(labels from elsewhere) - NLL(own labels), above 0 if the
    panel does not transfer; 0 for own labels. Its 95 % interval is per slice, that of ``band``
    holds for all slices together (Bonferroni); ``p_holm`` is ``p`` after Holm over the slices.
    """

    feature: str | None = results.column(key=True)
    offered: tuple[str, ...]
    slices: tuple[str, ...] = results.column(
        "Slice of the items by the feature.", name="slice", axis=-2, key=True
    )
    aggregator: str
    calibrator: str
    n_slice: Ints = results.column("Number of items in the slice.", name="items", axis=-2, key=True)
    labels: Floats = results.column(key=True)
    nll: Interval = results.column()
    accuracy: Floats = results.column()
    null_nll: Floats = results.column()
    constant_nll: Floats = results.column()
    delta: Interval = results.column(
        "NLL with labels from elsewhere minus that with the slice's own, in nats."
    )
    band: Interval = results.column(
        ends=" in all slices together", name="delta", bounds=("band_lo", "band_hi")
    )
    p: Floats = results.column()
    p_holm: Floats = results.column()
    n_judges: int

    labels_from = results.constant(
        ARMS, "Source of the labels that the panel is fitted on.", key=True
    )
    skill = results.NllResult.skill

    @results.derived("Whether the panel is shown to lose on the slice.", name="outcome")
    def outcomes(self) -> Any:
        """Outcome of every slice and panel."""
        shape = self.nll.shape
        outcomes = [self.outcome(g, arm) if arm else "reference" for g, arm in np.ndindex(*shape)]
        return np.array(outcomes, dtype=object).reshape(shape)

    def outcome(self, g: int, arm: int = 1) -> Outcome:
        """Return what the band decides against 2 % of the NLL of own labels.

        ``fails`` and ``helps``: the difference is significant after Holm; ``holds``: it costs less
        than the margin, in all slices together.
        """
        if float(self.p_holm[g, arm]) < ALPHA:
            return "fails" if self.delta.value[g, arm] > 0 else "helps"
        return "holds" if self.band[g, arm].below(MARGIN * self.nll.value[g, 0]) else "undecided"

    def decisions(self) -> dict[str, Any]:
        """Return the cost of labels from elsewhere in every slice."""
        own, away = (self.frame()[arm :: len(ARMS)].reset_index(drop=True) for arm in (0, 1))
        names = ["slice", "items", "null_nll", "delta", "delta_lo", "delta_hi", "p_holm", "outcome"]
        table = away[names].assign(
            labels=own["labels"], nll_own=own["nll"], nll_elsewhere=away["nll"]
        )
        return {"feature": self.feature, "slices": codec.to_plain(table.to_dict("records"))}


_KEY = 51


@dataclass(frozen=True, slots=True)
class SliceTransferSpec(AverageSpec):
    """Options of the transfer between slices.

    ``feature`` None uses the first categorical feature with large enough slices, or else the first
    numeric one. A numeric feature is divided into ``quantiles`` parts.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; fewer than 2 quantiles.
    """

    calibrator: Calibrator = options.option("beta", "the calibrator (none for average)")
    feature: str | None = options.option(None, "item feature whose slices are left out")
    quantiles: int = options.option(
        4,
        "number of parts into which a numeric feature is divided",
        check=options.valid("a numeric feature is cut into 2 parts or more", lambda n: n >= 2),
    )


@results.frozen
class SliceTally:
    """One tally per slice, with arms as in ``ARMS``.

    ``labels`` (n_slices, n_arms) sums their label counts over the ``n_splits`` splits.
    """

    tallies: tuple[Tally, ...]
    labels: Ints = results.summed()
    n_splits: int = results.summed()


def run_chunk(votes: VoteMatrix, spec: SliceTransferSpec, chunk: Chunk) -> SliceTally:
    """Score every slice on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    slices = slices_of(prepared, spec.feature, spec.quantiles)
    labels = np.zeros((len(slices.names), len(ARMS)), dtype=np.int64)
    n_items, seed = prepared.ballots.n_items, spec.settings.seed
    tallies = tuple(
        tally(_scored(prepared, spec, rows, g, chunk, labels[g]), n_items=n_items, seed=seed)
        for g, rows in enumerate(slices.rows)
    )
    return SliceTally(tallies, labels, chunk.count)


def _scored(
    prepared: Prepared, spec: SliceTransferSpec, rows: Ints, g: int, chunk: Chunk, labels: Ints
) -> Iterator[tuple[Split, Arms]]:
    ballots, pipeline = prepared.ballots, (spec.aggregator, spec.calibrator, spec.settings)
    for number in range(chunk.first, chunk.first + chunk.count):
        fitted_on, scored = panels(prepared, spec.settings, rows, number, g)
        labels += [len(part) for part in fitted_on]
        splits = [Split(number, part, scored) for part in fitted_on]
        split_scores = [all_judges(ballots, split, *pipeline) for split in splits]
        null_nll = np.array([score.null_nll for score in split_scores])
        constant_nll = np.array([[only(score.constant_nll) for score in split_scores]])
        yield splits[0], Arms.of(split_scores, null_nll=null_nll, constant_nll=constant_nll)


def panels(
    prepared: Prepared, settings: Settings, rows: Ints, number: int, g: int
) -> tuple[list[Ints], Ints]:
    """Return label rows of the three panels of a slice in one split, and the rows they score.

    Both streams are from ``SeedSequence(seed, spawn_key=(number, 51, g, ...))``. Groups of the
    scored rows provide no labels.
    """
    units, seed, key = prepared.ballots.units, settings.seed, (number, _KEY, g)
    inside, scored = subsplit(units, rows, fraction=settings.fraction, seed=seed, key=key)
    outside = np.setdiff1d(np.arange(len(units)), rows)
    outside = outside[~np.isin(units[outside], units[scored])]
    if not len(outside):
        raise InputError("every item outside a slice shares a group with items inside it")
    many = max(1, round(settings.fraction * len(outside)))
    n = min(len(inside), many)

    def first(pool: Ints, sizes: list[int], part: int) -> list[Ints]:
        return nested_rows(units, pool, sizes, seed=seed, key=(*key, part))

    own = first(inside, [n], 1) if n < len(inside) else [inside]
    return [*own, *first(outside, [n, many], 2)], scored


def merge(votes: VoteMatrix, spec: SliceTransferSpec, partial: SliceTally) -> SliceTransfer:
    """Return every slice from the splits so far."""
    prepared = prepare(votes, spec.settings)
    slices = slices_of(prepared, spec.feature, spec.quantiles)
    tallies = partial.tallies
    labels = partial.labels / max(partial.n_splits, 1)
    warnings = [*prepared.notices, *slices.left_out]
    fewest = float(labels[:, 0].min()) if tallies else common.FEW_LABELS
    if fewest < common.FEW_LABELS:
        warnings.append(
            f"The smallest slice gives {fewest:.0f} labels in each split: its intervals are wide."
        )
    fits = sum(len(ARMS) * len(totals.numbers) for totals in tallies)
    replaced = sum(int(totals.replaced.sum()) for totals in tallies)
    return SliceTransfer.from_run(
        prepared,
        spec,
        partial.n_splits,
        slices,
        slices=slices.names,
        n_slice=np.array([len(rows) for rows in slices.rows], dtype=np.int64),
        labels=labels,
        **_estimates(tallies, prepared.ballots.units, slices, labels),
        warnings=(*warnings, *common.stand_ins((spec.calibrator,), (replaced,), fits)),
    )


def _estimates(
    tallies: tuple[Tally, ...], units: Ints, slices: Slices, labels: Floats
) -> dict[str, Any]:
    """Return the score-based fields of :class:`SliceTransfer`; NaN ends from a single split.

    The variance due to labels depends on how many others the slice, or the other slices, have.
    """
    nll, delta, band = (Interval.full(labels.shape, np.nan) for _ in range(3))
    accuracy, null_nll, constant_nll, p = (np.full(labels.shape, np.nan) for _ in range(4))
    pools = slice_pools(slices, len(units))
    for g, scores in enumerate(tallies):
        item_means, seen = scores.item_means()
        items = item_means[:, 0, :-1]
        splits = scores.split_means[:, METRICS.index("nll"), 0, :-1]
        losses = items[0] - items[0, [0]]
        nll.value[g], accuracy[g] = items[0].mean(axis=-1), items[2].mean(axis=-1)
        delta.value[g] = band.value[g] = losses.mean(axis=-1)
        null_nll[g] = scores.null_nll.mean(axis=0)
        constant_nll[g] = scores.constant_nll.mean(axis=0)[0]
        if len(splits) < 2:
            continue
        others = np.maximum(pools[g] - labels[g], 1.0)
        n_scored = float(scores.n_evaluation.mean())
        reuse = labels[g] / others  # the variance depends only on this ratio

        level = estimate(items[0], splits, units[seen], reuse, n_scored, n_others=1.0, joint=False)
        apart, most = splits - splits[:, [0]], np.maximum(reuse, reuse[0])
        loss = estimate(losses, apart, units[seen], most, n_scored, n_others=1.0, joint=False)
        reach = bonferroni_reach(loss, len(tallies))
        nll.put(g, Interval.of(level))
        delta.put(g, Interval.of(loss))
        band.put(g, Interval.of(loss, reach=reach))
        p[g, 1:] = loss.p[1:]
    return {
        "nll": nll.clip(*RANGES["nll"]),
        "accuracy": accuracy,
        "null_nll": null_nll,
        "constant_nll": constant_nll,
        "delta": delta,
        "band": band,
        "p": p,
        "p_holm": np.stack([holm(column) for column in p.T], axis=-1),
    }


def _deciding(result: SliceTransfer) -> Deciding:
    band = result.band[:, 1:]
    return [(band, 0.0), (-band, MARGIN * result.nll.value[:, :1])]


SLICE_TRANSFER: Study[SliceTransferSpec, SliceTally, SliceTransfer] = Study(
    name="slice_transfer",
    title="Slices left out",
    question="Does a panel hold on a kind of item that was never labelled?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=steady(merge, _deciding),
)
