"""P3, first part: are votes missing at random?

For every judge that misses some labelled items, and for all of them together: is missing related to
the label, to the item's difficulty, or to a slice of the items (an item feature)? Difficulty is the
accuracy of the *other* judges on that item, each relative to its own mean, so that it depends
neither on the judge itself nor on which others are absent. All p-values are adjusted together by
Holm.

With groups the unit of a test is the group: items of one prompt are not separate evidence. Groups
are compared only with groups of the same size.

P3, second part: does the aggregator handle missing votes well, or would another be better?

One-coin, Dawid-Skene and joint are each scored with all judges and without the judges that miss at
least 5 % of the items, on the same splits. The check fails if those judges are shown to increase
NLL under the aggregator in use, and asks for review if votes are not missing at random or if
another aggregator is shown to be better by more than 2 % of NLL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.scoring.clustered import rank_p, share_p, unit_means, unit_sizes
from judgepanel.scoring.inference import MARGIN, holm
from judgepanel.scoring.interval import Interval
from judgepanel.studies import accumulate, contract, results
from judgepanel.studies.panel.recommended import AVERAGE, RECOMMENDED
from judgepanel.studies.understand.judge_table import ALPHA
from judgepanel.votes import checks, errors

FEWEST_MISSING = 5
MOST_LEVELS = 25
POOLED = ""
_KEPT = 40


@dataclass(frozen=True, slots=True)
class MissingTest:
    """One test of missing votes: ``judge`` ('' is all together) and the variable tested.

    ``kind`` is label, difficulty, slice or number; ``feature`` and ``level`` identify the slice.
    ``inside`` and ``outside`` are shares of votes missing where the label is 1 (or in the slice)
    and elsewhere; for difficulty and numbers, the mean value on missed items and on the others (for
    difficulty: how much more often than usual the other judges are right). ``p_adjusted`` is Holm's
    over all tests.
    """

    judge: str
    kind: str
    feature: str
    level: str
    inside: float
    outside: float
    n_missing: int
    p: float
    p_adjusted: float

    @property
    def related(self) -> bool:
        """Whether votes are shown not to be missing at random."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class Missingness:
    """All feasible tests; ``tests`` are the most significant ones, most significant first.

    ``n_tests`` were made on ``n_judges`` judges that miss and vote on at least ``FEWEST_MISSING``
    items each; ``n_missing`` votes are missing of ``n_cells``; ``left_out`` are sentences on what
    could not be tested.
    """

    tests: tuple[MissingTest, ...]
    n_tests: int
    n_related: int
    n_judges: int
    n_missing: int
    n_cells: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A variable of every unit: a share in [0, 1] for ``label`` and ``slice``, else ranked."""

    kind: str
    feature: str
    level: str
    values: Floats


def missingness(prepared: contract.Prepared) -> Missingness:
    """Run all tests on the labelled items."""
    ballots = prepared.ballots
    absent = (ballots.votes == 0).astype(np.float64)
    n_absent = absent.sum(axis=0)
    tested = np.flatnonzero(np.minimum(n_absent, ballots.n_items - n_absent) >= FEWEST_MISSING)
    known, left_out = _known(prepared)
    rows: list[MissingTest] = []
    if len(tested):
        rows = _tests(prepared, absent, tested, known)
        left_out = (*left_out, *_lone_groups(ballots.units))
    elif n_absent.any():
        left_out = (
            *left_out,
            f"No judge misses {FEWEST_MISSING} labelled items and votes on as many, so whether "
            "missing votes are a matter of chance was not tested.",
        )
    adjusted = holm(np.array([row.p for row in rows]))
    final = [replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]
    final.sort(key=lambda row: (row.p, row.judge, row.kind, row.feature, row.level))
    return Missingness(
        tests=tuple(final[:_KEPT]),
        n_tests=len(final),
        n_related=sum(test.related for test in final),
        n_judges=len(tested),
        n_missing=int(n_absent.sum()),
        n_cells=int(absent.size),
        left_out=left_out,
    )


def relative_ease(votes: NDArray[np.int8], signs: NDArray[np.int8]) -> tuple[Floats, Floats]:
    """Sum over judges of (right - own accuracy) on each item (n,), and those terms (n, K).

    The sum without one judge's term, over the number of the others that voted, is the item's
    easiness for the others.
    """
    cast = votes != 0
    right = ((votes == signs[:, None]) & cast).astype(np.float64)
    mean = right.sum(axis=0) / np.maximum(cast.sum(axis=0), 1)
    terms = np.where(cast, right - mean, 0.0)
    return terms.sum(axis=1), terms


def _tests(
    prepared: contract.Prepared, absent: Floats, tested: Ints, known: list[_Known]
) -> list[MissingTest]:
    ballots, units = prepared.ballots, prepared.ballots.units
    total, terms = relative_ease(ballots.votes, ballots.signs)
    cast = (ballots.votes != 0).astype(np.float64)
    n_cast = cast.sum(axis=1)
    sizes = unit_sizes(units)
    missed = unit_means(absent[:, tested], units)
    shares = [entry for entry in known if entry.kind in ("label", "slice")]
    numbers = [entry for entry in known if entry.kind == "number"]
    exact = np.zeros((len(tested), 0))
    if shares:
        exact = share_p(missed, np.stack([entry.values for entry in shares], axis=1), sizes)
    rows: list[MissingTest] = []
    for column, judge in enumerate(tested):
        others = n_cast - cast[:, judge]
        value = np.divide(
            total - terms[:, judge], others, out=np.full(len(total), np.nan), where=others > 0
        )
        easy = _Known("difficulty", "", "", unit_means(value, units))
        family_test = missed[:, column]
        p = [rank_p(family_test, other.values, sizes) for other in (easy, *numbers)]
        name, n = prepared.judges[judge], int(absent[:, judge].sum())
        rows += _rows(name, family_test, [easy, *numbers, *shares], [*p, *exact[column]], n)
    pooled = unit_means(absent.mean(axis=1), units)
    value = np.divide(total, n_cast, out=np.full(len(total), np.nan), where=n_cast > 0)
    everything = [_Known("difficulty", "", "", unit_means(value, units)), *known]
    p = [rank_p(distributions.ranks(pooled), entry.values, sizes) for entry in everything]
    return rows + _rows(POOLED, pooled, everything, p, int(absent.sum()))


def _lone_groups(units: Ints) -> tuple[str, ...]:
    """Return a sentence on the groups that no test can use, if any."""
    sizes = unit_sizes(units)
    lone = int((np.unique(sizes, return_counts=True)[1] == 1).sum())
    if not lone:
        return ()
    which = "1 group was" if lone == 1 else f"{lone:,} groups were"
    return (
        f"{which} left out of the tests of missing votes, of {len(sizes):,}: groups are compared "
        "with groups of as many labelled items, and no other has as many.",
    )


def _rows(
    judge: str, missed: Floats, known: list[_Known], p: list[float], n_missing: int
) -> list[MissingTest]:
    """Return the feasible tests of one judge."""
    rows = []
    for entry, value in zip(known, map(float, p), strict=True):
        if not np.isfinite(value):
            continue
        means = _two_means(missed, entry.values, share=entry.kind in ("label", "slice"))
        if np.isfinite(means).all():
            tested = judge, entry.kind, entry.feature, entry.level
            rows.append(MissingTest(*tested, *means, n_missing, value, p_adjusted=value))
    return rows


def _two_means(missed: Floats, values: Floats, *, share: bool) -> tuple[float, float]:
    """Missing shares inside and outside; for other values, means if missing and if not."""
    known = np.isfinite(values)
    weight, what = (values, missed) if share else (missed, values)
    weight, what = weight[known], what[known]
    rest = weight.max(initial=0.0) - weight
    if weight.sum() <= 0.0 or rest.sum() <= 0.0:
        return float("nan"), float("nan")
    return float(weight @ what / weight.sum()), float(rest @ what / rest.sum())


def _known(prepared: contract.Prepared) -> tuple[list[_Known], tuple[str, ...]]:
    """Return the variables to test besides difficulty, and those that cannot be tested."""
    votes, units = prepared.oriented.votes, prepared.ballots.units
    known_features: list[_Known] = []
    left_out: list[str] = []
    labels = (prepared.ballots.signs > 0).astype(np.float64)
    if prepared.oriented.policy != "as_given":
        left_out.append(
            "Which response of a pair comes first is arbitrary here, so missing votes were not "
            "held against the label."
        )
    elif 0.0 < labels.mean() < 1.0:
        known_features.append(_Known("label", "", "", unit_means(labels, units)))
    features = votes.features
    if features is None or not len(features.columns):
        left_out.append("There are no item features, so no slice was tested.")
        return known_features, tuple(left_out)
    for name in features.columns:
        column = features[name]
        if column.dtype == np.float64:
            values = unit_means(column.to_numpy(dtype=np.float64), units)
            known_features.append(_Known("number", str(name), "", values))
            continue
        words = column.astype(str).to_numpy(dtype=object)
        levels = sorted(set(words))
        if len(levels) > MOST_LEVELS:
            left_out.append(
                f"A feature with {len(levels):,} different texts was not tested; {MOST_LEVELS} are "
                "the most that make slices."
            )
        elif len(levels) > 1:
            # For two slices, one test contains all the information.
            for level in levels[: None if len(levels) > 2 else 1]:
                inside = unit_means((words == level).astype(np.float64), units)
                known_features.append(_Known("slice", str(name), level, inside))
    return known_features, tuple(left_out)


PARTLY = 0.05
FEWEST_COMPLETE = 2
TITLE = "P3 Aggregator and missing votes"
_CHANGE = "{:+z.3f} NLL [{:+z.3f}, {:+z.3f}]"


@dataclass(frozen=True, slots=True)
class SwitchArm:
    """One aggregator on all judges, compared with the one in use and with fewer judges.

    ``nll`` has a 95 % interval; ``switch`` = NLL(this) - NLL(in use), below 0 if switching pays,
    with an interval that holds for all alternatives together, ``pays``: below -2 % of NLL(in use).
    ``nll_without`` leaves out the partly missing judges; ``partly`` = NLL(without) - NLL(with),
    above 0 if they are worth keeping, and ``partly_verdict`` is the decision: ``keep all`` means
    keep them, ``curate`` drop them. NaN and '' if there is no such arm.
    """

    aggregator: str
    nll: Interval
    switch: Interval
    pays: bool
    nll_without: float
    partly: Interval
    partly_verdict: str


def partly_missing(covered: Floats) -> Bools:
    """Return the judges that miss ``PARTLY`` of the labelled items or more."""
    return np.asarray(covered <= 1.0 - PARTLY)


def can_leave_out(partly: Bools) -> bool:
    """Whether a panel without the partly missing judges exists for comparison."""
    return bool(partly.any() and (~partly).sum() >= FEWEST_COMPLETE)


def switch_arms(
    tally: accumulate.Tally, units: Ints, aggregators: tuple[str, ...], seed: int
) -> tuple[SwitchArm, ...]:
    """Return arms in the order of the aggregators; the first is in use.

    Arms of the tally are the aggregators on all judges, then (if any judge is partly missing) the
    aggregators without them. From a single split there are no intervals, and nothing pays.
    """
    n = len(aggregators)
    items, splits = tally.nll()
    estimated = accumulate.Estimator.of(tally, units)
    value, splits_of = items.mean(axis=1), splits[:, :n]
    nll = Interval.of(estimated(items[:n], splits_of)).clip(*accumulate.RANGES["nll"])
    switch = Interval.full(n, 0.0 if len(splits) > 1 else np.nan)
    if n > 1:
        gaps = estimated(items[1:n] - items[0], splits[:, 1:n] - splits[:, [0]], joint=True)
        switch.put(slice(1, None), accumulate.band(gaps, seed))
    switch = replace(switch, value=value[:n] - value[0])
    without, partly = np.full(n, np.nan), Interval.full(n, np.nan)
    decided: Sequence[str] = [""] * n
    if len(items) > n:
        without = value[n:]
        gaps = estimated(items[n:] - items[:n], splits[:, n:] - splits_of)
        partly = replace(Interval.of(gaps), value=without - value[:n])
        if len(splits) > 1:
            same = (partly.lo == 0.0) & (partly.hi == 0.0)
            decided = accumulate.verdicts(partly, MARGIN * nll.value, same)
    return results.records_of(
        SwitchArm,
        aggregator=aggregators,
        nll=nll,
        switch=switch,
        pays=switch.below(-MARGIN * value[0]) & (np.arange(n) > 0),
        nll_without=without,
        partly=partly,
        partly_verdict=decided,
    )


def check_compatibility(
    arms: tuple[SwitchArm, ...], missing: Missingness, partly: tuple[str, ...], *, n_judges: int
) -> checks.Check:
    """Return P3 as a check; ``partly`` are the judges that miss at least 5 % of the items."""
    if n_judges < FEWEST_COMPLETE:
        why = "One judge alone leaves nothing to aggregate and no judge to compare its gaps with."
        return checks.Check(
            "P3", TITLE, "not applicable", {"judges": n_judges}, why, "Nothing to do."
        )
    better = sorted((arm for arm in arms if arm.pays), key=lambda arm: arm.switch.value)
    costs = bool(arms) and arms[0].partly_verdict == "curate"
    known = bool(arms) and np.isfinite(arms[0].nll.lo)
    outcome: checks.Outcome = "pass"
    if costs:
        outcome = "fail"
    elif missing.n_related or better or not known:
        outcome = "review"
    sentences = [_missing_sentence(missing), "Aggregators are still to be compared."]
    if known:
        sentences[1:] = [
            _partly_sentence(arms[0], partly, n_judges=n_judges, missing=missing.n_missing),
            _switch_sentence(better, arms),
        ]
    numbers: dict[str, float | int | str] = {
        "votes missing": f"{100 * missing.n_missing / max(missing.n_cells, 1):.1f} %",
        "judges that miss 5 % or more": len(partly),
        "tests": missing.n_tests,
        "related (Holm)": missing.n_related,
    }
    for arm in arms:
        numbers[f"NLL, {spoken(arm.aggregator)}"] = round(float(arm.nll.value), 4)
    advice = _advice(missing, better, costs=costs)
    return checks.Check("P3", TITLE, outcome, numbers, " ".join(filter(None, sentences)), advice)


def gap_sentence(test: MissingTest) -> str:
    """Return the result of one test in words; names are quoted."""
    pooled = test.judge == POOLED
    who = "Votes are missing" if pooled else f"{errors.quote_value(test.judge)} misses"
    on = " on" if pooled else ""
    if test.kind == "difficulty":
        return f"{who}{on} {'harder' if test.inside < test.outside else 'easier'} items"
    if test.kind == "number":
        word = "a lower" if test.inside < test.outside else "a higher"
        return f"{who}{on} items with {word} {errors.quote_value(test.feature)}"
    shares = f"{100 * test.inside:.0f} % against {100 * test.outside:.0f} %"
    where = "where the label is 1"
    if test.kind == "slice":
        where = f"where {errors.quote_value(test.feature)} is {errors.quote_value(test.level)}"
    more = "more" if test.inside > test.outside else "less"
    return f"{who} {more} often {where} ({shares})"


def _missing_sentence(missing: Missingness) -> str:
    if not missing.n_missing:
        return "No vote is missing on the labelled items."
    if not missing.n_tests:
        return "So few votes are missing that there is nothing to test."
    if not missing.n_related:
        return (
            "Nothing shows that missing votes are related to the label, to difficulty or to a "
            f"feature ({missing.n_tests:,} tests, Holm)."
        )
    first: dict[str, MissingTest] = {}
    for test in missing.tests:
        if test.related:
            first.setdefault(test.judge, test)  # The most significant test of every judge.
    sentences = [gap_sentence(test) for test in [*first.values()][:3]]
    join = "; ".join(text.replace("Votes are", "votes are", 1) for text in sentences)
    return (
        f"Missing votes are not a matter of chance ({missing.n_related:,} of {missing.n_tests:,} "
        f"tests, Holm): {join}."
    )


def _partly_sentence(
    base: SwitchArm, partly: tuple[str, ...], *, n_judges: int, missing: int
) -> str:
    if not partly:
        return "No judge misses 5 % of the items or more." if missing else ""
    if len(partly) == n_judges:
        return (
            f"All {n_judges} judges miss 5 % of the items or more, so there is no panel without "
            "them to compare with."
        )
    if n_judges - len(partly) < FEWEST_COMPLETE:
        return (
            f"{len(partly)} of {n_judges} judges miss 5 % of the items or more, and the other one "
            "alone is not a panel to compare with."
        )
    who = f"{errors.listed(partly, 2)} {'misses' if len(partly) == 1 else 'miss'} 5 % or more"
    return (
        f"{who}; leaving {'it' if len(partly) == 1 else 'them'} out changes "
        f"{spoken(base.aggregator)} by {_CHANGE.format(*base.partly)}."
    )


def _switch_sentence(better: list[SwitchArm], arms: tuple[SwitchArm, ...]) -> str:
    if len(arms) < 2:
        return ""
    in_use = spoken(arms[0].aggregator)
    if not better:
        return f"No other aggregator is shown to beat {in_use} by more than 2 %."
    best = better[0]
    name = spoken(best.aggregator)
    return f"{name[0].upper()}{name[1:]} beats {in_use}: {_CHANGE.format(*best.switch)}."


def _advice(missing: Missingness, better: list[SwitchArm], *, costs: bool) -> str:
    parts = []
    if better:
        parts.append(f"Switch to {spoken(better[0].aggregator)}.")
    if costs:
        parts.append("Leave the partly missing judges out, or have their votes filled in.")
    if missing.n_related:
        parts.append(
            "Find out why these votes are missing. What is learned about such a judge does not "
            "hold for the items it misses."
        )
    return " ".join(parts) or "Nothing to do."


def spoken(aggregator: str) -> str:
    """Return an aggregator's name for use within a sentence."""
    if aggregator == AVERAGE:
        return RECOMMENDED
    return aggregator.replace("_", "-").replace("dawid-skene", "Dawid-Skene")
