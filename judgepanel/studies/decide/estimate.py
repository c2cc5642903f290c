"""Estimate: the rate of label 1 of all items and of groups, from all votes and few labels.

Rates are prediction-powered (:mod:`judgepanel.scoring.prediction_powered`): the proxy of every item
is an average of regressions of the label on votes, fitted to the labels of other items
(:mod:`judgepanel.kernels.cross_proxies`). Labels and votes are taken as given, since the rate is
about them; judges that know the label are left out. There are no splits: one round fits proxies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.distributions import norm_ppf, t_ppf
from judgepanel.kernels.ballots import signs_of
from judgepanel.kernels.cross_proxies import best_judge, cross_proxies
from judgepanel.kernels.residual import FeatureColumns, feature_columns
from judgepanel.scoring.clustered import ALPHA, FairSample, fair_sample
from judgepanel.scoring.inference import labels_to_settle
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.prediction_powered import (
    PSEUDO_LABELS,
    Rates,
    Sample,
    Target,
    all_pairs,
    differences,
    estimate_rates,
)
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.options import StudySpec, option
from judgepanel.studies.results import column, frame_columns, frozen, long_frame, scalars
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import BALANCED_SHARE, perfect_judges

About = Literal["auto", "file", "population"]
ABOUTS: tuple[About, ...] = get_args(About)
ALL = "all items"
QUANTILES = 4
MOST_GROUPS = 50
FEW_LABELS = 10
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64), Interval.full(0, np.nan, "share"), np.zeros(0)
REACH = 0.03
"""Half width for which the number of labels is given."""
SYSTEMS = ("system", "model", "policy", "variant", "version", "prompt", "config")
"""Names of features that are the first choice for groups."""


@frozen
class Proxies:
    """Proxies (n,) of all items: of the panel, and of the judge who is best on other labels."""

    panel: Floats
    best: Floats


@frozen
class Estimates:
    """Result of :data:`ESTIMATE`; arrays are (n_groups + 1,), all items first.

    ``first`` and ``second`` (m,) are the positions of all pairs of groups, ``difference`` the rate
    of the first minus that of the second, ``p`` their p-values after Holm's correction over all
    pairs, ``more_labels`` how many more labels would decide them if the difference stays the same.
    ``fair`` says in which traits labelled items differ from the others.
    """

    group: tuple[str, ...] = column("The group of items, all items first.", "group", "text")
    items: Ints = column("Number of items.", "items", "whole", name="n_items")
    labelled: Ints = column("Number of labelled items.", "labels", "whole", name="n_labels")
    rate: Interval = column(
        "Estimated share of label 1, from labels and votes.", "rate", "share level"
    )
    labels_alone: Interval = column(
        "Share of label 1 among labelled items.", "labels alone", "share level"
    )
    judges_alone: Floats = column(
        "Share of items for which the majority of votes is 1, biased as judges are; a tie is one "
        "half.",
        *("judges alone", "share"),
    )
    judges_bias: Floats = column(
        "By how much the judges favour label 1: judges_alone minus rate.", "their bias", "signed"
    )
    majority: Interval = column("The majority of votes, corrected by the labels.")
    best: Interval = column(
        "The judge who is right most often on other labels, corrected by the labels.",
        name="best_judge",
    )
    population: Interval = column("The rate of items like these, of which the items are a sample.")
    worth: Floats = column(
        "How many times as many labels alone would give an interval as narrow.", "worth", "number"
    )
    tuning: Floats = column("What a proxy counts, 0 (labels alone) to 1.")
    may_be_best: Bools = column(
        "Whether no other group is shown to have a higher rate; blank for all items."
    )
    first: Ints
    second: Ints
    difference: Interval
    difference_alone: Interval
    p: Floats
    more_labels: Ints
    labels_for_reach: int
    fair: FairSample
    by: str
    about: Target
    task: str
    orientation: str
    measures_coding: bool
    one_class: bool
    seed: int = column()
    warnings: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Always False: there is one round."""
        return False

    @property
    def decided(self) -> Bools:
        """Which differences (m,) are decided, by p-values after Holm's correction."""
        return np.asarray(self.p < ALPHA)

    def frame(self) -> pd.DataFrame:
        """Return one row per group, all items first."""
        declared = frame_columns(type(self))
        return long_frame(
            (len(self.group),), {info.name: getattr(self, name) for name, info in declared.items()}
        )

    def differences(self) -> pd.DataFrame:
        """Return one row per pair of groups."""
        names = np.array(self.group, dtype=object)
        return long_frame(
            (len(self.first),),
            {
                "group": names[self.first],
                "other": names[self.second],
                "difference": self.difference,
                "labels_alone": self.difference_alone,
                "p_holm": self.p,
                "decided": self.decided,
                "more_labels": self.more_labels,
            },
        )

    def summary(self) -> dict[str, Any]:
        """Return the rate of all items, the differences, and the fairness of the sample."""
        return {
            "rate": to_plain([float(end[0]) for end in self.rate]),
            "worth": to_plain(float(self.worth[0])),
            "differences": to_plain(self.differences().to_dict("records")),
            "may_be_best": [
                name for name, may in zip(self.group[1:], self.may_be_best[1:], strict=True) if may
            ],
            "unlike_the_others_in": list(self.fair.differing),
            "partial": self.partial,
            **scalars(self),
        }


