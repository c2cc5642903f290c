"""The decision in words, and the relation of other pipelines to it."""

from __future__ import annotations

from typing import Any

from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.present.decide.candidate_rows import candidate_name
from judgepanel.present.decide.recommend import advice_sentence, recommendation_sentence
from judgepanel.present.pipeline import Pipeline
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.words.numbers import level, percent, sig, with_interval
from judgepanel.words.sentences import AGGREGATOR_NAMES, pipeline_name, so_far, splits_so_far


def decision_sentence(result: Recommendation) -> str:
    """Return the recommendation and its expected NLL."""
    splits = splits_so_far(result)
    name = f"Recommended panel after {splits}" if splits else "Recommended panel"
    return f"{name}: {recommendation_sentence(result)}"


def pipeline_sentence(
    result: Recommendation, aggregator: str, calibrator: str, *, advice: bool = True
) -> str:
    """Name the pipeline that a page shows, and say whether it is the recommended one.

    ``advice`` adds the recommendation, for pages that do not state it elsewhere.
    """
    here = pipeline_name(aggregator, calibrator)
    if aggregator == AVERAGE:
        role, rest = "the recommended panel", ""
        recommended = f"{so_far(result)}{recommendation_sentence(result)}"
    elif is_recommended(result, aggregator, calibrator):
        role, rest = f"{here}, {_role(result)}", ""
        recommended = f"{so_far(result) or 'Recommended: '}{advice_sentence(result)}"
    else:
        role = f"{here}, which is not the recommended pipeline"
        rest = f"Its advice to keep or leave out judges holds under {here}."
        recommended = decision_sentence(result)
    parts = (f"This page shows {role}.", recommended if advice else "", rest)
    return " ".join(part for part in parts if part)


def other_pipeline(spec: Any, pipeline: Pipeline, single: str = "", apart: str = "") -> str:
    """Name a study's pipeline if it differs from this one; else nothing.

    The recommended average does not count as another pipeline. ``single`` is why a study cannot
    show the average where it is recommended; ``apart`` follows the name of another pipeline.
    """
    aggregator = getattr(spec, "aggregator", None)
    calibrator = getattr(spec, "calibrator", None)
    calibrators = getattr(spec, "calibrators", None if calibrator is None else (calibrator,))
    if aggregator in (None, AVERAGE) or calibrators is None:
        return ""
    name = f"{AGGREGATOR_NAMES[aggregator]} under several calibrators"
    if len(calibrators) == 1:
        name = pipeline_name(aggregator, calibrators[0])
    averages = pipeline.recommended and not pipeline.alone
    why = f", since {single}" if single and averages else ""
    if aggregator != pipeline.aggregator or pipeline.calibrator not in calibrators:
        return f"{name}{apart}{why}"
    return f"{name}, of the recommended panel's main pipeline{why}" if why else ""


def is_recommended(result: Recommendation, aggregator: str, calibrator: str) -> bool:
    """Whether this is the heaviest recommended pipeline."""
    main = result.model.main
    return (main.aggregator, main.calibrator) == (aggregator, calibrator)


def _role(result: Recommendation) -> str:
    """Relate the heaviest pipeline to the recommended panel, with its difference in NLL."""
    if not result.averages:
        return "the recommended pipeline"
    size, n = len(result.model.main.judges), result.n_judges
    on = "" if size == n else f", on {size} of {n} judges"
    weight = percent(result.model.members[0].weight)
    alone = with_interval(*result.members[0].behind, sign=True)
    return (
        f"the main pipeline of the recommended average ({weight} of the weight{on}): alone, its "
        f"NLL differs by {alone}"
    )


def other_way_sentence(result: Recommendation) -> str:
    """Describe the alternative: fewer judges if all are kept, else all judges."""
    row = result.best(everyone=not result.keeps_all)
    if row is None:
        return ""
    who = "Fewer judges" if result.keeps_all else "Everyone"
    return f"{who} under their best pipeline: {against_sentence(row)}"


def main_pipeline(result: Recommendation) -> str:
    """Return the name of the heaviest recommended pipeline."""
    return pipeline_name(result.model.main.aggregator, result.model.main.calibrator)


def panels_sentence(result: Recommendation) -> str:
    """Compare all judges with the best fewer under the main pipeline; empty without both."""
    main = result.model.main
    rows = result.panels(main.aggregator, main.calibrator)
    everyone = [row for row in rows if row.k == result.n_judges]
    fewer = [row for row in rows if row.k < result.n_judges]
    if not everyone or not fewer:
        return ""
    best = min(fewer, key=lambda row: float(row.nll.value))
    return (
        f"Under {main_pipeline(result)}, all {result.n_judges} judges "
        f"have NLL {level(*everyone[0].nll)} and {best.panel} {level(*best.nll)}."
    )


def against_sentence(row: CandidateFigures) -> str:
    """Return a candidate's NLL, and its difference from the recommended panel."""
    change = with_interval(*row.behind, sign=True)
    nll = sig(float(row.nll.value))
    return f"{candidate_name(row)}, NLL {nll}, {change} against the recommended panel."
