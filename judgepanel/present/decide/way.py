"""How the recommended pipelines work, for readers who do not know their names."""

from __future__ import annotations

from typing import get_args

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Graded
from judgepanel.studies.contest.candidates import LEAD
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES


def way_sentence(result: Recommendation) -> str:
    """Explain the recommended pipelines to readers who do not know their names."""
    main = result.model.main
    if main.calibrator == "none":
        then = "its probabilities are used without calibration"
    else:
        then = f"{CALIBRATOR_NAMES[main.calibrator]} makes probabilities of that"
    how = f"{AGGREGATOR_NAMES[main.aggregator]} {_WAYS[main.aggregator]}; {then}."
    if not result.averages:
        return f"How: {how}"
    return (
        "How: the probabilities of the pipelines are averaged, each with the weight that its "
        f"cross-validated NLL gives it; {_favourites(result)} with a prior weight of {LEAD}. "
        f"The heaviest: {how}"
    )


def _favourites(result: Recommendation) -> str:
    if _reads_grades(result):
        return "joint on votes and joint on grades over everyone start together"
    return "joint over everyone starts"


def shared_lead(result: Recommendation) -> str:
    """Return who shares the prior weight of joint over everyone; empty if nobody does."""
    return ", on votes and on grades together" if _reads_grades(result) else ""


def _reads_grades(result: Recommendation) -> bool:
    """Whether pipelines that read grades were among the candidates."""
    return any(row.aggregator in get_args(Graded) for row in result.candidates)


_BY_CHANCE = (
    "so one near chance hardly counts, and one below chance counts for the label that it votes "
    "against"
)
_TOGETHER = (
    "weighs all judges in one regression, so copies share their weight and one that is mostly "
    "wrong counts for the label that it votes against"
)
_BOUNDED = (
    "weighs all judges in one regression, so copies share their weight, and turns no judge's "
    "vote around unless the labels show it to be below chance"
)
_WAYS = {
    "majority": "counts every judge alike",
    "accuracy_weighted": "weighs a judge by its accuracy",
    "log_odds": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "one_coin": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "dawid_skene": "learns how often a judge errs on either label from how judges agree",
    "dawid_skene_semi": "learns how often a judge errs on either label from labels and agreement",
    "stacking": _TOGETHER,
    "joint": _TOGETHER,
    "stacking_monotone": _BOUNDED,
    "joint_monotone": _BOUNDED,
    "one_coin_graded": "weighs a vote by how often the judge is right when its grade is as far "
    f"from the threshold, {_BY_CHANCE}",
    "joint_graded": "weighs all judges, and how far their grades are from the threshold, in one "
    "regression, so copies share their weight and one that is mostly wrong counts for the label "
    "that it votes against",
}
