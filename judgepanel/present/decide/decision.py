"""How what is shown under one pipeline relates to the decision: told once, for pages and report."""

from __future__ import annotations

from collections.abc import Sequence

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.decide.recommend import candidate_name
from judgepanel.words.numbers import percent, sig, with_interval
from judgepanel.words.sentences import AGGREGATOR_NAMES, panel_pipelines, pipeline_name


def pipeline_sentence(
    result: Recommendation, aggregator: str, calibrators: Sequence[str], *, where: str
) -> str:
    """Which pipeline is shown ``where`` (``This page``), and whether it is the recommended one."""
    here = shown_name(aggregator, calibrators)
    if is_recommended(result, aggregator, calibrators):
        return f"{where} shows {here}, {_role(result)}."
    return (
        f"{where} shows {here}. The recommended panel is another: it keeps "
        f"{len(result.model.judges)} of {result.n_judges} judges with "
        f"{panel_pipelines(result.model)}. {other_way_sentence(result)} What is said here of "
        f"keeping or leaving out judges holds under {here}."
    )


def shown_name(aggregator: str, calibrators: Sequence[str]) -> str:
    """``one-coin + beta``; where several calibrators are shown, the aggregator alone."""
    if len(calibrators) == 1:
        return pipeline_name(aggregator, calibrators[0])
    return f"{AGGREGATOR_NAMES[aggregator]} under several calibrators"


def is_recommended(result: Recommendation, aggregator: str, calibrators: Sequence[str]) -> bool:
    """Whether the heaviest recommended pipeline is among those that are shown."""
    main = result.model.main
    return main.aggregator == aggregator and main.calibrator in calibrators


def _role(result: Recommendation) -> str:
    if not result.averages:
        return "the recommended pipeline"
    weight = percent(result.model.members[0].weight)
    return f"the main pipeline of the recommended average ({weight} of the weight)"


def other_way_sentence(result: Recommendation) -> str:
    """What the opposite of the decision gives: fewer judges where all are kept, else everyone."""
    keeps_all = len(result.model.judges) == result.n_judges
    row = result.best(everyone=not keeps_all)
    if row is None:
        return ""
    who = "Fewer judges" if keeps_all else "Everyone"
    change = with_interval(*row.behind, sign=True)
    nll = sig(float(row.nll.value))
    return (
        f"{who} under their best pipeline ({candidate_name(row)}): NLL {nll}, {change} against the "
        "recommended panel."
    )
