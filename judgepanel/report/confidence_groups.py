"""Conformal sets and single items, in words and tables for people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.report.confidence import NOT_YET, level_of, run_words, share_of, share_text
from judgepanel.report.numbers import fixed, listed, percent
from judgepanel.report.sentences import CODING
from judgepanel.report.tables import printed
from judgepanel.report.terminal import one_line
from judgepanel.scoring.conformal import SET_NAMES, SET_WORDS, one_slice
from judgepanel.studies.confidence.conformal_result import Conformal, Grouping
from judgepanel.studies.confidence.items_result import Items, StratumGrouping
from judgepanel.studies.confidence.probabilities import CALIBRATED as AFTER
from judgepanel.studies.confidence.probabilities import RAW as BEFORE

GROUPING_NAMES: dict[str, str] = {
    "class": "label",
    "difficulty": "difficulty",
    "errors": "judges that erred",
    "feature": "item feature",
}
ONE_LABEL = "Only that label is credible at this level."
_SHOWN = 8


def conformal_sentence(found: Conformal, level: int) -> str:
    """Whether plain sets hold the label as often as they promise, and what they look like."""
    if found.n_splits < 2:
        return NOT_YET
    held = share_of(found, "coverage", (0, level, 0))
    meant = percent(found.levels[level])
    kinds = found.kinds[0, level, 0]
    text = (
        f"Sets meant for {meant} hold the true label of {held} of the items: "
        f"{share_text(float(kinds[1] + kinds[2]))} of the sets name one label, "
        f"{share_text(float(kinds[3]))} hold both and {share_text(float(kinds[0]))} none."
    )
    if found.kept(0, level, 0) == "falls short":
        text += " That is less than promised: items are not alike in the two halves, or grouped."
    lo, hi = one_slice(round(found.n_slice), found.levels[level])
    text += (
        " That is the mean over many panels. One panel, whose threshold rests on one held-out "
        f"slice of {found.n_slice:,.0f} labels, covers {percent(lo)} to {percent(hi)} of new items "
        "in 95 of 100 cases, where items are drawn one by one."
    )
    return f"{text} {CODING}" if found.measures_coding else text


def groups_sentence(found: Conformal, level: int, grouping: Grouping) -> str:
    """Where plain sets fall short of their level, and whether sets made within groups mend it."""
    if found.n_splits < 2 or grouping not in found.methods:
        return ""
    within = found.methods.index(grouping)
    rows = [g for g, way in enumerate(found.groupings) if way == grouping]
    short = [g for g in rows if found.kept(0, level, g) == "falls short"]
    by = GROUPING_NAMES[grouping]
    if not short:
        return f"By {by}, plain sets are nowhere shown to fall short of the level."
    names = listed(
        [
            f"{one_line(found.groups[g])} ({share_of(found, 'coverage', (0, level, g))})"
            for g in short
        ]
    )
    left = [g for g in short if found.kept(within, level, g) == "falls short"]
    after = listed([share_of(found, "coverage", (within, level, g)) for g in short])
    mends = "Sets made within each group are no longer shown to fall short there"
    if left:
        mends = "Sets made within each group still fall short there"
    sizes = ", ".join(fixed(float(found.size[m, level, short[0]]), 2) for m in (0, within))
    return (
        f"By {by}, plain sets fall short for {names}. {mends} ({after}); mean size there "
        f"{sizes.replace(', ', ' and then ')}."
    )


def coverage_table(found: Conformal, level: int, grouping: Grouping) -> pd.DataFrame:
    """Coverage, size and kinds of sets by group, plain and made within each group."""
    rows = []
    within = found.methods.index(grouping) if grouping in found.methods else 0
    methods = (0,) if within == 0 else (0, within)
    groups = [0, *(g for g, way in enumerate(found.groupings) if way == grouping and g > 0)]
    for g in groups:
        for m in methods:
            kinds = found.kinds[m, level, g]
            row = {
                "items": one_line(found.groups[g]),
                "how many": f"{found.items[g]:,}",
                "sets": "plain" if m == 0 else "within each group",
                "hold the label": share_of(found, "coverage", (m, level, g)),
                "promised": "yes" if found.promised(m, g) else "no",
                "mean size": level_of(found, "size", (m, level, g)),
                "{}": share_text(float(kinds[0])),
            }
            if found.symmetric:
                row["one label"] = share_text(float(kinds[1] + kinds[2]))
            else:
                row["{0}"] = share_text(float(kinds[1]))
                row["{1}"] = share_text(float(kinds[2]))
            row["{0, 1}"] = share_text(float(kinds[3]))
            row["sets of one label right"] = share_of(found, "one_right", (m, level, g))
            rows.append(row)
    return pd.DataFrame(rows)


def kinds_table(found: Conformal, level: int) -> pd.DataFrame:
    """How often each kind of plain set came, and what it means."""
    kinds = found.kinds[0, level, 0]
    if found.symmetric:
        names = [SET_NAMES[0], "one label", SET_NAMES[3]]
        words = [SET_WORDS[0], ONE_LABEL, SET_WORDS[3]]
        values = [kinds[0], kinds[1] + kinds[2], kinds[3]]
    else:
        names, words, values = list(SET_NAMES), list(SET_WORDS), list(kinds)
    return pd.DataFrame(
        {
            "set": names,
            "share": [share_text(float(value)) for value in values],
            "what it means": words,
        }
    )


def conformal_text(found: Conformal) -> str:
    """Every level and grouping, for a terminal."""
    lines = [run_words(found), f"The slice holds {found.n_slice:.0f} labels."]
    for level in range(len(found.levels)):
        lines += ["", conformal_sentence(found, level), printed(kinds_table(found, level))]
        for grouping in found.methods[1:]:
            lines.append("")
            lines.append(groups_sentence(found, level, grouping))
            lines.append(printed(coverage_table(found, level, grouping)))
    return "\n".join(lines)


def items_sentence(found: Items) -> str:
    """How good the panel is where judges agree and where they do not."""
    if found.n_splits < 2:
        return NOT_YET
    rows = [g for g in found.strata_of("difficulty") if found.strata[g] != "no votes"]
    if len(rows) < 2:
        return "The votes are too alike to tell easy items from hard ones."
    parts = [
        f"Where {_stratum(found.strata[g])} it is right {share_of(found, 'accuracy', (AFTER, g))}"
        f" and says {share_text(float(found.confidence[AFTER, g]))}{_verdict(found, g)}"
        for g in (rows[0], rows[-1])
    ]
    text = f"{parts[0]}; {parts[1][0].lower()}{parts[1][1:]}."
    easy, hard = (float(found.nll_by[AFTER, g]) for g in (rows[0], rows[-1]))
    if easy > hard:
        text += " So agreement is no sign of safety here: what judges agree on is predicted worse."
    return f"{text} {CODING}" if found.measures_coding else text


def _verdict(found: Items, g: int) -> str:
    """Whether what it says in a stratum is outside the interval of what is right."""
    stated = found.confidence[AFTER, g]
    if stated > found.accuracy_hi[AFTER, g]:
        return " (too sure)"
    return " (too timid)" if stated < found.accuracy_lo[AFTER, g] else ""


def _stratum(name: str) -> str:
    """A tercile's name within a sentence."""
    return {"judges agree": "judges agree most", "judges disagree": "judges disagree most"}.get(
        name, f"agreement is {name}"
    )


