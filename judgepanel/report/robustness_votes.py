"""Damaged votes and independent juries, in words and tables for people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.report.numbers import (
    capital,
    fixed,
    interval,
    level,
    percent,
    sig,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.tables import printed
from judgepanel.studies.robustness.corruption_result import Corruption
from judgepanel.studies.robustness.jury_result import Jury
from judgepanel.studies.robustness.vote_damage import ABSENT, CLEAN

Floats = NDArray[np.float64]

_TINY = 1e-4

SCENARIO_NAMES = {
    "random_evaluation": "votes at random, when scoring",
    "random_both": "votes at random, all along",
    "concentrated_evaluation": "votes of some judges, when scoring",
    "concentrated_both": "votes of some judges, all along",
    ABSENT: "judges absent when scoring",
}
_DONE = {
    "random_evaluation": "of the votes flipped at scoring time",
    "random_both": "of the votes flipped, also where panels are fitted",
    "concentrated_evaluation": "of the votes flipped at scoring time, all by {share} of the judges",
    "concentrated_both": "of the votes flipped by {share} of the judges, also where panels are "
    "fitted",
    ABSENT: "of the judges absent at scoring time",
}


def hit_words(scenario: str) -> str:
    """What a level of a scenario is the share of."""
    return "judges that are absent" if scenario == ABSENT else "votes that are flipped"


def corruption_sentence(found: Corruption, scenario: str, panel: int = 0) -> str:
    """What the worst damage of a scenario costs all judges and one panel."""
    place = int(found.of(scenario)[-1])
    done = _DONE[scenario].format(share=percent(found.concentrated))
    start = f"With {percent(float(found.levels[place]))} {done}, {found.arms[-1]} go"
    text = f"{start} from NLL {_nll(found, -1, 0)} to {_level(found, -1, place)}"
    null = f"base rate {fixed(found.null_nll, 3)}"
    if len(found.panels) == 1:
        text = f"{text} ({null})."
    else:
        arm = found.arms[panel]
        text += f", {arm} from {_nll(found, panel, 0)} to {_level(found, panel, place)} ({null})."
        text += f" {_slower(found, panel, place)}"
    return f"{text} {CODING}" if found.measures_coding else text


def _slower(found: Corruption, panel: int, place: int) -> str:
    gap, lo, hi = (float(part[panel, place]) for part in (found.gap, found.gap_lo, found.gap_hi))
    arm, everyone = found.arms[panel], found.arms[-1]
    said = found.slower(panel, place)
    if said == "all judges":
        return f"{capital(arm)} loses {with_interval(gap, lo, hi)} more than {everyone}."
    if said == "the top k":
        return f"{capital(everyone)} lose {with_interval(-gap, -hi, -lo)} more than {arm}."
    between = with_interval(gap, lo, hi, sign=True)
    return f"Who loses more is not shown ({arm} - {everyone}: {between})."


def degrades_sentence(found: Corruption, panel: int = 0) -> str:
    """In how many conditions all judges degrade slower than a panel; empty without one."""
    if len(found.panels) == 1:
        return ""
    places = [i for i, name in enumerate(found.scenarios) if name != CLEAN]
    said = [found.slower(panel, place) for place in places]
    arm, everyone = found.arms[panel], found.arms[-1]
    ahead = sum(bool(found.delta[panel, i] > 0) for i in places)
    return (
        f"Of {len(places)} conditions, {everyone} degrade slower than {arm} in "
        f"{said.count('all judges')}, faster in {said.count('the top k')}, and "
        f"{said.count('not told apart')} are not told apart. Whoever starts better has more to "
        f"lose: the NLL of {everyone} is the lower one in {ahead} of them."
    )


def corruption_table(found: Corruption, scenario: str) -> pd.DataFrame:
    """All judges and every panel at every level of a scenario."""
    places = found.of(scenario)
    columns: dict[str, object] = {
        "damage": [f"{100.0 * found.levels[i]:g} %" for i in places],
        "votes changed": [percent(float(found.changed[i])) for i in places],
    }
    drop, drop_lo, drop_hi = (100.0 * part for part in (found.drop, found.drop_lo, found.drop_hi))
    order = [len(found.panels) - 1, *range(len(found.panels) - 1)]
    for p in order:
        columns[f"NLL, {found.arms[p]}"] = [_level(found, p, i) for i in places]
        columns[f"rise, {found.arms[p]}"] = [
            _difference(found.rise, found.rise_lo, found.rise_hi, p, i) for i in places
        ]
        columns[f"accuracy, {found.arms[p]}"] = [_accuracy(found, p, i) for i in places]
        columns[f"points of it lost, {found.arms[p]}"] = [
            _difference(drop, drop_lo, drop_hi, p, i) for i in places
        ]
    for p in order[1:]:
        columns[f"{found.arms[p]} loses more"] = [
            _difference(found.gap, found.gap_lo, found.gap_hi, p, i) for i in places
        ]
        columns[f"slower than {found.arms[p]}"] = [
            "" if found.scenarios[i] == CLEAN else found.slower(p, i) for i in places
        ]
        columns[f"{found.arms[p]} - {found.arms[-1]}"] = [
            _difference(found.delta, found.delta_lo, found.delta_hi, p, i) for i in places
        ]
    columns["base rate"] = found.null_nll
    return pd.DataFrame(columns)


def corruption_text(found: Corruption) -> str:
    """Every scenario's answer and table, for a terminal."""
    lines = [
        f"{found.n_splits} splits, {found.n_evaluation:.0f} items evaluate, "
        f"{AGGREGATOR_NAMES[found.aggregator]} with {CALIBRATED[found.calibrator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}."
    ]
    for p in range(len(found.panels) - 1):
        lines.append(degrades_sentence(found, p))
    for scenario in dict.fromkeys(found.scenarios[1:]):
        lines.append(f"\n{SCENARIO_NAMES[scenario]}: {corruption_sentence(found, scenario)}")
        lines.append(printed(corruption_table(found, scenario)))
    return "\n".join(lines)


