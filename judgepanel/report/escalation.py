"""Whether a cheap panel can answer first, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.cost import amount
from judgepanel.report.numbers import (
    fixed,
    interval,
    listed,
    percent,
    sig,
    signed,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.terminal import one_line
from judgepanel.studies.cost.escalation_result import Escalation, EscalationFigures

_NAMED = 6
_OUTCOMES = {
    "keep all": "that is shown to be worse than asking everybody",
    "curate": "that is shown to be better than asking everybody",
    "no loss from keeping": "asking everybody loses nothing against it",
    "no loss from curating": "at most 2 % is lost",
    "undecided": "whether that loses NLL is undecided",
    "tie": "the same probabilities as asking everybody",
}
_VERDICTS = {
    "keep all": "ask everybody",
    "curate": "escalate",
    "no loss from keeping": "no loss from asking everybody",
    "no loss from curating": "no loss from escalating",
    "undecided": "undecided",
    "tie": "tie",
}


def escalation_sentence(found: Escalation) -> str:
    """What the recommended threshold costs and loses."""
    text = _answer(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: Escalation) -> str:
    if found.n_judges == 1:
        return "There is one judge only, so there is nobody to escalate to."
    if len(found.cheap) == found.n_judges:
        return "The cheap panel is all judges, so there is nothing to escalate to."
    one = found.recommended
    if not math.isfinite(one.nll_lo):
        return "Not enough splits yet to say."
    if min(one.nll_lo, found.full.nll_lo) >= found.null_nll:
        return (
            f"Neither all judges nor escalation beat the base rate (NLL "
            f"{fixed(found.null_nll, 3)}), so there is nothing to save."
        )
    if one.threshold == 1.0:
        return (
            f"Ask all {found.n_judges} judges about every item: no threshold below 1 kept within "
            f"{percent(found.tolerance)} of their NLL on calibration rows in most splits. Choosing "
            f"the threshold there costs {_cost(found, one)} an item and changes NLL by "
            f"{_change(one)}; {_OUTCOMES[one.verdict]}."
        )
    cheap = (
        f"{sig(found.cheap_size, 2)} {'judge' if found.cheap_size == 1.0 else 'judges'} "
        f"({amount(found.cheap_cost, found.unit)})"
    )
    return (
        f"Ask {cheap} first, and all {found.n_judges} ({amount(found.full_cost, found.unit)}) "
        f"where the confidence is below {sig(one.threshold)}: {percent(one.escalated)} of the "
        f"items go to all, an item costs {_cost(found, one)}, and NLL changes by {_change(one)}; "
        f"{_OUTCOMES[one.verdict]}."
    )


def _cost(found: Escalation, one: EscalationFigures) -> str:
    share = one.cost / found.full_cost if found.full_cost > 0.0 else 1.0
    return f"{amount(one.cost, found.unit)} ({percent(share)})"


def _change(one: EscalationFigures) -> str:
    return with_interval(one.delta, one.lo, one.hi, sign=True)


def promise_sentence(found: Escalation) -> str:
    """What the threshold promised where it was chosen, and what it kept; empty without splits."""
    one = found.recommended
    if not math.isfinite(one.nll_lo) or len(found.cheap) == found.n_judges:
        return ""
    return (
        f"The threshold was chosen on calibration rows in every split (mostly "
        f"{sig(found.threshold_lo)} to {sig(found.threshold_hi)}): there it lost "
        f"{signed(one.delta - found.optimism)} NLL against all judges, on new items "
        f"{signed(one.delta)}, an optimism of {signed(found.optimism)}."
    )


def cheap_sentence(found: Escalation) -> str:
    """Who is in the cheap panel, as all labelled items choose it."""
    names = [one_line(name) for name in found.cheap[:_NAMED]]
    if len(found.cheap) > _NAMED:
        names.append(f"{len(found.cheap) - _NAMED} more")
    stable = (
        f" Stability over splits {fixed(found.stability, 2)}."
        if math.isfinite(found.stability)
        else ""
    )
    return f"The cheap panel is {found.cheap_how}: {listed(names)}.{stable}"


def escalation_table(found: Escalation) -> pd.DataFrame:
    """Every threshold, ascending, then the recommended one."""
    rows = (*found.rows, found.recommended)
    last = len(found.rows) - 1
    names = [sig(one.threshold) for one in found.rows]
    names[0], names[last] = "never (0.5)", "always (1)"
    table = {
        "ask all below": [*names, "chosen"],
        "asked": [
            f"{percent(one.escalated)} [{percent(one.escalated_lo)}, {percent(one.escalated_hi)}]"
            for one in rows
        ],
        "cost": [_cost(found, one) for one in rows],
        "accuracy": [
            f"{percent(one.accuracy, 3)} [{percent(one.accuracy_lo, 3)}, "
            f"{percent(one.accuracy_hi, 3)}]"
            for one in rows
        ],
        "NLL": [f"{fixed(one.nll, 3)} {interval(one.nll_lo, one.nll_hi, 3)}" for one in rows],
        "skill": [percent(1.0 - one.nll / found.null_nll) for one in rows],
        "against all judges": [
            "reference" if place == last else _change(one) for place, one in enumerate(rows)
        ],
        "verdict": [
            "reference" if place == last else _VERDICTS[one.verdict]
            for place, one in enumerate(rows)
        ],
        "chosen in": [*(percent(one.chosen_share) for one in found.rows), ""],
    }
    if any(math.isfinite(one.latency) for one in rows):
        table["latency"] = [amount(one.latency, found.latency_unit) for one in rows]
    return pd.DataFrame(table)


def escalation_text(found: Escalation) -> str:
    """The answer, what was promised, every threshold, and the cheap panel."""
    lines = [
        f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, {AGGREGATOR_NAMES[found.aggregator]}, "
        f"{CALIBRATED[found.calibrator]}, orientation {found.orientation}, seed {found.seed}; null "
        f"NLL {found.null_nll:.4f}.",
        escalation_sentence(found),
    ]
    lines += [text for text in (promise_sentence(found),) if text]
    lines.append("\n" + escalation_table(found).to_string(index=False) + "\n")
    lines.append(cheap_sentence(found))
    return "\n".join(lines)
