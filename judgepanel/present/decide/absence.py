"""Losses of a panel when judges are absent, in words and as a table."""

from __future__ import annotations

from judgepanel.decision.absence import GroupAbsence
from judgepanel.decision.absence_figures import AbsenceFigures
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.scoring.interval import Interval
from judgepanel.votes.errors import quote_value
from judgepanel.words.numbers import counted, fixed, percent, with_interval
from judgepanel.words.tables import Column, numbers, text
from judgepanel.words.text import plain

_WIDTH = 120


def absence_words(result: Recommendation) -> tuple[str, ...]:
    """Describe the worst measured absence and the fallback's purpose; empty if not measured."""
    if result.absence is None:
        return ()
    name, worst = worst_absence(result)
    nll, base = _level(result, worst), result.null_nll
    against = "worse than" if nll > base else "against"
    group = " of a group" if result.absence.groups else ""
    sentences = [
        f"The worst absence{group} that was measured is {_named(result, name)}: the NLL changes by "
        f"{with_interval(*worst.delta, sign=True)}, to about {fixed(nll, 3)}, "
        f"{against} {fixed(base, 3)} of the base rate alone."
    ]
    if any(row.kind == "cluster" for row in result.absence.groups):
        sentences.append(
            "A cluster is a group of judges that err together on these items; on other items it "
            "may have other members. Judges shows how stable each cluster is."
        )
    rule = result.absence.fallback
    if rule is not None:
        without = fixed(_without(result, worst), 3)
        sentences.append(
            f"An item on which judges with more than {percent(rule.beyond)} of the weight did not "
            "vote is scored by the panel's fallback: one-coin with a temperature for the judges "
            f"that are there. Without it that absence would leave {without}."
        )
    return tuple(sentences)


def absent_sentence(result: Recommendation) -> str:
    """Return the worst absence's effect on the panel as an answer; empty if none was measured."""
    if result.absence is None:
        return ""
    name, worst = worst_absence(result)
    return (
        f"Absent judges break it: without {_named(result, name)} NLL changes by "
        f"{with_interval(*worst.delta, sign=True)}, to {fixed(_level(result, worst), 3)} "
        f"(base rate {fixed(result.null_nll, 3)})."
    )


def worst_absence(result: Recommendation) -> tuple[str, AbsenceFigures]:
    """Return the absence of a group that raises the NLL most, and its name.

    Where no groups are known, it is that of single judges or of judges at random.
    """
    rows = _absences(result)
    n_groups = 0 if result.absence is None else len(result.absence.groups)
    return max(rows[:n_groups] or rows, key=lambda row: float(row[1].delta.value))


def _named(result: Recommendation, name: str) -> str:
    """Name an absence within a sentence; a cluster, which has only a number, by a judge."""
    for row in () if result.absence is None else result.absence.groups:
        if row.kind == "cluster" and name == _group_name(row):
            judge = quote_value(result.model.judges[row.judges[0]])
            return f"{name} ({judge} and {len(row.judges) - 1} more)"
    return name


def absence_table(result: Recommendation) -> dict[str, Column]:
    """Return one row per absence: groups, random numbers, then single judges, the worst first."""
    rows = [figures for _, figures in _absences(result)]
    rise = Interval.stacked(row.delta for row in rows)
    return {
        "absent": text([name for name, _ in _absences(result)]),
        "judges absent": numbers([row.n_absent for row in rows], "whole"),
        "NLL": numbers([_level(result, row) for row in rows]),
        "rise": numbers(rise.value),
        "rise from": numbers(rise.lo),
        "rise to": numbers(rise.hi),
        "NLL without the fallback": numbers([_without(result, row) for row in rows]),
        "worse than the base rate": text([_against_base(result, row) for row in rows]),
    }


def _absences(result: Recommendation) -> list[tuple[str, AbsenceFigures]]:
    measured = result.absence
    if measured is None:
        return []
    groups = [(_group_name(row), row.figures) for row in measured.groups]
    several = [(f"{counted(row.n_absent, 'judge')} at random", row) for row in measured.several]
    single = [
        (plain(name, _WIDTH), figures)
        for name, figures in zip(measured.judges, measured.single, strict=True)
    ]
    parts = (
        sorted(part, key=lambda row: -float(row[1].delta.value))
        for part in (groups, several, single)
    )
    return [row for part in parts for row in part]


def _group_name(row: GroupAbsence) -> str:
    return f"{row.kind} {quote_value(row.name)}"


def _level(result: Recommendation, figures: AbsenceFigures) -> float:
    return float(result.nll.value + figures.delta.value)


def _without(result: Recommendation, figures: AbsenceFigures) -> float:
    """Return the NLL under an absence without the fallback."""
    return _level(result, figures) + figures.main_nll - figures.nll


def _against_base(result: Recommendation, figures: AbsenceFigures) -> str:
    if _level(result, figures) > result.null_nll:
        return "yes"
    return "may be" if result.nll.value + figures.delta.hi > result.null_nll else "no"
