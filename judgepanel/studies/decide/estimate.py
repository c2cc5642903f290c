"""Estimate: the rate of label 1 of all items and of groups, from all votes and few labels.

Rates are prediction-powered (:mod:`judgepanel.scoring.prediction_powered`): the proxy of every item
is an average of regressions of the label on votes, fitted to the labels of other items
(:mod:`judgepanel.kernels.cross_proxies`). Labels and votes are taken as given, since the rate is
about them; judges that know the label are left out. There are no splits: one round fits proxies.

Which items to label next: drawn at random, where they narrow the asked differences most.

Within groups items are drawn at random; how many of each group is chosen so that the sum of the
variances of the groups' rates becomes smallest, and with it the mean variance of their differences.
Drawing uncertain items more often helps on some files only (docs/estimate.md).
"""

from __future__ import annotations

import heapq
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
from judgepanel.scoring.clustered import ALPHA, FairSample, fair_sample
from judgepanel.scoring.inference import labels_to_settle
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.prediction_powered import (
    PSEUDO_LABELS,
    Matches,
    Rates,
    Sample,
    Target,
    all_pairs,
    correlations,
    differences,
    estimate_rates,
    estimate_win_rates,
    strengths_of,
    win_rates,
)
from judgepanel.studies import codec, contract, options
from judgepanel.studies.results import Declared, column, frozen, long_frame, scalars
from judgepanel.studies.slices import (
    Groups,
    feature,
    features_of,
    grouping_features,
    groups_of,
    strata_codes,
    stratified,
    system_families,
    weights_of,
)
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import BALANCED_SHARE, perfect_judges
from judgepanel.votes.texts import ID

About = Literal["auto", "file", "population"]
ABOUTS: tuple[About, ...] = get_args(About)
ALL = "all items"
FEW_LABELS, FEWEST = 10, 5
"""Fewer labels of all items, and of a group, are said to be few."""
UNFAIR = "The labelled items are not a fair sample"
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64), Interval.full(0, np.nan, "share"), np.zeros(0)
REACH = 0.03
"""Half width for which the number of labels is given."""
MOST_MET = 200
"""Pairs of systems whose win rates are given."""


@frozen
class Proxies:
    """Proxies (n,) of all items: of the panel, and of the judge who is best on other labels."""

    panel: Floats
    best: Floats


@frozen
class Meetings:
    """Pairs of systems that met (m,), as positions of groups: how often the first wins."""

    first: Ints
    second: Ints
    items: Ints
    labels: Ints
    rate: Interval


@frozen
class JudgesAlone:
    """How judges (n_judges,) alone rank groups.

    ``same_order`` is the share of pairs of groups that a judge puts in the order of the estimates,
    ``best`` the position of the group that it puts first (-1 without votes), and ``own_family`` how
    much more it favours groups of its own family than others, beyond the estimates; NaN if families
    are unknown.
    """

    judge: tuple[str, ...]
    same_order: Floats
    best: Ints
    own_family: Interval


