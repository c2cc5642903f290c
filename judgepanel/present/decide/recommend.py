"""The recommendation in words: what to keep, how sure, what came close, what is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from judgepanel.decision.average import DRAWS
from judgepanel.decision.candidates import EVERYONE, LEAD, OTHERS
from judgepanel.decision.recommend import REFERENCE, RecommendSpec
from judgepanel.decision.recommend_result import AVERAGE, CandidateFigures, Recommendation
from judgepanel.decision.statuses import STATUSES, JudgeStatus
from judgepanel.figures.dots import dots
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.present.blocks import (
    Answer,
    Block,
    Figure,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.decide.absence import absence_table, absence_words
from judgepanel.scoring.interval import Interval
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import repeats_sentence
from judgepanel.words.cells import Column, ends, numbers, text
from judgepanel.words.numbers import counted, fixed, interval, sig, signed, with_interval
from judgepanel.words.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    CODING,
    if_positions_mean_nothing,
    panel_pipelines,
    pipeline_name,
)


@dataclass(frozen=True, slots=True)
class RecommendationView:
    """What is known besides the result: the votes, and the statuses of judges, which may be none.

    Without votes there is no figure of the judges.
    """

    votes: VoteMatrix | None = None
    statuses: tuple[JudgeStatus, ...] = ()


def recommendation_sentence(result: Recommendation) -> str:
    """Which judges, which pipeline, how good; and whether that is better than no judge at all."""
    return if_positions_mean_nothing(result.position, _answer(result))


def _answer(result: Recommendation) -> str:
    size, total = len(result.model.judges), result.n_judges
    who = f"Keep all {total} judges" if size == total else f"Keep {size} of {total} judges"
    if total == 1:
        who = "Keep the one judge"
    pipeline = panel_pipelines(result.model)
    nll, lo, hi = result.nll
    expected = f"expected NLL {sig(nll)} {interval(lo, hi, 3)} on new items"
    coding = "".join(f" {sentence}" for sentence in reservations(result))
    if not beats_null(result):
        return (
            f"No panel is shown to beat the base rate (NLL {fixed(result.null_nll, 3)}). The best "
            f"found: {who[0].lower()}{who[1:]} with {pipeline}; {expected}.{coding}"
        )
    if size < total and not curating_is_safe(result):
        return (
            f"Undecided, leaning to {size} of {total} judges with {pipeline}: not shown to "
            f"be as good as keeping all; {expected}.{coding}"
        )
    return f"{who} with {pipeline}; {expected}.{coding}"


def reservations(result: Recommendation) -> list[str]:
    """What makes the expected NLL say less than it seems to: stands in the answer itself."""
    return [
        *([CODING] if result.measures_coding else []),
        *([repeats_sentence(result.repeats)] if result.repeats.apart else []),
    ]


def curating_is_safe(result: Recommendation) -> bool:
    """Whether the chosen judges are shown to lose at most the margin against all of them, under the
    heaviest pipeline where that is a candidate, else under the reference.
    """
    main = result.members[0]
    for candidate in result.candidates:
        same = (candidate.aggregator, candidate.calibrator) == (main.aggregator, main.calibrator)
        if candidate.panel == EVERYONE and same:
            return candidate.stands in ("keep all", "no loss from keeping", "tie")
    return result.verdict in ("curate", "no loss from curating", "tie")


def explained_by_position(result: Recommendation) -> bool:
    """Whether a constant position does as well on the file as given."""
    return result.position is not None and result.position.explains


def beats_null(result: Recommendation) -> bool:
    """Whether the interval of the expected NLL lies below the base rate's, and below ln 2: a base
    rate learned from few labels may do worse than a coin.
    """
    return bool(result.nll.below(min(result.null_nll, math.log(2.0))))


def certainty_sentence(result: Recommendation) -> str:
    """How the choice compares with the paper's default, and how sure that is."""
    delta, lo, hi = result.delta
    better = f"{signed(delta)} NLL {interval(lo, hi, sign=True)}"
    against = "all judges under one-coin + beta"
    outcome = {
        "keep all": f"{against} is better than choosing this way",
        "curate": f"choosing this way is better than {against}",
        "no loss from keeping": f"{against} loses nothing against choosing this way",
        "no loss from curating": f"choosing this way loses nothing against {against}",
        "undecided": f"whether that beats {against} is undecided",
        "tie": f"it never differed from {against}",
    }[result.verdict]
    return (
        f"Out of sample, {outcome}: {better}. Panels were chosen and fitted on "
        f"{result.n_calibration:,.0f} labels: the choice saw NLL {sig(result.chosen_on)} and got "
        f"{sig(float(result.nll.value))} (optimism {signed(result.optimism)}); the base rate alone "
        f"gives {fixed(result.null_nll, 3)}."
    )


