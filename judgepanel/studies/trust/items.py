"""Single items: which ones does the panel get wrong, and how good is it on hard items?

Every item's probability is the mean over the splits that held it out. Difficulty is the
disagreement of the judges' votes, which uses no label; the share of judges that erred is reported
too, but it uses the label, so accuracy within its strata is high or low by construction.

Result of :data:`ITEMS`: every item's probability, and its quality by stratum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring import metrics
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import RANGES
from judgepanel.studies.contract import Prepared, Study, always, prepare
from judgepanel.studies.options import option
from judgepanel.studies.results import column, frozen, json_values
from judgepanel.studies.slices import Strata, by_difficulty, by_errors, by_feature, disagreement
from judgepanel.studies.trust import probabilities
from judgepanel.votes import VoteMatrix

StratumGrouping = Literal["difficulty", "errors", "feature"]


@frozen
class Items(probabilities.PanelResult):
    """Result of :data:`ITEMS`.

    Items are the labelled ones, in the file's order, and (n_items,): ``labels`` and ``p`` (mean
    probability of label 1 over an item's evaluations, with their central 95 %, which is not a
    confidence interval) in the file's order of the two responses; ``nll`` the mean NLL; ``right``
    the share of evaluations whose decision is right; ``times`` the number of evaluations, 0 if no
    split held the item out. ``for_1`` and ``for_0`` count votes, ``wrong`` those against the label;
    ``disagreement`` is 0 if votes agree and 1 if they are evenly split. ``feature_values`` are
    texts, one tuple per feature.

    Strata (n_strata,) are named ``strata`` by ``groupings``: ``difficulty`` (disagreement of the
    votes, no label used), ``errors`` (share of votes against the label: only descriptive, since it
    uses the label) and a ``feature``. ``accuracy``, ``nll_by`` and ``ece`` (2, n_strata) are before
    and after calibration with 95 % intervals for new items; ``ece_null`` is the expected ECE of a
    perfectly calibrated panel; ``null_by`` (n_strata,) the NLL of the base rate.
    """

    item_ids: tuple[str, ...] = column("Id of the item.", name="item")
    labels: Ints = column("Label of the item.", name="label")
    p: Interval = column("Mean probability of label 1 over the item's evaluations.", central=True)
    nll: Floats = column("Mean -log p(true label) of the item, in nats.")
    null_nll: float = column()
    right: Floats = column("Share of the item's evaluations whose decision is right.")
    times: Ints = column("Number of splits that held the item out.", name="evaluations")
    for_1: Ints = column("Number of votes for label 1.", name="votes_for_1")
    for_0: Ints = column("Number of votes for label 0.", name="votes_for_0")
    wrong: Ints = column("Number of votes against the item's label.", name="votes_against_label")
    disagreement: Floats = column("How evenly the votes are divided: 0 unanimous, 1 evenly split.")
    features: tuple[str, ...]
    feature_values: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
    groupings: tuple[StratumGrouping, ...]
    stratum_items: Ints
    confidence: Floats
    accuracy: Interval
    nll_by: Interval
    ece: Interval
    ece_null: Floats
    null_by: Floats

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "p_lo": "Lower end of the central 95 % of these probabilities over evaluations.",
        "p_hi": "Upper end of the central 95 % of these probabilities over evaluations.",
    }

    def worst(self, n: int) -> Ints:
        """Return the positions of the items with the largest NLL, largest first."""
        order = np.argsort(-np.nan_to_num(self.nll, nan=-1.0), kind="stable")
        return np.asarray(order[self.times[order] > 0][:n])

    def contested(self, n: int) -> Ints:
        """Positions of the items with the most evenly divided votes; ties by most votes."""
        even = np.nan_to_num(self.disagreement, nan=-1.0)
        order = np.lexsort((-(self.for_1 + self.for_0), -even))
        return np.asarray(order[even[order] > 0][:n])

    def strata_of(self, grouping: StratumGrouping) -> list[int]:
        """Return the positions of the strata of one grouping."""
        return [i for i, name in enumerate(self.groupings) if name == grouping]

    def frame(self) -> pd.DataFrame:
        """One row per labelled item, in the file's order."""
        frame = probabilities.PanelResult.frame(self)
        for name, values in zip(self.features, self.feature_values, strict=True):
            frame[f"feat_{name}"] = np.array(values, dtype=object)
        return frame.drop(columns=["aggregator", "calibrator", "k", "n_splits", "seed"])

    def decisions(self) -> dict[str, Any]:
        """Figures by stratum."""
        same = ("accuracy", "ece", "ece_null", "confidence")
        figures = (("nll", "nll_by"), *((name, name) for name in same))
        return {
            "strata": [
                {
                    "grouping": self.groupings[i],
                    "stratum": name,
                    "uses_label": self.groupings[i] == "errors",
                    **json_values({"items": self.stratum_items[i], "null_nll": self.null_by[i]}),
                    "stages": [
                        {"stage": stage}
                        | json_values({key: getattr(self, field)[s, i] for key, field in figures})
                        for s, stage in enumerate(probabilities.STAGES)
                    ],
                }
                for i, name in enumerate(self.strata)
            ]
        }