@dataclass(frozen=True, slots=True)
class EstimateSpec(StudySpec):
    """Groups by a feature, and what the rates are about; splits are not used."""

    by: str | None = option(None, "feature whose values are the groups, such as model or language")
    about: About = option(
        "auto",
        "whose rate: the items of the file, or items like these; auto: of the file, of items like "
        "these once all of the file are labelled",
    )
    weights: str | None = option(
        None, "feature with inverse probabilities of labelling, if they differ"
    )


def run_chunk(votes: VoteMatrix, spec: EstimateSpec, chunk: Chunk) -> Proxies:
    """Return the proxies of all items; ``chunk`` holds one round."""
    signs, labels, units = _arrays(votes, spec)
    seed = spec.settings.seed
    return Proxies(
        cross_proxies(signs, labels, units, seed=seed), best_judge(signs, labels, units, seed=seed)
    )


def judges_of(votes: VoteMatrix, spec: EstimateSpec) -> tuple[str, ...]:
    """Return the judges whose votes are used, in order of name.

    A judge that knows every label may be the label itself; it is used only if it is named, or if
    all judges do.
    """
    if spec.settings.judges is not None:
        return tuple(sorted(spec.settings.judges))
    knows = perfect_judges(votes)
    others = [name for name, know in zip(votes.judges, knows, strict=True) if not know]
    return tuple(sorted(others or votes.judges))