def way_sentence(result: Recommendation) -> str:
    """What the recommended pipelines do with the votes, for who does not know their names."""
    main = result.model.main
    if main.calibrator == "none":
        then = "raw means that its probabilities are taken as they come"
    else:
        then = f"{CALIBRATOR_NAMES[main.calibrator]} makes probabilities of that"
    how = f"{AGGREGATOR_NAMES[main.aggregator]} {_WAYS[main.aggregator]}; {then}."
    if not result.averages:
        return f"How: {how}"
    return (
        "How: the probabilities of the pipelines are averaged, each with the weight that its "
        f"cross-validated NLL gives it; joint over everyone starts with a prior weight of {LEAD}. "
        f"The heaviest: {how}"
    )


def prices_sentence(result: Recommendation) -> str:
    """What following other advice would cost: everyone, or fewer judges, under one pipeline; the
    runner-up has a sentence of its own.
    """
    parts = []
    for who, row in (
        ("everyone", result.best(everyone=True)),
        ("a choice of judges", result.best(everyone=False)),
    ):
        if row is not None and row != result.runner_up and not _same_panel(result, row):
            change = with_interval(*row.behind, sign=True)
            parts.append(f"{who} NLL {sig(float(row.nll.value))} ({candidate_name(row)}), {change}")
    if not parts:
        return ""
    return f"Other advice under its best single pipeline, against this: {'; '.join(parts)}."


_AVERAGED = "average of pipelines"
_BY_CHANCE = "so one near chance hardly counts, and one below chance counts against what it says"
_TOGETHER = (
    "weighs all judges in one regression, so copies share their weight and one that is mostly "
    "wrong counts against what it says"
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
}


def statuses_sentence(statuses: tuple[JudgeStatus, ...]) -> str:
    """What single judges add to the panel of all; empty where it is not known."""
    if not statuses:
        return ""
    given = [judge.status for judge in statuses]
    helps, spare, open_ones = (given.count(status) for status in STATUSES)
    parts = [f"{counted(helps, 'judge')} {'is' if helps == 1 else 'are'} shown to help"]
    if spare:
        parts.append(
            f"{spare} could go (failing a check, worth less than nothing, or able to go together "
            "without a loss that could be seen)"
        )
    if open_ones:
        parts.append(f"for {open_ones} neither is settled")
    sentence = f"Judge by judge, {'; '.join(parts)}."
    if spare:
        sentence += " Leaving out those that could go is safe, not better: it saves their price."
    return sentence


def rival_sentence(result: Recommendation) -> str:
    """The best of all others out of sample, why it is not taken, and what would decide."""
    rival = result.runner_up
    if rival.name == result.chosen.name:
        return ""
    change = with_interval(*rival.behind, sign=True)
    text = f"Runner-up: {candidate_name(rival)}. Its NLL differs by {change}: "
    luck = ""
    if float(rival.behind.value) < 0.0:
        luck = (
            f" It leads the table below, but it is the best of {len(result.candidates)} on these "
            "very items, which the choice did not see: its lead flatters."
        )
    return (
        text
        + {
            "keep all": "it is worse.",
            "curate": "it is better.",
            "no loss from keeping": "the chosen one loses at most 2 % against it.",
            "no loss from curating": "it loses at most 2 % against the chosen one.",
            "undecided": f"undecided; about {result.labels_to_settle:,} labels would settle it if "
            "the difference stays what it is.",
            "tie": "they never differ.",
        }[rival.stands]
        + luck
    )