def _nll(found: Corruption, p: int, i: int) -> str:
    return fixed(float(found.nll[p, i]), 3)


def _level(found: Corruption, p: int, i: int) -> str:
    lo, hi = float(found.nll_lo[p, i]), float(found.nll_hi[p, i])
    return level(float(found.nll[p, i]), lo, hi)


def _accuracy(found: Corruption, p: int, i: int) -> str:
    lo, hi = (percent(float(end[p, i]), 3) for end in (found.accuracy_lo, found.accuracy_hi))
    return f"{percent(float(found.accuracy[p, i]), 3)} [{lo}, {hi}]"


def _difference(value: Floats, lo: Floats, hi: Floats, p: int, i: int) -> str:
    if value[p, i] == lo[p, i] == hi[p, i] == 0.0:
        return ""
    return with_interval(float(value[p, i]), float(lo[p, i]), float(hi[p, i]), sign=True)


def jury_sentence(found: Jury) -> str:
    """What dependence costs the majority of all judges, and what they are worth."""
    if found.n_judges == 1:
        return "There is one judge only: no jury to compare with."
    error = _share(found.majority, found.majority_lo, found.majority_hi, -1)
    alone = _share(found.independent, found.independent_lo, found.independent_hi, -1)
    text = (
        f"A majority of all {found.n_judges:,} errs on {error} of new items; independent judges "
        f"of the same accuracies would on {alone}."
    )
    if found.gap_lo[-1] > 0:
        gap = _share(found.gap, found.gap_lo, found.gap_hi, -1)
        text += f" Dependence costs {gap} of the items."
    else:
        text += " No cost of dependence is shown."
    text += _worth(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _worth(found: Jury) -> str:
    n, lo, hi = (
        float(part[-1]) for part in (found.effective, found.effective_lo, found.effective_hi)
    )
    if not np.isfinite(n):
        return ""
    ends = f" {interval(lo, hi, 2)}" if np.isfinite(lo) and np.isfinite(hi) else ""
    return f" By its majority the panel is worth {sig(n, 2)}{ends} independent judges."


def bound_sentence(found: Jury) -> str:
    """What the paper's bound promises and what weighted votes do."""
    bound = float(found.jury_bound[-1])
    said = f"at most {percent(bound)}" if bound >= _TINY else "under 0.01 %"
    error = _share(found.one_coin, found.one_coin_lo, found.one_coin_hi, -1)
    text = (
        f"The jury bound lets the best weighting of {found.n_judges:,} independent judges err on "
        f"{said}; the one-coin vote errs on {error}."
    )
    if float(found.one_coin_lo[-1]) > bound:
        text += " The bound is right about independent judges, and these are not."
    return text


def jury_table(found: Jury) -> pd.DataFrame:
    """Errors, bounds and worth by panel size."""
    rows = range(len(found.k))
    return pd.DataFrame(
        {
            "judges": found.k,
            "right votes (half where none)": [percent(float(share), 3) for share in found.accuracy],
            "majority errs": [
                _share(found.majority, found.majority_lo, found.majority_hi, i) for i in rows
            ],
            "one-coin errs": [
                _share(found.one_coin, found.one_coin_lo, found.one_coin_hi, i) for i in rows
            ],
            "independent judges would": [
                _share(found.independent, found.independent_lo, found.independent_hi, i)
                for i in rows
            ],
            "dependence costs": [
                _share(found.gap, found.gap_lo, found.gap_hi, i) if found.k[i] > 1 else ""
                for i in rows
            ],
            "worth": [
                f"{sig(float(n), 2)} {interval(float(lo), float(hi), 2)}"
                for n, lo, hi in zip(
                    found.effective, found.effective_lo, found.effective_hi, strict=True
                )
            ],
            "jury bound": [percent(float(part)) for part in found.jury_bound],
            "Hoeffding, weighted": [percent(float(part)) for part in found.hoeffding_weighted],
            "Hoeffding, majority": [percent(float(part)) for part in found.hoeffding_majority],
            "sum of C_k": found.jury_exponent,
            "E, weighted": found.weighted_exponent,
            "E, majority": found.majority_exponent,
            "no votes": percent(found.null_error),
        }
    )


def jury_text(found: Jury) -> str:
    """The answer and the table, for a terminal."""
    head = (
        f"{found.n_splits} splits, {found.n_evaluation:.0f} items evaluate, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}."
    )
    table = printed(jury_table(found))
    return "\n".join([head, jury_sentence(found), bound_sentence(found), table])


def _share(value: Floats, lo: Floats, hi: Floats, i: int) -> str:
    """A share of the items in per cent, with its interval."""
    if float(value[i]) >= 0.0 and float(hi[i]) < _TINY:
        return "under 0.01 %"
    share, least, most = (100.0 * float(part[i]) for part in (value, lo, hi))
    ends = with_interval(share, least, most)
    number, _, rest = ends.partition(" ")
    return f"{number} % {rest}" if rest else f"{number} %"
