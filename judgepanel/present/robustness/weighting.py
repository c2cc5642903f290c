"""Whether some comparisons should count for more than others."""

from __future__ import annotations

import pandas as pd

from judgepanel.figures.robustness.weighting import weighting
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing, paragraphs
from judgepanel.studies.robustness.reliability_weighting import ReliabilityWeightingSpec
from judgepanel.studies.robustness.signals import AGREEMENT, COVERAGE, RANDOM
from judgepanel.studies.robustness.weighting_result import ReliabilityWeighting
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import counted, fixed, interval, p_cell, sig, with_interval
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

_SIGNAL_NAMES = {
    (AGREEMENT, "high"): "items judges agree on",
    (AGREEMENT, "low"): "items judges disagree on",
    (COVERAGE, "high"): "items with many votes",
    (COVERAGE, "low"): "items with few votes",
    (RANDOM, "high"): "random items (a placebo)",
}


def signal_name(result: ReliabilityWeighting, i: int) -> str:
    """Which comparisons a signal lets count for more; features are the user's text."""
    name, favours = result.signals[i], result.favours[i]
    if result.features[i]:
        return f"{favours} {one_line(name)}"
    return _SIGNAL_NAMES[name, favours]


def weighting_sentence(result: ReliabilityWeighting) -> str:
    """What weighting comparisons does to the NLL."""
    n = len(result.signals)
    same = result.absolute.count("equivalent")
    base = f"{fixed(result.base_nll, 3)} {interval(result.base_lo, result.base_hi, 3)}"
    text = (
        f"{same} of {counted(n, 'weighting')} of the comparisons {'is' if same == 1 else 'are'} "
        f"shown to make no difference (below {result.margin:g} NLL; unweighted {base}, base rate "
        f"{fixed(result.null_nll, 3)})."
    )
    helps = [i for i in range(n) if result.band_hi[i] < 0]
    hurts = [i for i in range(n) if result.band_lo[i] > 0]
    for word, places in (("lowers", helps), ("raises", hurts)):
        if places:
            best = max(places, key=lambda i: abs(float(result.delta[i])))
            near, far = sorted(abs(float(end[best])) for end in (result.band_lo, result.band_hi))
            size = with_interval(abs(float(result.delta[best])), near, far)
            text += f" To let {signal_name(result, best)} count for more {word} it by {size}"
            text += f", the largest of {len(places)} such effects." if len(places) > 1 else "."
    if not helps and not hurts:
        text += " None is shown to change it at all."
    return f"{text} {CODING}" if result.measures_coding else text


def weighting_table(result: ReliabilityWeighting) -> pd.DataFrame:
    """One row per signal: effect, both equivalence tests and the plain paired one."""
    rows = range(len(result.signals))
    return pd.DataFrame(
        {
            "what counts for more": [signal_name(result, i) for i in rows],
            "NLL": result.nll,
            "difference": [
                with_interval(
                    float(result.delta[i]), float(result.lo[i]), float(result.hi[i]), sign=True
                )
                for i in rows
            ],
            "all rows together": [
                interval(float(result.band_lo[i]), float(result.band_hi[i]), sign=True)
                for i in rows
            ],
            "p of no effect": [p_cell(value) for value in result.p],
            f"within {result.margin:g}": list(result.absolute),
            "TOST p": [p_cell(value) for value in result.p_absolute],
            f"within {sig(result.relative_margin, 2)}": list(result.relative),
            "its TOST p": [p_cell(value) for value in result.p_relative],
            "paired TOST p, panels as given": [p_cell(value) for value in result.p_plain],
            "base rate": result.null_nll,
        }
    )


def present(result: ReliabilityWeighting, spec: ReliabilityWeightingSpec) -> list[Block]:
    """The change of the NLL by each weighting of the comparisons."""
    names = tuple(signal_name(result, i) for i in range(len(result.signals)))
    missing = ""
    if not any(result.features):
        missing = "The votes bring no numeric item features: only what votes say is tried."
    return [
        Answer(weighting_sentence(result)),
        *paragraphs(missing),
        drawing(weighting(result, names), "change of the NLL by each weighting of the comparisons"),
        Paragraph(
            f"The grey band is the paper's margin of no effect, {result.margin:g} either way; a "
            f"margin of 1 % would be {sig(result.relative_margin, 2)}.",
            quiet=True,
        ),
        Table(as_columns(weighting_table(result))),
        Method(
            "Each calibration item counts from 0 to 2 times, by the rank of the signal, in the "
            "counts that weigh judges and in the fit of the calibrator; evaluation items count "
            "alike. 'Equivalent' needs a test of its own: two one-sided t-tests at 5 %, the same "
            "as a 90 % interval inside the margin, on our variance, which knows that panels are "
            "refitted. The last p takes the fitted panels as given and is for comparison only. The "
            "paper finds all such effects equivalent to none on preference data; items judges "
            "disagree on can matter more here, since they tell good judges from bad ones and a sum "
            "of votes that err together is too sure of the others."
        ),
    ]