def preference_sentence(result: Recommendation) -> str:
    """What was preferred, and what that costs in NLL."""
    if result.prefer == "nll":
        return ""
    asked = {
        "single": "One pipeline only: the heaviest of the average.",
        "everyone": "Everyone is kept: only pipelines that use all judges are averaged.",
        "simplest": "The simplest candidate that is tied with the best is taken.",
        "cheapest": "The cheapest candidate that is tied with the best is taken.",
        "fewest": "The candidate with the fewest judges that is tied with the best is taken.",
    }[result.prefer]
    average = result.candidates[-1]
    if result.chosen.panel == AVERAGE or average.name == result.chosen.name:
        return asked
    change = Interval(-average.behind.value, -average.behind.hi, -average.behind.lo)
    price = with_interval(*change, sign=True)
    return f"{asked} Against the average of pipelines that costs {price} NLL."


def _same_panel(result: Recommendation, row: CandidateFigures) -> bool:
    """Whether a candidate is what was chosen, or the only pipeline of the average that was."""
    return row == result.chosen or (not result.averages and row == result.members[0])


def candidate_name(candidate: CandidateFigures) -> str:
    """Its judges and its pipeline, within a sentence."""
    if candidate.panel == AVERAGE:
        return f"the {_AVERAGED}"
    pipeline = pipeline_name(candidate.aggregator, candidate.calibrator)
    if candidate.panel == EVERYONE:
        return f"all {counted(candidate.k, 'judge')} with {pipeline}"
    if candidate.panel.startswith("top"):  # The name has the number.
        return f"{candidate.panel} with {pipeline}"
    return f"{candidate.panel} ({counted(candidate.k, 'judge')}) with {pipeline}"


def candidate_table(result: Recommendation) -> dict[str, Column]:
    """Every candidate, best expected NLL first."""
    rows = sorted(result.candidates, key=lambda row: float(row.nll.value))
    nll = Interval.stacked(row.nll for row in rows)
    delta = Interval.stacked(row.delta for row in rows)
    reference = {
        place: "reference"
        for place, row in enumerate(rows)
        if (row.panel, row.aggregator, row.calibrator) == REFERENCE
    }
    return {
        "panel": text([_AVERAGED if row.panel == AVERAGE else row.panel for row in rows]),
        "judges": numbers([row.k for row in rows], "whole"),
        "aggregator": text(
            ["" if row.panel == AVERAGE else AGGREGATOR_NAMES[row.aggregator] for row in rows]
        ),
        "calibrator": text(
            ["" if row.panel == AVERAGE else CALIBRATOR_NAMES[row.calibrator] for row in rows]
        ),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3, of="nll"),
        "skill": numbers([row.skill for row in rows], "share"),
        "difference": Column(delta.value, "signed", reference, "delta"),
        "difference 95 %": ends(delta, words=reference, sign=True, of="delta"),
        "Brier": numbers([row.brier for row in rows]),
        "accuracy": numbers([row.accuracy for row in rows], "share"),
        "ECE": numbers([row.ece for row in rows]),
        "weight": numbers([row.weight for row in rows], "share", of="weight"),
        "chosen in": numbers([row.chosen_share for row in rows], "share", of="chosen_share"),
    }


def weights_frame(result: Recommendation) -> pd.DataFrame:
    """Judges of the panel in panel order, then those that are not in it.

    ``share`` is the weight of the pipelines that use the judge, ``weight`` what its vote weighs in
    the heaviest of them.
    """
    model = result.model
    remaining = pd.DataFrame(
        {
            "judge": list(model.judges),
            "status": "kept",
            "share": list(model.shares),
            "weight": list(model.main_weights),
            "correct": [str(count) for count in model.correct],
            "voted": [str(count) for count in model.voted],
        }
    )
    others = [(name, "left out") for name in result.left_out]
    others += [(name, "set aside") for name in result.set_aside]
    rest = pd.DataFrame(others, columns=["judge", "status"]).assign(correct="", voted="")
    return pd.concat([remaining, rest], ignore_index=True)


def weights_table(result: Recommendation) -> dict[str, Column]:
    """The same for people."""
    frame = weights_frame(result)
    share = {"in the average": numbers(frame["share"], "share")} if result.averages else {}
    return {
        "judge": text(frame["judge"].tolist()),
        "status": text(frame["status"].tolist()),
        **share,
        "weight": numbers(frame["weight"]),
        "correct": numbers(pd.to_numeric(frame["correct"]), "whole"),
        "voted": numbers(pd.to_numeric(frame["voted"]), "whole"),
    }