def strata_table(found: Items, grouping: StratumGrouping) -> pd.DataFrame:
    """Accuracy, NLL and ECE by stratum, before and after."""
    rows = []
    for g in found.strata_of(grouping):
        row = {
            "items": one_line(found.strata[g]),
            "how many": f"{found.stratum_items[g]:,}",
            "right": share_of(found, "accuracy", (AFTER, g)),
            "says on average": share_text(float(found.confidence[AFTER, g])),
            "NLL (stratum)": level_of(found, "nll_by", (AFTER, g)),
            "base rate": fixed(float(found.null_by[g]), 3),
            "NLL before (stratum)": level_of(found, "nll_by", (BEFORE, g)),
            "ECE": level_of(found, "ece", (AFTER, g), 2),
            "ECE by chance": fixed(float(found.ece_null[AFTER, g]), 3),
            "ECE before": fixed(float(found.ece[BEFORE, g]), 3),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def item_table(found: Items, rows: NDArray[np.int64]) -> pd.DataFrame:
    """These items, one row each, with their features."""
    columns: dict[str, object] = {
        "item": [one_line(found.item_ids[i]) for i in rows],
        "label": found.labels[rows],
        "p(label 1)": found.p[rows],
        "p from": found.p_lo[rows],
        "p to": found.p_hi[rows],
        "surprise (NLL)": found.nll[rows],
        "votes for 1": found.for_1[rows],
        "votes for 0": found.for_0[rows],
        "votes against label": found.wrong[rows],
        "disagreement": found.disagreement[rows],
        "held out": found.times[rows],
    }
    for name, values in zip(found.features, found.feature_values, strict=True):
        columns[f"feature: {one_line(name)}"] = [one_line(values[i]) for i in rows]
    return pd.DataFrame(columns)


def items_text(found: Items) -> str:
    """Strata, worst misses and most contested items, for a terminal."""
    lines = [run_words(found), "", items_sentence(found)]
    for grouping in dict.fromkeys(found.groupings):
        note = " (describes only: the label is in it)" if grouping == "errors" else ""
        lines += [
            "",
            f"By {GROUPING_NAMES[grouping]}{note}",
            printed(strata_table(found, grouping)),
        ]
    for title, rows in (
        ("Worst misses", found.worst(_SHOWN)),
        ("Most contested", found.contested(_SHOWN)),
    ):
        lines += ["", title, printed(item_table(found, rows))]
    return "\n".join(lines)