def _arrays(votes: VoteMatrix, spec: EstimateSpec) -> tuple[Votes, Floats, Ints]:
    """Signed votes in the order of judges' names, labels with NaN, and units."""
    signs = signs_of(votes.with_judges(judges_of(votes, spec)).votes)
    labels = np.where(votes.labels < 0, np.nan, votes.labels.astype(np.float64))
    return signs, labels, votes.units


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of items: names, and the group of each item (n,), -1 for none."""

    names: tuple[str, ...]
    codes: Ints


def groups_of(votes: VoteMatrix, by: str | None) -> Groups:
    """Return the groups by a feature: its values, or quantiles of many numbers.

    Raises
    ------
    InputError
        A feature that the votes do not have, or one of too many values.
    """
    if by is None:
        return Groups((), np.full(votes.n_items, -1, dtype=np.int64))
    values = _feature(votes, by)
    if values.dtype.kind in "fiub":
        return _by_number(values.astype(np.float64))
    texts = np.array(["" if value is None else str(value) for value in values.tolist()])
    names, codes = np.unique(texts, return_inverse=True)
    blank = names == ""
    place = np.where(blank, -1, np.cumsum(~blank) - 1)
    if np.count_nonzero(~blank) > MOST_GROUPS:
        raise InputError(
            f"the feature {quote_value(by)} has too many values to compare",
            value=int(np.count_nonzero(~blank)),
            allowed=f"at most {MOST_GROUPS} groups",
            remedy="choose another feature, or give its values fewer names",
        )
    return Groups(tuple(names[~blank].tolist()), np.asarray(place[codes], dtype=np.int64))


def _by_number(values: Floats) -> Groups:
    known = np.isfinite(values)
    levels = np.unique(values[known])
    if len(levels) > 2 * QUANTILES:
        ends = np.unique(np.quantile(values[known], np.arange(1, QUANTILES) / QUANTILES))
        place = np.searchsorted(ends, values, side="left")
        present, codes = np.unique(place[known], return_inverse=True)
        names = []
        for part in present:
            inside = values[known & (place == part)]
            names.append(f"{inside.min():g} to {inside.max():g}")
    else:
        codes = np.searchsorted(levels, values[known])
        names = [f"{level:g}" for level in levels]
    every = np.full(len(values), -1, dtype=np.int64)
    every[known] = codes
    return Groups(tuple(names), every)


def _features(votes: VoteMatrix) -> FeatureColumns:
    return feature_columns(votes.features) or {}


def _feature(votes: VoteMatrix, name: str) -> NDArray[Any]:
    columns = _features(votes)
    if name not in columns:
        raise InputError(
            "no such feature among the votes",
            value=name,
            allowed=", ".join(columns) or "none: these votes have no item features",
        )
    return columns[name]


def offered_features(votes: VoteMatrix) -> tuple[str, ...]:
    """Return the features whose values can be groups, those that name systems first."""
    columns = _features(votes)
    kinds = {name: len(set(map(str, values.tolist()))) for name, values in columns.items()}
    numeric = {name: values.dtype.kind in "fiub" for name, values in columns.items()}
    few = [name for name, n in kinds.items() if n >= 2 and (numeric[name] or n <= MOST_GROUPS)]
    places = {name: place for place, name in enumerate(SYSTEMS)}
    return tuple(
        sorted(few, key=lambda name: (places.get(name.lower(), len(places)), numeric[name]))
    )


def usual_feature(votes: VoteMatrix) -> str | None:
    """Return the feature that pages group by at first: systems, else a few categories."""
    offered = offered_features(votes)
    if not offered or (
        offered[0].lower() not in SYSTEMS and _features(votes)[offered[0]].dtype.kind in "fiub"
    ):
        return None
    return offered[0]


def _weights(votes: VoteMatrix, name: str | None) -> Floats | None:
    """Sampling weights (n,); InputError if one of a labelled item is missing or not above 0."""
    if name is None:
        return None
    values = _feature(votes, name)
    if values.dtype.kind not in "fiub":
        raise InputError("sampling weights must be numbers", value=name)
    weights = values.astype(np.float64)
    wrong = votes.labelled & ~(np.isfinite(weights) & (weights > 0.0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"item {quote_value(votes.item_ids[place])} has no usable sampling weight",
            "a number above 0 for every labelled item",
            value=float(weights[place]),
        )
    return np.where(np.isfinite(weights), weights, 1.0)


def merge(votes: VoteMatrix, spec: EstimateSpec, partial: Proxies) -> Estimates:
    """Return rates of all items and of the groups, and their differences."""
    signs, labels, units = _arrays(votes, spec)
    groups, weights = groups_of(votes, spec.by), _weights(votes, spec.weights)
    shares = (np.sign(signs.sum(axis=1, dtype=np.int64)) + 1.0) / 2.0
    proxies = {"panel": partial.panel, "majority": shares, "best": partial.best}
    samples = [Sample.of(labels, None, units, weights)]
    if groups.names:
        samples.append(Sample.of(labels, groups.codes, units, weights, len(groups.names)))

    about = _about(votes, spec)

    def rates(name: str, target: Target = about, *, tuned: bool = True) -> list[Rates]:
        return [
            estimate_rates(proxies[name], sample, target=target, tuned=tuned) for sample in samples
        ]

    ours, alone = rates("panel"), rates("panel", tuned=False)
    rate = _joined(ours)
    judges = np.concatenate([s.sums(shares) / np.maximum(s.n_items, 1.0) for s in samples])
    pairs, gap, p = all_pairs(ours[-1]) if groups.names else _NO_PAIRS
    gap_alone = differences(alone[-1], pairs)[0] if groups.names else gap
    n_labels = np.concatenate([s.n_labels for s in samples]).astype(np.int64)
    fair = fair_sample(votes.labelled, _traits(votes, signs), units)
    lopsided = votes.task == "pairwise" and votes.minority_share < BALANCED_SHARE
    return Estimates(
        group=(ALL, *groups.names),
        items=np.concatenate([s.n_items for s in samples]).astype(np.int64),
        labelled=n_labels,
        rate=rate,
        labels_alone=_joined(alone),
        judges_alone=judges,
        judges_bias=judges - rate.value,
        majority=_joined(rates("majority")),
        best=_joined(rates("best")),
        population=_joined(rates("panel", "population")),
        worth=_worth(ours, alone),
        tuning=np.concatenate([part.tuning for part in ours]),
        may_be_best=_may_be_best(len(groups.names), pairs, gap, p),
        first=pairs[:, 0] + 1,
        second=pairs[:, 1] + 1,
        difference=gap,
        difference_alone=gap_alone,
        p=p,
        more_labels=_more_labels(pairs, gap, samples[-1], about),
        labels_for_reach=_labels_for(ours[0], samples[0]),
        fair=fair,
        by=spec.by or "",
        about=about,
        task=votes.task,
        orientation="as_given",
        measures_coding=lopsided,
        one_class=votes.minority_share == 0.0,
        seed=spec.settings.seed,
        warnings=_warnings(votes, spec, groups, n_labels, fair),
    )


def _about(votes: VoteMatrix, spec: EstimateSpec) -> Target:
    if spec.about == "auto":
        return "population" if votes.labelled.all() else "file"
    return spec.about


def _joined(parts: list[Rates]) -> Interval:
    return Interval.joined([part.rate for part in parts])


def _may_be_best(n_groups: int, pairs: Ints, gap: Interval, p: Floats) -> Bools:
    """Which groups are not shown to have a lower rate than another; the first is all items."""
    best = np.ones(n_groups + 1, dtype=bool)
    best[0] = False
    loser = np.where(gap.value < 0.0, pairs[:, 0], pairs[:, 1])
    best[1 + loser[p < ALPHA]] = False
    return best


def _worth(ours: list[Rates], alone: list[Rates]) -> Floats:
    """How many times as many labels (n_groups + 1,); 1 where nothing is left to estimate."""
    with_panel, labels = (np.concatenate([part.kappa for part in parts]) for parts in (ours, alone))
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(with_panel > 0.0, labels / with_panel, 1.0)
    return np.where(np.isfinite(_joined(ours).value), worth, np.nan)


def _more_labels(pairs: Ints, gap: Interval, sample: Sample, about: Target) -> Ints:
    """Labels (m,) that both groups need besides their own to be told apart at the level of all.

    -1 if that cannot be said. All items of the file are enough for the file.
    """
    n_labels, n_items = (part.astype(np.int64) for part in (sample.n_labels, sample.n_items))
    level = float(norm_ppf(1.0 - ALPHA / 2.0 / max(len(pairs), 1)) / norm_ppf(1.0 - ALPHA / 2.0))
    more = []
    for (first, second), value, lo, hi in zip(pairs, *gap, strict=True):
        n = int(n_labels[first] + n_labels[second])
        reach = level * (value - lo if value > 0.0 else hi - value)
        known = np.isfinite(reach) and value != 0.0
        needed = labels_to_settle(value, reach, 0.0, n) - n if known else -1
        if about == "file":
            needed = min(needed, int(n_items[first] + n_items[second]) - n)
        more.append(needed)
    return np.array(more, dtype=np.int64)


def _labels_for(rates: Rates, sample: Sample) -> int:
    """Labels in all for an interval of the file of ``REACH`` to either side."""
    p, n_items = float(rates.rate.value[0]), float(sample.n_items[0])
    if not np.isfinite(p):
        return -1
    n = float(sample.n_labels[0])
    p = (n * p + PSEUDO_LABELS / 2.0) / (n + PSEUDO_LABELS)
    quantile = float(t_ppf(0.975, max(n - 1.0, 1.0)))
    spread = quantile**2 * p * (1.0 - p) * float(rates.left[0])
    return int(np.ceil(1.0 / (REACH**2 / spread + 1.0 / n_items)))


def _traits(votes: VoteMatrix, signs: Votes) -> Mapping[str, NDArray[Any]]:
    """What is known of all items: votes in sum, and features."""
    cast = (signs != 0).sum(axis=1)
    share = np.where(cast > 0, signs.sum(axis=1) / np.maximum(cast, 1), np.nan)
    of_votes = {"share of votes for 1": share, "agreement of judges": np.abs(share)}
    return {**of_votes, "number of votes": cast.astype(np.float64), **_features(votes)}


def _warnings(
    votes: VoteMatrix, spec: EstimateSpec, groups: Groups, n_labels: Ints, fair: FairSample
) -> tuple[str, ...]:
    warnings = []
    if fair.differing and spec.weights is None:
        warnings.append(
            "The labelled items are not a fair sample: they differ from the others in "
            f"{listed(fair.differing, 3)}. Rates of all items hold only if that has nothing to do "
            "with the labels; label items drawn at random, or give their sampling weights."
        )
    if votes.labelled.all() and spec.about == "file":
        warnings.append("Every item has a label, so the rates of the file are known exactly.")
    elif n_labels[0] < FEW_LABELS:
        warnings.append(f"There are only {n_labels[0]} labels: intervals are wide.")
    if groups.names:
        blank = int(np.count_nonzero(groups.codes < 0))
        if blank:
            warnings.append(f"{blank:,} items have no {quote_value(spec.by or '')}.")
        none = [name for name, n in zip(groups.names, n_labels[1:], strict=True) if n == 0]
        if none:
            warnings.append(
                f"No item of {listed(none, 3)} has a label, so nothing corrects the judges there."
            )
        same = [name for name in groups.names if name in set(votes.judges)]
        if same:
            warnings.append(
                f"{listed(same, 3)} both gave votes and is a group: judges may favour their own "
                "answers, which the labels correct on average only."
            )
    return tuple(warnings)


ESTIMATE: Study[EstimateSpec, Proxies, Estimates] = Study(
    name="estimate",
    title="Rates from few labels",
    question="How good are the systems, from many votes and few labels?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda _: 1,
)
