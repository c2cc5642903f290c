"""P3, second part: does the aggregator handle missing votes well, or would another be better?

One-coin, Dawid-Skene and joint are each scored with all judges and without the judges that miss at
least 5 % of the items, on the same splits. The check fails if those judges are shown to increase
NLL under the aggregator in use, and asks for review if votes are not missing at random or if
another aggregator is shown to be better by more than 2 % of NLL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.scoring.inference import MARGIN, simultaneous_reach, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import RANGES, Estimator
from judgepanel.studies.contest.compared import RECOMMENDED
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.scope.missingness import POOLED, Missingness, MissingTest
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.errors import listed, quote_value

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
    tally: Tally, units: Ints, aggregators: tuple[str, ...], seed: int
) -> tuple[SwitchArm, ...]:
    """Return arms in the order of the aggregators; the first is in use.

    Arms of the tally are the aggregators on all judges, then (if any judge is partly missing) the
    aggregators without them. From a single split there are no intervals, and nothing pays.
    """
    n = len(aggregators)
    means, _ = tally.item_means()
    items, splits = means[0, 0, :-1], tally.split_means[:, 0, 0, :-1]
    estimated = Estimator.of(tally, units)
    value, unknown = items.mean(axis=1), np.full(n, np.nan)
    enough, both = len(splits) >= 2, len(items) > n
    nll = Interval(value[:n], unknown, unknown)
    switch = Interval(value[:n] - value[0], unknown, unknown)
    without, partly, decided = unknown, Interval.full(n, np.nan), [""] * n
    if enough:
        levels = estimated(items[:n], splits[:, :n])
        nll = Interval.of(levels).clip(*RANGES["nll"])
        lo, hi, error = np.zeros((3, n))
        switch = replace(switch, lo=lo, hi=hi, monte_carlo=error)
    if enough and n > 1:
        gaps = estimated(items[1:n] - items[0], splits[:, 1:n] - splits[:, [0]], joint=True)
        reach = simultaneous_reach(gaps, seed=seed) * gaps.se
        lo[1:], hi[1:], error[1:] = gaps.value - reach, gaps.value + reach, gaps.monte_carlo
    if both:
        without = value[n:]
        partly = Interval(without - value[:n], unknown, unknown)
    if both and enough:
        gaps = estimated(items[n:] - items[:n], splits[:, n:] - splits[:, :n])
        partly = replace(partly, lo=gaps.lo, hi=gaps.hi, monte_carlo=gaps.monte_carlo)
        decided = [
            verdict(lo, hi, MARGIN * level, identical=lo == hi == 0.0)
            for _, lo, hi, level in zip(*partly, nll.value, strict=True)
        ]
    return tuple(
        SwitchArm(
            aggregator=name,
            nll=nll[i],
            switch=switch[i],
            pays=bool(i and switch[i].below(-MARGIN * value[0])),
            nll_without=float(without[i]),
            partly=partly[i],
            partly_verdict=decided[i],
        )
        for i, name in enumerate(aggregators)
    )


def check_compatibility(
    arms: tuple[SwitchArm, ...],
    missing: Missingness,
    partly: tuple[str, ...],
    *,
    n_judges: int,
) -> Check:
    """Return P3 as a check; ``partly`` are the judges that miss at least 5 % of the items."""
    if n_judges < FEWEST_COMPLETE:
        return Check(
            "P3",
            TITLE,
            "not applicable",
            {"judges": n_judges},
            "One judge alone leaves nothing to aggregate and no judge to compare its gaps with.",
            "Nothing to do.",
        )
    better = sorted((arm for arm in arms if arm.pays), key=lambda arm: arm.switch.value)
    costs = bool(arms) and arms[0].partly_verdict == "curate"
    known = bool(arms) and np.isfinite(arms[0].nll.lo)
    outcome: Outcome = "pass"
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
        label = spoken(arm.aggregator)
        numbers[f"NLL, {label}"] = round(float(arm.nll.value), 4)
    advice = _advice(missing, better, costs=costs)
    return Check("P3", TITLE, outcome, numbers, " ".join(filter(None, sentences)), advice)


def gap_sentence(test: MissingTest) -> str:
    """Return the result of one test in words; names are quoted."""
    pooled = test.judge == POOLED
    who = "Votes are missing" if pooled else f"{quote_value(test.judge)} misses"
    on = " on" if pooled else ""
    if test.kind == "difficulty":
        return f"{who}{on} {'harder' if test.inside < test.outside else 'easier'} items"
    if test.kind == "number":
        word = "a lower" if test.inside < test.outside else "a higher"
        return f"{who}{on} items with {word} {quote_value(test.feature)}"
    shares = f"{100 * test.inside:.0f} % against {100 * test.outside:.0f} %"
    where = "where the label is 1"
    if test.kind == "slice":
        where = f"where {quote_value(test.feature)} is {quote_value(test.level)}"
    more = "more" if test.inside > test.outside else "less"
    return f"{who} {more} often {where} ({shares})"


def _missing_sentence(missing: Missingness) -> str:
    if not missing.n_missing:
        return "No vote is missing on the labelled items."
    if not missing.n_tests:
        return "So few votes are missing that there is nothing to test."
    if not missing.n_related:
        return (
            f"Nothing shows that missing votes are related to label, difficulty or slice "
            f"({missing.n_tests:,} tests, Holm)."
        )
    shown_tests = _one_a_judge([test for test in missing.tests if test.related])
    sentences = [gap_sentence(test) for test in shown_tests[:3]]
    join = "; ".join(text.replace("Votes are", "votes are", 1) for text in sentences)
    return (
        f"Missing votes are not a matter of chance ({missing.n_related:,} of {missing.n_tests:,} "
        f"tests, Holm): {join}."
    )


def _one_a_judge(tests: list[MissingTest]) -> list[MissingTest]:
    """Return the most significant test of every judge, most significant first."""
    first: dict[str, MissingTest] = {}
    for test in tests:
        first.setdefault(test.judge, test)
    return list(first.values())


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
    who = f"{listed(partly, 2)} {'misses' if len(partly) == 1 else 'miss'} 5 % or more"
    return (
        f"{who}; leaving {'it' if len(partly) == 1 else 'them'} out changes "
        f"{spoken(base.aggregator)} by "
        f"{_CHANGE.format(*base.partly)}."
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
        best = spoken(better[0].aggregator)
        parts.append(f"Switch to {best}.")
    if costs:
        parts.append("Leave the partly missing judges out, or have their votes filled in.")
    if missing.n_related:
        parts.append(
            "Find out why these votes are missing: what is learned about such a judge does not "
            "hold for the items it misses."
        )
    return " ".join(parts) or "Nothing to do."


def spoken(aggregator: str) -> str:
    """Return an aggregator's name for use within a sentence."""
    if aggregator == AVERAGE:
        return RECOMMENDED
    return aggregator.replace("_", "-").replace("dawid-skene", "Dawid-Skene")