@frozen
class Estimates(Declared):
    """Result of :data:`ESTIMATE`; arrays are (n_groups + 1,), all items first.

    ``first`` and ``second`` (m,) are the positions of all pairs of groups, ``difference`` the rate
    of the first minus that of the second, ``p`` their p-values after Holm's correction over all
    pairs, ``more_labels`` how many more labels would decide them if the difference stays the same.
    ``fair`` says in which traits labelled items differ from the others, within strata if there are
    any. ``strata`` is the feature to whose values labels are weighted, empty for none.

    With ``pairs`` the groups are systems that met in pairs: their rate is the win rate against the
    others (Bradley-Terry), and ``met`` are the pairs one by one. ``alone`` is how judges alone rank
    the groups.
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
        "How many times as many labels alone would give an interval as narrow.",
        "worth",
        "significant",
    )
    tuning: Floats = column("What a proxy counts, 0 (labels alone) to 1.")
    may_be_best: Bools = column(
        "Whether no other group is shown to have a higher rate; blank for all items."
    )
    pairs: bool
    met: Meetings
    alone: JudgesAlone
    first: Ints
    second: Ints
    difference: Interval
    difference_alone: Interval
    p: Floats
    more_labels: Ints
    labels_for_reach: int
    fair: FairSample
    by: str
    strata: str
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
    def is_unfair(self) -> bool:
        """Whether the labelled items differ from the others and nothing makes up for it."""
        return any(sentence.startswith(UNFAIR) for sentence in self.warnings)

    @property
    def decided(self) -> Bools:
        """Which differences (m,) are decided, by p-values after Holm's correction."""
        return np.asarray(self.p < ALPHA)

    def differences(self) -> pd.DataFrame:
        """Return one row per pair of groups."""
        names = np.array(self.group, dtype=object)
        return long_frame(
            {
                "group": names[self.first],
                "other": names[self.second],
                "difference": self.difference,
                "labels_alone": self.difference_alone,
                "p_holm": self.p,
                "decided": self.decided,
                "more_labels": self.more_labels,
            }
        )

    def meetings(self) -> pd.DataFrame:
        """Return one row per pair of systems that met: how often the first wins."""
        names = np.array(self.group, dtype=object)
        return long_frame(
            {
                "system": names[self.met.first],
                "other": names[self.met.second],
                "n_items": self.met.items,
                "n_labels": self.met.labels,
                "win_rate": self.met.rate,
            }
        )

    def by_judge(self) -> pd.DataFrame:
        """Return one row per judge: how it alone ranks the groups."""
        names = np.array([*self.group, ""], dtype=object)
        return long_frame(
            {
                "judge": np.array(self.alone.judge, dtype=object),
                "same_order": self.alone.same_order,
                "puts_first": names[self.alone.best],
                "favours_own_family": self.alone.own_family,
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return the rate of all items, the differences, and the fairness of the sample."""
        return {
            "rate": codec.to_plain([float(end[0]) for end in self.rate]),
            "worth": codec.to_plain(float(self.worth[0])),
            "differences": codec.to_plain(self.differences().to_dict("records")),
            "meetings": codec.to_plain(self.meetings().to_dict("records")),
            "by_judge": codec.to_plain(self.by_judge().to_dict("records")),
            "may_be_best": [
                name for name, may in zip(self.group[1:], self.may_be_best[1:], strict=True) if may
            ],
            "unlike_the_others_in": list(self.fair.differing),
            "partial": self.partial,
            **scalars(self),
        }


@dataclass(frozen=True, slots=True)
class EstimateSpec(options.StudySpec):
    """Groups by a feature, and what the rates are about; splits are not used."""

    by: str | None = options.option(
        None,
        "feature whose values are the groups, such as language; `system` stands for the column "
        "with the system, or for the two with those of a pair",
    )
    about: About = options.option(
        "auto",
        "whose rate: the items of the file, or items like these; auto: of the file, of items like "
        "these once all of the file are labelled",
    )
    weights: str | None = options.option(
        None, "feature with inverse probabilities of labelling, if they differ"
    )
    strata: str | None = options.option(
        None,
        "feature within whose values the labelled items were drawn at random; labels are "
        "weighted to the items of each (default: the groups compared, if each has five labels or "
        "they were labelled unevenly)",
    )


def run_chunk(votes: VoteMatrix, spec: EstimateSpec, chunk: contract.Chunk) -> Proxies:
    """Return the proxies of all items; ``chunk`` holds one round."""
    signs, labels, units = arrays_of(votes, spec)
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


def arrays_of(votes: VoteMatrix, spec: EstimateSpec) -> tuple[Votes, Floats, Ints]:
    """Return signed votes in the order of judges' names, labels with NaN, and units."""
    signs = signs_of(votes.with_judges(judges_of(votes, spec)).votes)
    labels = np.where(votes.labels < 0, np.nan, votes.labels.astype(np.float64))
    return signs, labels, votes.units


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How labels are weighted, and whether the labelled items are a fair sample then.

    ``weights`` (n,) are those of labelled items, None if all are equal; ``strata`` is the feature
    they come from, empty for none; ``uneven`` says that the groups were labelled unevenly and are
    the strata for that reason.
    """

    weights: Floats | None
    strata: str
    fair: FairSample
    uneven: bool = False


def weighting_of(
    votes: VoteMatrix, spec: EstimateSpec, traits: Mapping[str, NDArray[Any]]
) -> Weighting:
    """Return how labels are weighted: to the items of each group, unless that is said otherwise.

    Items that are drawn for a comparison of groups are drawn unevenly, and a test does not notice
    a little of that. It needs ``FEWEST`` labels of each group: weights of fewer add more error than
    they take away. With fewer, and of pairs, which are drawn evenly and of many combinations,
    labels are weighted only if the test does notice.
    """
    labelled, units = votes.labelled, votes.units
    if spec.weights is not None:
        weights = weights_of(votes, spec.weights)
        return Weighting(weights, "", fair_sample(labelled, traits, units))
    strata, uneven = spec.strata, False
    if strata is None and spec.by is not None:
        own = {name: feature(votes, name) for name in grouping_features(votes, spec.by)}
        uneven = bool(fair_sample(labelled, own, units).differing)
        strata = spec.by if uneven or (len(own) == 1 and _enough_labels(votes, spec.by)) else None
    if strata is not None:
        try:
            weights = stratified(votes, strata)
        except InputError:
            if spec.strata is not None:
                raise
        else:
            codes = strata_codes(votes, strata)
            return Weighting(weights, strata, fair_sample(labelled, traits, units, codes), uneven)
    # Nothing is asked for, or a group has no label and cannot be weighted.
    return Weighting(None, "", fair_sample(labelled, traits, units))


def _enough_labels(votes: VoteMatrix, by: str) -> bool:
    codes = strata_codes(votes, by)
    n_items, n_labels = np.bincount(codes), np.bincount(codes, votes.labelled)
    return bool((n_labels >= np.minimum(n_items, FEWEST)).all())


Samples = list[Sample | Matches]


def _rates(proxy: Floats, samples: Samples, target: Target, *, tuned: bool = True) -> list[Rates]:
    return [
        estimate_win_rates(proxy, sample, target=target, tuned=tuned)
        if isinstance(sample, Matches)
        else estimate_rates(proxy, sample, target=target, tuned=tuned)
        for sample in samples
    ]


def _as_voted(votes: Floats, sample: Sample | Matches) -> Floats:
    """Return the rates (n_groups,) that votes alone imply; NaN votes are missing."""
    given = np.isfinite(votes)
    if isinstance(sample, Matches):
        every = sample.every * given
        every = every / max(float(every.sum()), 1e-300)
        return win_rates(strengths_of(every * np.nan_to_num(votes), sample, every, len(sample.met)))
    n = sample.sums(given.astype(np.float64))
    return np.where(n > 0, sample.sums(np.nan_to_num(votes)) / np.maximum(n, 1.0), np.nan)


def _judges(
    votes: VoteMatrix, spec: EstimateSpec, groups: Groups, signs: Votes, rates: Rates, sample: Any
) -> JudgesAlone:
    """Compare the order of the groups under every judge alone with that of the estimates."""
    if len(groups.names) < 2:
        none = np.zeros(0)
        return JudgesAlone((), none, none.astype(np.int64), Interval.full(0, np.nan, "share"))
    names = judges_of(votes, spec)
    cast = np.where(signs == 0, np.nan, (signs + 1.0) / 2.0)
    alone = np.array([_as_voted(cast[:, j], sample) for j in range(len(names))])
    alone = alone.reshape(len(names), len(groups.names))
    value = rates.rate.value
    first, second = np.triu_indices(len(groups.names), 1)
    ours = value[first] - value[second]
    own = alone[:, first] - alone[:, second]
    known = np.isfinite(own) & np.isfinite(ours)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = (known & (own * ours > 0.0)).sum(axis=1) / known.sum(axis=1)
    voted = np.isfinite(alone)
    best = np.where(voted.any(axis=1), np.where(voted, alone, -1.0).argmax(axis=1) + 1, -1)
    families = dict(zip(votes.judges, families_of(votes), strict=True))
    of_groups = np.array(system_families(groups.names, families))
    alike = correlations(rates)
    favours = [
        _favour(judge, (of_groups != "") & (of_groups == families[name]), rates, alike, sample)
        for name, judge in zip(names, alone, strict=True)
    ]
    value, lo, hi = np.array(favours).reshape(len(names), 3).T
    return JudgesAlone(
        names, same, np.asarray(best, dtype=np.int64), Interval(value, lo, hi, unit="share")
    )


def _favour(
    judge: Floats, own: Bools, rates: Rates, alike: Floats, sample: Sample | Matches
) -> tuple[float, float, float]:
    """Return how much higher a judge rates own groups than others, beyond the estimates."""
    value, lo, hi = rates.rate
    known = np.isfinite(judge) & np.isfinite(value)
    sides = [np.where(known & side, sample.n_items, 0.0) for side in (own, ~own)]
    if not all(side.any() for side in sides):
        return np.nan, np.nan, np.nan
    contrast = sides[0] / sides[0].sum() - sides[1] / sides[1].sum()
    gap = float(contrast @ np.where(known, judge - value, 0.0))
    arms = np.where(known, contrast * (hi - lo) / 2.0, 0.0)
    reach = float(np.sqrt(np.maximum(arms @ alike @ arms, 0.0)))
    return gap, gap - reach, gap + reach


def _meetings(groups: Groups, sample: Sample | Matches, proxy: Floats, about: Target) -> Meetings:
    """Estimate every pair of systems that met by the items of both; none of too many pairs."""
    if isinstance(sample, Sample):
        none = np.zeros(0, dtype=np.int64)
        return Meetings(none, none, none, none, Interval.full(0, np.nan, "share"))
    n = len(groups.names)
    low, high = np.minimum(sample.first, sample.second), np.maximum(sample.first, sample.second)
    cells, codes = np.unique((low * n + high)[sample.met], return_inverse=True)
    if len(cells) > MOST_MET:
        cells, codes = cells[:0], np.zeros(0, dtype=np.int64)
    place = np.full(len(sample.labels), -1, dtype=np.int64)
    if len(cells):
        place[sample.met] = codes
    turned = sample.first > sample.second
    labels = np.where(turned, 1.0 - sample.labels, sample.labels)
    of_pairs = Sample.of(labels, place, sample.units, sample.weights, len(cells))
    rates = estimate_rates(np.where(turned, 1.0 - proxy, proxy), of_pairs, target=about)
    n_items, n_labels = (part.astype(np.int64) for part in (of_pairs.n_items, of_pairs.n_labels))
    return Meetings(cells // n + 1, cells % n + 1, n_items, n_labels, rates.rate)


def merge(votes: VoteMatrix, spec: EstimateSpec, partial: Proxies) -> Estimates:
    """Return rates of all items and of the groups, and their differences."""
    signs, labels, units = arrays_of(votes, spec)
    groups = groups_of(votes, spec.by)
    weighting = weighting_of(votes, spec, traits_of(votes, signs))
    weights = weighting.weights
    shares = (np.sign(signs.sum(axis=1, dtype=np.int64)) + 1.0) / 2.0
    whole = Sample.of(labels, None, units, weights)
    samples: Samples = [whole]
    if groups.names:
        samples.append(groups.sample(labels, units, weights))

    about = target_of(votes, spec)
    by_target = {target: _rates(partial.panel, samples, target) for target in get_args(Target)}
    ours = by_target[about]
    alone = _rates(partial.panel, samples, about, tuned=False)
    rate = _joined(ours)
    judges = np.concatenate([_as_voted(shares, sample) for sample in samples])
    pairs, gap, p = all_pairs(ours[-1]) if groups.names else _NO_PAIRS
    n_labels = np.concatenate([s.n_labels for s in samples]).astype(np.int64)
    return Estimates(
        group=(ALL, *groups.names),
        items=np.concatenate([s.n_items for s in samples]).astype(np.int64),
        labelled=n_labels,
        rate=rate,
        labels_alone=_joined(alone),
        judges_alone=judges,
        judges_bias=judges - rate.value,
        majority=_joined(_rates(shares, samples, about)),
        best=_joined(_rates(partial.best, samples, about)),
        population=_joined(by_target["population"]),
        worth=worth_of(ours, alone, samples, about),
        tuning=np.concatenate([part.tuning for part in ours]),
        may_be_best=_may_be_best(len(groups.names), pairs, gap, p),
        pairs=isinstance(samples[-1], Matches),
        met=_meetings(groups, samples[-1], partial.panel, about),
        alone=_judges(votes, spec, groups, signs, by_target["population"][-1], samples[-1]),
        first=pairs[:, 0] + 1,
        second=pairs[:, 1] + 1,
        difference=gap,
        difference_alone=differences(alone[-1], pairs)[0] if groups.names else gap,
        p=p,
        more_labels=_more_labels(pairs, gap, samples[-1], about),
        labels_for_reach=_labels_for(ours[0], whole, about),
        fair=weighting.fair,
        by=spec.by or "",
        strata=weighting.strata,
        about=about,
        task=votes.task,
        orientation="as_given",
        measures_coding=votes.task == "pairwise" and votes.minority_share < BALANCED_SHARE,
        one_class=votes.minority_share == 0.0,
        seed=spec.settings.seed,
        warnings=warnings_of(votes, spec, groups, n_labels, weighting),
    )


def target_of(votes: VoteMatrix, spec: EstimateSpec) -> Target:
    """Return whose rates are estimated; ``auto`` depends on whether all items are labelled."""
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


def worth_of(ours: list[Rates], alone: list[Rates], samples: Samples, about: Target) -> Floats:
    """Return how many times as many labels (n_groups + 1,); 1 where nothing is left to estimate.

    Labels alone of all items would leave nothing unknown about a file, so they count for more the
    larger their share of it is.
    """
    with_panel, labels = (np.concatenate([part.kappa for part in parts]) for parts in (ours, alone))
    seen = np.concatenate([part.n_labels / np.maximum(part.n_items, 1.0) for part in samples])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(with_panel > 0.0, with_panel / labels, 1.0)
    worth = 1.0 / (share + (1.0 - share) * seen * (about == "file"))
    return np.where(np.isfinite(_joined(ours).value), worth, np.nan)


def _more_labels(pairs: Ints, gap: Interval, sample: Sample | Matches, about: Target) -> Ints:
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


def _labels_for(rates: Rates, sample: Sample, about: Target) -> int:
    """Labels in all for an interval of ``REACH`` to either side; one more than there are items if
    all of them are too few.
    """
    p, n_items = float(rates.rate.value[0]), float(sample.n_items[0])
    n, left, kappa = float(sample.n_labels[0]), float(rates.left[0]), float(rates.kappa[0])
    if not np.isfinite(p):
        return -1
    of_items = 1.0 / n_items if about == "population" else 0.0
    even = left * (1.0 / n - 1.0 / n_items) + of_items
    effect = kappa / even if even > 0.0 else 1.0
    p = (n * p + PSEUDO_LABELS / 2.0) / (n + PSEUDO_LABELS)
    quantile = float(t_ppf(0.975, max(n - 1.0, 1.0)))
    wanted = REACH**2 / (quantile**2 * p * (1.0 - p) * effect) - of_items
    if wanted < 0.0:
        return int(n_items) + 1
    return int(np.ceil(1.0 / (wanted / left + 1.0 / n_items)))


def traits_of(votes: VoteMatrix, signs: Votes) -> Mapping[str, NDArray[Any]]:
    """Return what is known of all items: votes in sum, and features."""
    cast = (signs != 0).sum(axis=1)
    share = np.where(cast > 0, signs.sum(axis=1) / np.maximum(cast, 1), np.nan)
    of_votes = {"share of votes for 1": share, "agreement of judges": np.abs(share)}
    return {**of_votes, "number of votes": cast.astype(np.float64), **features_of(votes)}


def warnings_of(
    votes: VoteMatrix, spec: EstimateSpec, groups: Groups, n_labels: Ints, weighting: Weighting
) -> tuple[str, ...]:
    """Return sentences about the labels, their sample and the groups."""
    notes = []
    if weighting.uneven:
        notes.append(
            f"The groups by {quote_value(weighting.strata)} were labelled unevenly, so labels are "
            "reweighted to the items of each; rates of single groups do not depend on that."
        )
    if weighting.fair.differing and spec.weights is None:
        notes.append(
            f"{UNFAIR}: they differ from the others in "
            f"{listed(weighting.fair.differing, 3)}. Rates of all items hold only if that has "
            "nothing to do with the labels; label items drawn at random, give their sampling "
            "weights, or name as strata the feature within which they were drawn."
        )
    if votes.labelled.all() and spec.about == "file":
        notes.append("Every item has a label, so the rates of the file are known exactly.")
    elif n_labels[0] < FEW_LABELS:
        notes.append(f"There are only {n_labels[0]} labels: intervals are wide.")
    if groups.names:
        blank = int(np.count_nonzero((groups.codes < 0) | _unknown(groups)))
        if blank:
            notes.append(f"{blank:,} items have no {quote_value(spec.by or '')}.")
        none = [name for name, n in zip(groups.names, n_labels[1:], strict=True) if n == 0]
        if none:
            notes.append(
                f"No item of {listed(none, 3)} has a label, so nothing corrects the judges there."
            )
        counts = zip(groups.names, n_labels[1:].tolist(), strict=True)
        few = [f"{quote_value(name)} ({n})" for name, n in counts if 0 < n < FEWEST]
        if few:
            more = f" and {len(few) - 3} more" if len(few) > 3 else ""
            notes.append(f"Groups with few labels have wide intervals: {', '.join(few[:3])}{more}.")
        same = [name for name in groups.names if name in set(votes.judges)]
        if same:
            notes.append(
                f"{listed(same, 3)} both gave votes and is a group: judges may favour their own "
                "answers, which the labels correct on average only."
            )
    return tuple(notes)


def _unknown(groups: Groups) -> Bools:
    """Which items (n,) lack their second system."""
    return np.zeros(len(groups.codes), bool) if groups.others is None else groups.others < 0


ESTIMATE: contract.Study[EstimateSpec, Proxies, Estimates] = contract.Study(
    name="estimate",
    title="Rates from few labels",
    question="How good are the systems, from many votes and few labels?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda _: 1,
)

LABEL = "label"
_EVEN = 0.25
"""Variance of a label where nothing is known."""


def items_to_label(
    votes: VoteMatrix, spec: EstimateSpec, result: Estimates, n: int, *, seed: int = 0
) -> pd.DataFrame:
    """Draw unlabelled items.

    Parameters
    ----------
    votes : VoteMatrix
        The votes that were estimated.
    spec, result : EstimateSpec, Estimates
        The estimates so far; items are shared out among their groups, if there are any.
    n : int
        How many items; at least 1 and at most as many as have no label.
    seed : int
        Of the draw.

    Returns
    -------
    DataFrame
        One row per item in random order: its id, its features and an empty label. Votes are left
        out, so that they do not lead those who label.

    Raises
    ------
    InputError
        More items than have no label, or fewer than 1.
    """
    free = ~votes.labelled
    if not 1 <= n <= int(free.sum()):
        raise InputError(
            "cannot draw that many items to label",
            value=n,
            allowed=f"1 to {int(free.sum()):,}, the items without a label"
            if free.any()
            else "nothing: every item has a label",
        )
    rng = np.random.default_rng(seed)
    groups = groups_of(votes, spec.by)
    order = rng.permutation(np.flatnonzero(free))
    if groups.names and groups.others is None:
        codes = groups.codes[order]
        available = np.bincount(codes[codes >= 0], minlength=len(groups.names))
        shares = allocated(variances_of(result), result.labelled[1:], available, n)
        # Items of no group, whose code is the last, fill up.
        wanted = np.append(shares, n - int(shares.sum()))
        order = order[pd.Series(codes).groupby(codes).cumcount().to_numpy() < wanted[codes]]
    chosen = order[:n]
    frame = pd.DataFrame({ID: [votes.item_ids[i] for i in chosen]})
    if votes.features is not None:
        features = votes.features.iloc[chosen].reset_index(drop=True)
        frame = pd.concat([frame, features.drop(columns=[ID, LABEL], errors="ignore")], axis=1)
    return frame.assign(**{LABEL: ""})


def with_texts(drawn: pd.DataFrame, texts: pd.DataFrame | None) -> pd.DataFrame:
    """Return drawn items with their texts after the ids; ``texts`` may lack some items."""
    if texts is None:
        return drawn
    own = texts.set_index(ID).reindex(drawn[ID]).fillna("").reset_index(drop=True)
    own = own.drop(columns=[name for name in own.columns if name in drawn.columns])
    return pd.concat([drawn[[ID]], own, drawn.drop(columns=ID)], axis=1)


def variances_of(result: Estimates) -> Floats:
    """Variance per label (n_groups,) of the rate of each group, as its interval implies it."""
    rate, n = result.rate[1:], result.labelled[1:]
    unseen = 1.0 - n / np.maximum(result.items[1:], 1) if result.about == "file" else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = ((rate.hi - rate.lo) / 4.0) ** 2 * n / unseen
    return np.where(np.isfinite(variance) & (variance > 0.0), np.minimum(variance, _EVEN), _EVEN)


def allocated(variances: Floats, n_labels: Ints, available: Ints, n: int) -> Ints:
    """Share out n labels (n_groups,) so that the sum of variances / labels is smallest.

    One label after the other goes where it takes most off, which is exact as gains only fall.
    """
    shares = np.zeros(len(variances), dtype=np.int64)

    def gain(group: int) -> float:
        have = int(n_labels[group] + shares[group])
        return float(variances[group] / (have * (have + 1))) if have else np.inf

    heap = [(-gain(g), g) for g in range(len(variances)) if available[g]]
    heapq.heapify(heap)
    for _ in range(n):
        if not heap:
            break
        _, group = heapq.heappop(heap)
        shares[group] += 1
        if shares[group] < available[group]:
            heapq.heappush(heap, (-gain(group), group))
    return shares