def members_table(result: Recommendation) -> dict[str, Column]:
    """Pipelines of the average, heaviest first."""
    rows = result.members
    nll = Interval.stacked(row.nll for row in rows)
    return {
        "weight": numbers([member.weight for member in result.model.members], "share"),
        "judges": numbers([row.k for row in rows], "whole"),
        "panel": text([row.panel for row in rows]),
        "aggregator": text([AGGREGATOR_NAMES[row.aggregator] for row in rows]),
        "calibrator": text([CALIBRATOR_NAMES[row.calibrator] for row in rows]),
        "NLL alone": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
    }


def present(
    result: Recommendation,
    spec: RecommendSpec,
    view: RecommendationView = RecommendationView(),
) -> list[Block]:
    """The verdict; who is in the panel, what it loses without some of them, and all candidates."""
    return [
        Answer(recommendation_sentence(result)),
        *_rivals(result),
        *paragraphs(
            way_sentence(result),
            statuses_sentence(view.statuses),
            preference_sentence(result),
            certainty_sentence(result),
            prices_sentence(result),
            rival_sentence(result),
        ),
        Heading("The panel", 3),
        *([] if view.votes is None else [_judges(result, view.votes)]),
        *_members(result),
        Table(
            weights_table(result),
            "Judges of the panel in panel order, and those left out"
            + ("; weight is that in the heaviest pipeline." if result.averages else "."),
            height=320,
        ),
        *_absences(result),
        Heading("All candidates", 3),
        Paragraph(
            "A candidate's own figures do not allow for having been picked among many; the "
            "expected NLL above does.",
            quiet=True,
        ),
        Table(candidate_table(result), "Candidates, lowest NLL first."),
        _method(result, spec),
    ]


def _rivals(result: Recommendation) -> list[Block]:
    """The recommended panel beside what else could be done; none from a single split."""
    if not math.isfinite(float(result.nll.lo)):
        return []
    return [
        drawing(
            "expected NLL of the recommended panel, of everyone and of fewer judges under their "
            "best pipelines and of the paper's default, with intervals and the base rate",
            rivals_figure,
            result,
        )
    ]


def rivals_figure(result: Recommendation) -> go.Figure:
    """NLL out of sample with intervals, one row per way to go."""
    rows = {"the recommended panel": result.nll}
    for row in (
        result.runner_up,
        result.best(everyone=True),
        result.best(everyone=False),
        result.reference,
    ):
        if row is not None and not _same_panel(result, row):
            rows.setdefault(candidate_name(row), row.nll)
    return dots(list(rows), {"NLL": Interval.stacked(rows.values())}, result.null_nll)


def _members(result: Recommendation) -> list[Block]:
    if not result.averages:
        return []
    return [Table(members_table(result), "Pipelines that are averaged, heaviest first.")]


def _judges(result: Recommendation, votes: VoteMatrix) -> Figure:
    return Figure(
        lambda: kept_judges(judge_table(votes), result.model.judges, result.set_aside),
        "Accuracy of every judge with its interval; kept and left out are told apart.",
    )


def _absences(result: Recommendation) -> list[Block]:
    heading = Heading("When judges are absent", 3)
    if result.absence is None:
        if result.partial or len(result.model.judges) < 2:
            return []
        return [
            heading,
            Paragraph(
                "Not measured on this page: it takes seconds, and a change of preference does not "
                "wait for it. The downloaded panel and report have it.",
                quiet=True,
            ),
        ]
    return [
        heading,
        *paragraphs(*absence_words(result)),
        Table(
            absence_table(result),
            "Rise of the NLL, out of sample, with judges absent and nothing refitted; intervals "
            "are for this panel on very many new items.",
            height=320,
        ),
    ]


def _method(result: Recommendation, spec: RecommendSpec) -> Method:
    return Method(
        f"In each split every candidate is cross-validated on the {result.n_calibration:,.0f} "
        f"calibration items alone ({spec.folds} folds, ranking and calibration inside); they "
        "are averaged, or one is taken, as in the end, and scored on the other "
        f"{result.n_evaluation:,.0f}: that mean is the expected NLL above, selection included. The "
        f"panel in the file repeats the choice on all {result.n_items:,} labelled items. Weights "
        f"of the average: over {DRAWS} Bayesian bootstraps of the items, prior × exp(−summed NLL); "
        f"the prior is {LEAD} for joint over everyone and the rest shared by up to {len(OTHERS)} "
        "other pipelines. The reference is the paper's default: all judges, "
        "one-coin, beta."
    )
