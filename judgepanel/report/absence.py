"""What a panel loses when judges are absent, in words and as a table."""

from __future__ import annotations

import pandas as pd

from judgepanel.decision.absence_figures import AbsenceFigures
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.report.numbers import counted, fixed, percent, with_interval
from judgepanel.report.text import plain
from judgepanel.votes.errors import shown

_WIDTH = 120


def absence_words(found: Recommendation) -> tuple[str, ...]:
    """The worst absence that was measured, and what the fallback is for; nothing if none was."""
    if found.absence is None:
        return ()
    name, worst = max(_absences(found), key=lambda row: row[1].delta)
    nll, base = found.nll + worst.delta, found.null_nll
    against = "worse than" if nll > base else "against"
    sentences = [
        f"The worst absence that was measured is {name}: the NLL changes by "
        f"{with_interval(worst.delta, worst.lo, worst.hi, sign=True)}, to about {fixed(nll, 3)}, "
        f"{against} {fixed(base, 3)} of the base rate alone."
    ]
    rule = found.absence.fallback
    if rule is not None:
        without = fixed(_without(found, worst), 3)
        sentences.append(
            f"An item on which judges with more than {percent(rule.beyond)} of the weight did not "
            "vote is scored by the panel's fallback: one-coin with a temperature for the judges "
            f"that are there. Without it that absence would leave {without}."
        )
    return tuple(sentences)


def absence_table(found: Recommendation) -> pd.DataFrame:
    """One row an absence: groups, then numbers at random, then single judges, the worst first."""
    rows = [
        {
            "absent": name,
            "judges absent": figures.n_absent,
            "NLL": found.nll + figures.delta,
            "rise": figures.delta,
            "rise from": figures.lo,
            "rise to": figures.hi,
            "NLL without the fallback": _without(found, figures),
            "worse than the base rate": _against_base(found, figures),
        }
        for name, figures in _absences(found)
    ]
    return pd.DataFrame(rows)


def _absences(found: Recommendation) -> list[tuple[str, AbsenceFigures]]:
    measured = found.absence
    if measured is None:
        return []
    groups = [(f"{one.kind} {shown(one.name)}", one.figures) for one in measured.groups]
    several = [(f"{counted(one.n_absent, 'judge')} at random", one) for one in measured.several]
    single = [
        (plain(name, _WIDTH), one)
        for name, one in zip(measured.judges, measured.single, strict=True)
    ]
    parts = (sorted(part, key=lambda row: -row[1].delta) for part in (groups, several, single))
    return [row for part in parts for row in part]


def _without(found: Recommendation, figures: AbsenceFigures) -> float:
    """The NLL under an absence, had the panel no fallback."""
    return found.nll + figures.delta + figures.main_nll - figures.nll


def _against_base(found: Recommendation, figures: AbsenceFigures) -> str:
    if found.nll + figures.delta > found.null_nll:
        return "yes"
    return "may be" if found.nll + figures.hi > found.null_nll else "no"
