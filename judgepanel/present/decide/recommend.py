"""Presentation of the recommendation: judges, certainty, rivals, preference.

The decision in words, and the relation of other pipelines to it.
"""

from __future__ import annotations

import math
from typing import Any

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.decision.statuses import STATUSES, JudgeStatus
from judgepanel.figures.judges import kept_judges
from judgepanel.present import blocks, study
from judgepanel.present.decide import candidate_rows
from judgepanel.present.decide.cards import cards_block, ways_table
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.value import VALUE
from judgepanel.studies.panel.curator import prices_of
from judgepanel.studies.panel.recommended import ALL_JUDGES, AVERAGE, DRAWS, FEW_MEMBER, LEAD
from judgepanel.studies.understand.judge_table import judge_table
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import repeats_sentence
from judgepanel.words import sentences
from judgepanel.words import text as txt

WAYS_TITLE = "Other ways to choose"
_FEW = sentences.pipeline_name(*FEW_MEMBER)


def recommendation_sentence(result: Recommendation) -> str:
    """Name judges, pipeline and NLL, and say whether that beats the base rate.

    What has to be answered first comes first: repeated items, and votes that may be reversed.
    """
    answer = sentences.if_positions_mean_nothing(result.position, _answer(result))
    first = open_questions(result)
    return f"No decision yet. {' '.join(first)} Until then: {answer}" if first else answer


def open_questions(result: Recommendation) -> list[str]:
    """Return what is wrong with the votes themselves, with its remedy; empty if nothing is."""
    repeats = repeats_sentence(result.repeats) if result.repeats.apart else ""
    return [text for text in (result.reversed_votes, repeats) if text]


def is_doubtful(result: Recommendation) -> bool:
    """Whether something has to be known before the decision: the page begins with it."""
    return bool(
        result.instead_of is not None
        or not beats_null(result)
        or reservations(result)
        or open_questions(result)
        or explained_by_position(result)
    )


def _answer(result: Recommendation) -> str:
    if result.instead_of is not None:
        return " ".join([instead_sentence(result), *reservations(result)])
    size, total, who = len(result.model.judges), result.n_judges, f"keep {_kept(result)}"
    pipeline = sentences.panel_pipelines(result.model)
    nll, lo, hi = result.nll
    brief = f"expected NLL {txt.sig(nll)} {txt.interval(lo, hi, 3)}"
    expected = f"{brief} on new items"
    coding = "".join(f" {sentence}" for sentence in reservations(result))
    if not beats_null(result):
        return (
            f"No panel is shown to beat the base rate (NLL {txt.fixed(result.null_nll, 3)}). The "
            f"best: {who} with {pipeline}; {brief}.{coding}"
        )
    if size < total and result.price is None and not curating_is_safe(result):
        return (
            f"Undecided, leaning to {size} of {total} judges with {pipeline}: not shown to "
            f"be as good as keeping all; {expected}.{coding}"
        )
    accepted = ""
    if result.price is not None and not result.averages:
        accepted = " (lean, within the loss accepted)"
    return f"{txt.capital(who)} with {pipeline}{accepted}; {expected}.{coding}"


def advice_sentence(result: Recommendation) -> str:
    """Name the judges to keep in a few words: the start of the decision next to another answer."""
    size, total, who = len(result.model.judges), result.n_judges, f"keep {_kept(result)}"
    if not beats_null(result):
        text = f"no panel is shown to beat the base rate; the best one would {who}."
    elif size < total and result.price is None and not curating_is_safe(result):
        text = f"undecided, leaning to {size} of {total} judges."
    else:
        text = f"{who}."
    if open_questions(result):
        text = f"no decision yet, since the votes are in doubt; until then {text}"
    condition = "only if no judge prefers a position: " if explained_by_position(result) else ""
    return f"{condition}{text}"


def _kept(result: Recommendation) -> str:
    size, total = len(result.model.judges), result.n_judges
    return txt.all_judges(total) if result.keeps_all else f"{size} of {total} judges"