_DRAWS = 60
_TEXT = 200


@dataclass(frozen=True, slots=True)
class ItemsSpec(probabilities.PanelSpec):
    """Options of the study of items besides the panel: an item ``feature`` to group by.

    Raises
    ------
    InputError
        As for the panel.
    """

    feature: str | None = option(None, "an item feature whose values are reported separately")


def merge(votes: VoteMatrix, spec: ItemsSpec, partial: probabilities.OutOfSample) -> Items:
    """Return items and strata from the splits so far."""
    prepared = prepare(votes, spec.settings)
    scored = probabilities.evaluations(partial, prepared)
    strata: dict[StratumGrouping, Strata] = {
        "difficulty": by_difficulty(prepared),
        "errors": by_errors(prepared),
    }
    if spec.feature is not None:
        strata["feature"] = by_feature(prepared, spec.feature)
    parts = list(strata.values())
    by_stage = [
        probabilities.joined([_of_stage(scored, stage, part, spec.settings.seed) for part in parts])
        for stage in (probabilities.RAW, probabilities.CALIBRATED)
    ]
    return Items.from_splits(
        prepared,
        spec,
        partial,
        k=spec.size(prepared.ballots.n_judges),
        **_of_items(scored, prepared, votes),
        strata=tuple(name for part in strata.values() for name in part.names),
        groupings=tuple(way for way, part in strata.items() for _ in part.names),
        **probabilities.joined([_of_strata(scored, part) for part in parts]),
        **probabilities.stacked(by_stage),
        null_nll=float(scored.null_nll @ scored.per_split),
        warnings=tuple(
            probabilities.panel_notes(prepared, spec, partial) + _notes(scored, prepared, strata)
        ),
    )


def _of_items(
    scored: probabilities.Evaluations, prepared: Prepared, votes: VoteMatrix
) -> dict[str, Any]:
    """Return all figures of single items, in the file's order of the two responses."""
    ballots, vote_matrix = prepared.ballots, prepared.oriented.votes
    n = ballots.n_items
    given = votes.labels[votes.labelled]
    turned = given != vote_matrix.labels
    ends = scored.by_item(scored.p[probabilities.CALIBRATED])[0], *_central(scored)
    p, lo, hi = (_among_all(end, scored.seen, n) for end in ends)
    pairs = (p, p), (hi, lo), (lo, hi)
    p, lo, hi = (np.where(turned, 1.0 - swapped, end) for swapped, end in pairs)
    scores = metrics.item_scores(
        scored.logits[probabilities.CALIBRATED], scored.signs, symmetric=scored.symmetric
    )
    times = np.zeros(n, dtype=np.int64)
    times[scored.seen] = scored.times
    ones, zeros = ((ballots.votes == sign).sum(axis=1) for sign in (1, -1))
    features, values = _feature_texts(vote_matrix)
    return {
        "p": Interval(p, lo, hi, unit="share"),
        "nll": _among_all(scored.by_item(scores.nll)[0], scored.seen, n),
        "right": _among_all(
            scored.by_item(scored.hit[probabilities.CALIBRATED])[0], scored.seen, n
        ),
        "item_ids": vote_matrix.item_ids,
        "labels": given.astype(np.int64),
        "times": times,
        "for_1": np.where(turned, zeros, ones),
        "for_0": np.where(turned, ones, zeros),
        "wrong": (ballots.votes == -ballots.signs[:, None]).sum(axis=1),
        "disagreement": disagreement(prepared),
        "features": features,
        "feature_values": values,
    }


def _among_all(values: Floats, seen: Ints, n: int) -> Floats:
    """Return values (N,) of the evaluated items among all n; NaN for the others."""
    spread = np.full(n, np.nan)
    spread[seen] = values
    return spread