def instead_sentence(result: Recommendation) -> str:
    """Name what was chosen instead of the recommended panel, and its cost in NLL."""
    row = result.chosen
    nll, lo, hi = row.nll
    change = txt.with_interval(*row.behind, sign=True)
    return (
        f"Taken by hand: {candidate_rows.candidate_name(row)}; NLL {txt.sig(nll)} "
        f"{txt.interval(lo, hi, 3)}, {change} against the recommended panel."
    )


def picked_sentence(result: Recommendation) -> str:
    """Say which selection the figures of a hand-picked candidate do not allow for."""
    nll, lo, hi = result.recommended.nll
    return (
        f"It was picked among {len(result.candidates)} candidates after their figures were seen: "
        "its figures are not corrected for that. The recommended panel is "
        f"{candidate_rows.candidate_name(result.recommended)}; expected NLL {txt.sig(nll)} "
        f"{txt.interval(lo, hi, 3)} on new items."
    )


def reservations(result: Recommendation) -> list[str]:
    """Return the reservations about the expected NLL that belong in the answer itself."""
    return [sentences.CODING] if result.measures_coding else []


def curating_is_safe(result: Recommendation) -> bool:
    """Whether the chosen judges are shown to lose at most the margin against all judges.

    Under the heaviest pipeline if that is a candidate, else under the reference.
    """
    main = result.members[0]
    for candidate in result.candidates:
        same = (candidate.aggregator, candidate.calibrator) == (main.aggregator, main.calibrator)
        if candidate.panel == ALL_JUDGES and same:
            return candidate.stands in ("keep all", "no loss from keeping", "tie")
    return result.verdict in ("curate", "no loss from curating", "tie")


def explained_by_position(result: Recommendation) -> bool:
    """Whether a constant position does as well on the file as given."""
    return result.position is not None and result.position.explains


def beats_null(result: Recommendation) -> bool:
    """Whether the interval of the expected NLL lies below the base rate's NLL and below ln 2.

    A base rate estimated from few labels may do worse than a coin.
    """
    return bool(result.nll.below(min(result.null_nll, math.log(2.0))))


def certainty_sentence(result: Recommendation) -> str:
    """Compare the choice with the paper's default, with its uncertainty."""
    better = f"{txt.with_interval(*result.delta, sign=True)} NLL"
    panel, against = "the recommended panel", "all judges under one-coin + beta"
    outcome = {
        "keep all": f"{against} are better than {panel}",
        "curate": f"{panel} is better than {against}",
        "no loss from keeping": f"{against} lose at most 2 % against {panel}",
        "no loss from curating": f"{panel} loses at most 2 % against {against}",
        "undecided": f"whether {panel} beats {against} is undecided",
        "tie": f"{panel} never differed from {against}",
    }[result.verdict]
    return (
        f"Out of sample, {outcome}: {better}; the base rate alone gives "
        f"{txt.fixed(result.null_nll, 3)}. In every split the panel is chosen and fitted on "
        f"{result.n_calibration:,.0f} labels. On them it promised NLL {txt.sig(result.chosen_on)}, "
        f"on the other items it gave {txt.sig(float(result.nll.value))} (selection bias "
        f"{txt.signed(result.optimism)})."
    )


def prices_sentence(result: Recommendation) -> str:
    """Return the NLL cost of alternatives, all judges or fewer, under one pipeline.

    The runner-up has its own sentence.
    """
    parts = []
    for who, row in (
        ("With all judges", result.best(all_judges=True)),
        ("With fewer judges", result.best(all_judges=False)),
    ):
        if (
            row is not None
            and row != result.runner_up
            and not candidate_rows.same_panel(result, row)
        ):
            change = txt.with_interval(*row.behind, sign=True)
            nll = txt.sig(float(row.nll.value))
            parts.append(
                f"{who}, the best single pipeline is {candidate_rows.candidate_name(row)}: "
                f"NLL {nll}, {change} against this panel."
            )
    return " ".join(parts)


def statuses_sentence(statuses: tuple[JudgeStatus, ...]) -> str:
    """Describe the value of single judges to the panel of all; empty if unknown."""
    if not statuses:
        return ""
    given = [judge.status for judge in statuses]
    helps, spare, failed, open_ones = (given.count(status) for status in STATUSES)
    parts = [f"{txt.counted(helps, 'judge')} {'is' if helps == 1 else 'are'} shown to help"]
    if failed:
        parts.append(f"{failed} {'fails' if failed == 1 else 'fail'} a check (see Scope)")
    if spare:
        together = ", alone or together," * (spare > 1)
        parts.append(f"{spare} could go{together} without a loss that is seen")
    if open_ones:
        parts.append(f"for {open_ones} this is not settled")
    sentence = f"Judge by judge under one pipeline (see {VALUE.title}), {'; '.join(parts)}."
    if spare:
        what, whose = ("that one", "its") if spare == 1 else ("those that could go", "their")
        sentence += f" Leaving out {what} is safe, not better: it saves {whose} price."
    return sentence


def rival_sentence(result: Recommendation) -> str:
    """Name the runner-up out of sample, why it was not chosen, and how many labels would decide."""
    rival = result.runner_up
    if rival.name == result.chosen.name:
        return ""
    change = txt.with_interval(*rival.behind, sign=True)
    text = f"Runner-up: {candidate_rows.candidate_name(rival)}. Its NLL differs by {change}: "
    luck = ""
    if float(rival.behind.value) < 0.0:
        luck = (
            f" Its figure is flattered: it is the lowest of {len(result.candidates)} on these "
            "items, and will be higher on new ones."
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
    """Name the preference, and its cost in NLL."""
    if result.prefer == "nll":
        return ""
    asked = {
        "lean": "Lean is the smallest panel within the loss accepted.",
        "single": "One pipeline only: the heaviest of the average.",
        "everyone": "All judges are kept: only pipelines that use all judges are averaged.",
        "robust": "Robust takes, of the average and the candidates tied with the best, the one "
        "with the lowest NLL while a family of judges is absent.",
        "simplest": "The simplest candidate that is tied with the best is taken.",
        "cheapest": "The cheapest candidate that is tied with the best is taken.",
        "fewest": "The candidate with the fewest judges that is tied with the best is taken.",
    }[result.prefer]
    average = result.candidates[-1]
    if result.chosen.panel == AVERAGE or average.name == result.chosen.name:
        return asked
    change = Interval(-average.behind.value, -average.behind.hi, -average.behind.lo)
    price = txt.with_interval(*change, sign=True)
    return f"{asked} Against the average of pipelines NLL changes by {price}."


def present(
    result: Recommendation,
    spec: RecommendSpec,
    view: candidate_rows.RecommendationView = candidate_rows.NOTHING_KNOWN,
) -> list[blocks.Block]:
    """Present the verdict, the judges, losses under absence, and all candidates."""
    members = "Pipelines that are averaged, heaviest first."
    worth = statuses_sentence(view.statuses)
    return [
        blocks.Answer(recommendation_sentence(result)),
        cards_block(result, spec.price, "" if view.votes is None else prices_of(view.votes)[1]),
        _evidence(result, view),
        *blocks.paragraphs(*_certainty(result), worth, candidate_rows.way_sentence(result)),
        blocks.Heading("The panel", 3),
        *([] if view.votes is None else [_judges(result, view.votes)]),
        *([blocks.Table(candidate_rows.members_table(result), members)] if result.averages else []),
        *_absences(result),
        blocks.Heading(WAYS_TITLE, 3),
        ways_table(result, spec.price),
        blocks.Heading("All candidates", 3),
        blocks.note(
            "A candidate's own figures do not allow for having been picked among many; the "
            "expected NLL above does."
        ),
        *_frontier(result),
        blocks.Table(candidate_rows.candidate_table(result), "Candidates, lowest NLL first."),
        blocks.Method(
            f"In each split every candidate is cross-validated on the {result.n_calibration:,.0f} "
            f"calibration items alone ({spec.folds} folds, ranking and calibration inside); they "
            "are averaged, or one is taken, as in the exported panel, and scored on the other "
            f"{result.n_evaluation:,.0f}: that mean is the expected NLL above, selection included. "
            f"The panel in the file repeats the choice on all {result.n_items:,} labelled items. "
            f"Weights of the average: over {DRAWS} Bayesian bootstraps of the items, prior × "
            f"exp(−summed NLL); the prior is {LEAD} for joint over all "
            f"judges{candidate_rows.shared_lead(result)}; the rest is shared equally by other "
            "pipelines on all judges and on the better half, and by one-coin on the best few. The "
            "reference is the paper's default: all judges, one-coin, beta. The best judge alone "
            f"is the most accurate on the calibration items of a split, under {_FEW}. "
            f"{candidate_rows.weight_note(result)}"
        ),
    ]


def _frontier(result: Recommendation) -> list[blocks.Block]:
    """Return the figure of fewer or cheaper judges; none from a single split or of one size."""
    if not math.isfinite(float(result.nll.lo)) or result.n_judges == 1:
        return []
    return [
        blocks.drawing(
            "NLL of every candidate against its number of judges, or their cost where it is known; "
            "those that nothing smaller beats are joined, and the panel is marked",
            candidate_rows.pareto_figure,
            result,
        ),
        blocks.note(
            "Joined: candidates that no smaller one beats on these items. Each is the luckiest of "
            "its size, so the line flatters."
        ),
    ]


def _certainty(result: Recommendation) -> list[str]:
    """Return the recommendation's certainty, or the limits of a hand-picked candidate's figures."""
    if result.instead_of is not None:
        return [picked_sentence(result)]
    return [
        preference_sentence(result),
        certainty_sentence(result),
        prices_sentence(result),
        rival_sentence(result),
    ]


def _evidence(result: Recommendation, view: candidate_rows.RecommendationView) -> blocks.Block:
    """Return the panel among its rivals, next to the judges; no figure from a single split."""
    judges = candidate_rows.judges_block(result, view)
    if not math.isfinite(float(result.nll.lo)):
        return judges
    candidates = blocks.drawing(
        "expected NLL of the recommended panel and of its rivals, best first, with intervals "
        "and the base rate; hollow markers are not told apart from the recommended panel",
        candidate_rows.rivals_figure,
        result,
    )
    return blocks.Row((candidates, judges))


def _judges(result: Recommendation, votes: VoteMatrix) -> blocks.Figure:
    return blocks.Figure(
        lambda: kept_judges(judge_table(votes), result.model.judges, result.set_aside),
        "Accuracy of every judge with its interval; kept and left out are told apart.",
    )


def _absences(result: Recommendation) -> list[blocks.Block]:
    heading = blocks.Heading("When judges are absent", 3)
    if result.absence is None:
        if result.partial or len(result.model.judges) < 2:
            return []
        return [
            heading,
            blocks.note(
                "Not measured on this page, because it takes seconds and would delay every change "
                "of preference. The downloaded panel and report include it."
            ),
        ]
    return [
        heading,
        *blocks.paragraphs(*candidate_rows.absence_words(result)),
        blocks.Table(
            candidate_rows.absence_table(result),
            "Rise of the NLL, out of sample, with judges absent and nothing refitted; intervals "
            "are for this panel on very many new items.",
            height=320,
        ),
    ]


def view(votes: VoteMatrix, _spec: RecommendSpec) -> candidate_rows.RecommendationView:
    """Return the votes, for the figure of the judges."""
    return candidate_rows.RecommendationView(votes)


default_specs = study.under_honest_protocol(RecommendSpec)
PRESENTATION = study.Presentation(RECOMMEND, present, default_specs, view=view)


def decision_sentence(result: Recommendation) -> str:
    """Return the recommendation and its expected NLL."""
    splits = sentences.splits_so_far(result)
    name = f"Recommended panel after {splits}" if splits else "Recommended panel"
    return f"{name}: {recommendation_sentence(result)}"


def pipeline_sentence(
    result: Recommendation, aggregator: str, calibrator: str, *, advice: bool = True
) -> str:
    """Name the pipeline that a page shows, and say whether it is the recommended one.

    ``advice`` adds the recommendation, for pages that do not state it elsewhere.
    """
    here = sentences.pipeline_name(aggregator, calibrator)
    if aggregator == AVERAGE:
        role, rest = f"the recommended panel: {_kept(result)}", ""
        recommended = f"{sentences.so_far(result)}{recommendation_sentence(result)}"
    elif is_recommended(result, aggregator, calibrator):
        role, rest = f"{here}, {_role(result)}", ""
        recommended = f"{sentences.so_far(result) or 'Recommended: '}{advice_sentence(result)}"
    else:
        role = f"{here}, which is not the recommended pipeline"
        rest = f"Its advice to keep or leave out judges holds under {here}." if advice else ""
        recommended = decision_sentence(result)
    parts = (f"This page shows {role}.", recommended if advice else "", rest)
    return " ".join(part for part in parts if part)


def other_pipeline(spec: Any, pipeline: study.Pipeline, single: str = "", apart: str = "") -> str:
    """Name a study's pipeline if it differs from this one; else nothing.

    The recommended average does not count as another pipeline. ``single`` is why a study cannot
    show the average where it is recommended; ``apart`` follows the name of another pipeline.
    """
    aggregator = getattr(spec, "aggregator", None)
    calibrator = getattr(spec, "calibrator", None)
    calibrators = getattr(spec, "calibrators", None if calibrator is None else (calibrator,))
    if aggregator in (None, AVERAGE) or calibrators is None:
        return ""
    name = f"{sentences.AGGREGATOR_NAMES[aggregator]} under several calibrators"
    if len(calibrators) == 1:
        name = sentences.pipeline_name(aggregator, calibrators[0])
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
    weight = txt.percent(result.model.members[0].weight)
    alone = txt.with_interval(*result.members[0].behind, sign=True)
    return (
        f"the main pipeline of the recommended average ({weight} of the weight{on}): alone, its "
        f"NLL differs by {alone}"
    )


def other_way_sentence(result: Recommendation) -> str:
    """Describe the alternative: fewer judges if all are kept, else all judges."""
    row = result.best(all_judges=not result.keeps_all)
    if row is None:
        return ""
    who = "Fewer judges" if result.keeps_all else "Everyone"
    return f"{who} under their best pipeline: {against_sentence(row)}"


def main_pipeline(result: Recommendation) -> str:
    """Return the name of the heaviest recommended pipeline."""
    return sentences.pipeline_name(result.model.main.aggregator, result.model.main.calibrator)


def panels_sentence(result: Recommendation) -> str:
    """Compare all judges with the best fewer under the main pipeline; empty without both."""
    main = result.model.main
    rows = result.panels(main.aggregator, main.calibrator)
    all_judges = [row for row in rows if row.k == result.n_judges]
    fewer = [row for row in rows if row.k < result.n_judges]
    if not all_judges or not fewer:
        return ""
    best = min(fewer, key=lambda row: float(row.nll.value))
    return (
        f"Under {main_pipeline(result)}, all {result.n_judges} judges "
        f"have NLL {txt.level(*all_judges[0].nll)} and {best.panel} {txt.level(*best.nll)}."
    )


def against_sentence(row: CandidateFigures) -> str:
    """Return a candidate's NLL, and its difference from the recommended panel."""
    change = txt.with_interval(*row.behind, sign=True)
    name, nll = candidate_rows.candidate_name(row), txt.sig(float(row.nll.value))
    return f"{name}, NLL {nll}, {change} against the recommended panel."