def _central(scored: probabilities.Evaluations) -> tuple[Floats, Floats]:
    """Return the central 95 % of each item's probabilities, (N,) and (N,), by order statistics."""
    ordered = scored.p[probabilities.CALIBRATED][
        np.lexsort((scored.p[probabilities.CALIBRATED], scored.item))
    ]
    first = np.cumsum(scored.times) - scored.times
    skipped = np.floor(0.025 * scored.times).astype(np.int64)
    return ordered[first + skipped], ordered[first + scored.times - 1 - skipped]


def _feature_texts(votes: VoteMatrix) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    if votes.features is None:
        return (), ()
    names = tuple(str(name) for name in votes.features.columns)
    return names, tuple(tuple(_text(value) for value in votes.features[name]) for name in names)


def _text(value: Any) -> str:
    """Return a feature's value; whole numbers without a decimal point."""
    if pd.isna(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value)[:_TEXT]


def _of_strata(scored: probabilities.Evaluations, part: Strata) -> dict[str, Any]:
    """Fields that describe the strata (n,) of one grouping, for every stage."""
    codes = part.codes[scored.seen]
    null, _ = probabilities.ratios(
        scored, probabilities.binned_sums(scored, scored.null_nll, codes[scored.item], part.n)
    )
    return {"stratum_items": np.bincount(codes, minlength=part.n), "null_by": null.value}


def _of_stage(
    scored: probabilities.Evaluations, stage: int, part: Strata, seed: int
) -> dict[str, Any]:
    """Figures of the strata (n,) of one grouping; NaN if empty."""
    codes, n = part.codes[scored.seen][scored.item], part.n
    right, items = probabilities.shares(
        scored, probabilities.binned_sums(scored, scored.hit[stage], codes, n)
    )
    nll = metrics.item_scores(scored.logits[stage], scored.signs, symmetric=scored.symmetric).nll
    level, _ = probabilities.ratios(scored, probabilities.binned_sums(scored, nll, codes, n))
    stated, _ = probabilities.ratios(
        scored, probabilities.binned_sums(scored, scored.confidence[stage], codes, n)
    )
    edges = metrics.equal_width_edges(metrics.ECE_BINS)
    n_bins = len(edges) - 1
    cells = codes * n_bins + metrics.bin_of(scored.confidence[stage], edges)
    difference = scored.hit[stage] - scored.confidence[stage]
    sums = scored.by_item(difference, cells, n * n_bins).sum(axis=1)
    error, _ = probabilities.ratios(
        scored, probabilities.binned_sums(scored, np.sign(sums)[cells] * difference, codes, n)
    )
    # Mean calibration error of each stratum under perfect calibration.
    chance = np.full(len(items), np.nan)
    for group in np.flatnonzero(items > 0):
        rows = codes == group
        bins, item = cells[rows] - group * n_bins, scored.item[rows]
        weights = 1.0 / (items[group] * scored.times[item])
        chance[group] = metrics.chance_errors(
            scored.p[stage, rows], bins, item, weights, n_cells=n_bins, draws=_DRAWS, seed=seed
        ).mean()
    return {
        "confidence": np.where(items > 0, stated.value, np.nan),
        "accuracy": right,
        "nll_by": Interval.of(level).clip(*RANGES["nll"]).where(items > 0),
        "ece": Interval.of(error, "").clip(0.0, 1.0).where(items > 0),
        "ece_null": chance,
    }


def _notes(
    scored: probabilities.Evaluations, prepared: Prepared, strata: dict[StratumGrouping, Strata]
) -> list[str]:
    """Return notes on what could not be computed, and what it would need."""
    notes = []
    unseen = prepared.ballots.n_items - scored.n_items
    if unseen:
        notes.append(
            f"{unseen:,} labelled items were in no evaluation half yet and have no probability; "
            "more splits would give them one."
        )
    if prepared.oriented.votes.features is None:
        notes.append("The votes have no item features (columns feat_...), so none is shown.")
    if strata["difficulty"].n < 3:
        notes.append(
            "The votes divide the items into fewer than three degrees of disagreement: too many "
            "items have votes that are all alike, or only a few votes."
        )
    for part in strata.values():
        sizes = np.bincount(part.codes, minlength=part.n)
        for name, size in zip(part.names, sizes.tolist(), strict=True):
            if size < probabilities.FEW_ITEMS:
                notes.append(
                    f"The stratum {name!r} has {size} labelled items; figures of fewer than "
                    f"{probabilities.FEW_ITEMS} say little."
                )
    return notes


ITEMS: Study[ItemsSpec, probabilities.OutOfSample, Items] = Study(
    name="items",
    title="Items and difficulty",
    question="Which items does the panel get wrong?",
    run_chunk=probabilities.run_chunk,
    settled=always,
    merge=merge,
)
