"""Presentation of judges' worth: what each saves, and what changes without some of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation, RecommendSpec, contest_of
from judgepanel.decision.statuses import JudgeStatus, statuses
from judgepanel.figures import dots, style
from judgepanel.kernels import aggregation, panels
from judgepanel.present import blocks, study
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.value import VALUE, Copied, Value, ValueSpec
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIf, WhatIfSpec
from judgepanel.studies.panel.recommended import ALL_JUDGES, AVERAGE, Candidate
from judgepanel.votes import VoteMatrix
from judgepanel.votes.errors import listed
from judgepanel.words import sentences
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text
from judgepanel.words.text import counted, fixed, interval, one_line, percent, sig, with_interval

_NAMED = 6


@dataclass(frozen=True, slots=True)
class ValueView:
    """Statuses of the judges, including scope checks among the reasons; None omits the checks."""

    statuses: tuple[JudgeStatus, ...] | None = None


def value_sentence(result: Value) -> str:
    """Say how many judges are shown to be valuable, and how many can be removed."""
    return sentences.with_coding(_answer(result), result.measures_coding)


def _answer(result: Value) -> str:
    if result.nll_all.lo >= result.null_nll:
        return (
            f"All judges together do not beat the base rate (NLL {fixed(result.null_nll, 3)}), so "
            "what each is worth to them says little."
        )
    if not math.isfinite(result.judges[0].value.lo):
        return "Not enough splits yet to say."
    if result.n_judges == 1:
        saved = with_interval(*result.judges[0].value, sign=True)
        under = sentences.AGGREGATOR_NAMES[result.aggregator]
        return f"Against the base rate the one judge saves NLL {saved} under {under}."
    needed = sum(bool(row.value.above()) for row in result.judges)
    helps = sum(bool(row.value.above() or row.shapley.above()) for row in result.judges)
    text = (
        f"Of {counted(result.n_judges, 'judge')} under "
        f"{sentences.AGGREGATOR_NAMES[result.aggregator]}, {needed} "
        f"{'is' if needed == 1 else 'are'} shown to be missed when left out alone. {helps} "
        f"{'is' if helps == 1 else 'are'} shown to help then, or on average over panels of all "
        "sizes."
    )
    return f"{text} {removal_sentence(result)}"


def removal_sentence(result: Value) -> str:
    """Say how many judges can be removed together without loss, and what happens beyond."""
    limit = f"{percent(MARGIN)} of NLL"
    if not math.isfinite(result.removal[0].band.lo):
        return "Not enough splits yet to say how many can go."
    if result.droppable == 0:
        text = "No judge is shown to be dispensable: leaving out the one worth least may cost more "
        text += f"than {limit}."
    else:
        row = next(row for row in result.removal if row.m == result.droppable)
        change = with_interval(*row.delta, sign=True)
        who = "the judge" if row.m == 1 else f"the {row.m} judges"
        text = f"Leaving out {who} worth least shows no loss above {limit}: {change}."
    lost = next((row for row in result.removal if row.band.above(result.margin)), None)
    if lost is not None:
        change = with_interval(*lost.band, sign=True)
        text += f" Leaving out {lost.m} makes NLL worse: {change}."
    return text


def droppable_sentence(result: Value) -> str:
    """Name the removable judges; empty if there are none or the ranking is not ready."""
    if not result.droppable_judges:
        return ""
    names = listed(result.droppable_judges, _NAMED)
    return f"Worth least on all labelled items, least first: {names}."


def shapley_sentence(result: Value) -> str:
    """Name the pipeline of the Shapley values."""
    how = sentences.pipeline_name(result.shapley_aggregator, result.shapley_calibrator)
    text = (
        f"Shapley values are means over {result.permutations} orders a split and add up to what "
        f"all judges save: NLL {fixed(result.null_nll, 3)} to {fixed(result.shapley_nll, 3)}"
    )
    if result.shapley_aggregator == result.aggregator:
        return f"{text}."
    return (
        f"{text}. Panels of all sizes are compared under {how}, since refitting "
        f"{sentences.AGGREGATOR_NAMES[result.aggregator]} thousands of times would be too slow."
    )


def copies_sentence(result: Value) -> str:
    """Say whether copies of a judge change the panel; empty without copies."""
    if not result.copies or not math.isfinite(result.copies[0].delta.lo):
        return ""
    worse = [row for row in result.copies if row.delta.above(result.margin)]
    unmoved = [
        row
        for row in result.copies
        if row.delta.above(-result.margin) and row.delta.below(result.margin)
    ]
    how = sentences.pipeline_name(result.aggregator, result.calibrator)
    if worse:
        row = max(worse, key=lambda row: float(row.delta.value))
        return f"Copies are counted again under {how}: {_copied(row)}."
    if len(unmoved) == len(result.copies):
        return f"Copies hardly move the panel under {how}: at the most, {_copied(_most(result))}."
    return f"Whether copies move the panel under {how} is undecided: {_copied(_most(result))}."


def _most(result: Value) -> Copied:
    return max(result.copies, key=lambda row: abs(float(row.delta.value)))


def _copied(row: Copied) -> str:
    change = with_interval(*row.delta, sign=True)
    name = one_line(row.judge)
    return f"{row.times} more of {name} ({row.why}) change NLL by {change}"


def roles_sentence(result: Value) -> str:
    """Return the number of judges with each role."""
    count = {role: sum(row.role == role for row in result.judges) for role in _ROLES}
    parts = [f"{n} {_ROLES[role][n != 1]}" for role, n in count.items() if n]
    return f"Roles: {', '.join(parts)}." if parts else "No judge has a role of its own."


_ROLES = {
    "copy": ("copy of another", "copies of others"),
    "specialist": ("specialist", "specialists"),
    "complement": ("complement", "complements"),
}


def status_table(result: Value, status: tuple[JudgeStatus, ...] | None = None) -> dict[str, Column]:
    """Return every judge by value, highest first, then those that only the checks cover.

    ``status`` are those of :func:`judgepanel.decision.statuses.statuses`, by default without
    checks.
    """
    given = statuses(result) if status is None else status
    judges = {row.judge: row for row in result.judges}
    known = sorted(
        (row for row in given if row.judge in judges),
        key=lambda row: -float(judges[row.judge].value.value),
    )
    rows = [*known, *(row for row in given if row.judge not in judges)]
    unknown = Interval.full(len(rows) - len(known), np.nan)

    def column(name: str) -> Column:
        values = Interval.stacked(getattr(judges[row.judge], name) for row in known)
        return differences(Interval.joined([values, unknown]))

    return {
        "judge": text([one_line(row.judge) for row in rows]),
        "status": text([row.status for row in rows]),
        "value": column("value"),
        "Shapley": column("shapley"),
        "role": text([judges[row.judge].role if row.judge in judges else "" for row in rows]),
        "why": text([row.reason for row in rows]),
    }


def removal_table(result: Value) -> dict[str, Column]:
    """Return one row per number of removed judges."""
    rows = result.removal
    return {
        "without": numbers([row.m for row in rows], "whole"),
        "NLL": levels(row.nll for row in rows),
        "against all judges": differences([row.delta for row in rows], of="delta"),
        "all rows together": ends([row.band for row in rows], sign=True),
        "verdict": text([row.verdict for row in rows]),
        "can go": text(["yes" if row.free else "not shown" for row in rows]),
    }


def group_table(result: Value) -> dict[str, Column]:
    """One row per family or cluster."""
    rows = result.groups
    return {
        "group": text([f"{row.kind} {one_line(row.name)}" for row in rows]),
        "judges": numbers([len(row.members) for row in rows], "whole"),
        "value": differences(row.value for row in rows),
        "Shapley": differences(row.shapley for row in rows),
    }


def present(result: Value, spec: ValueSpec, view: ValueView = ValueView()) -> list[blocks.Block]:
    """Present every judge with its status, then how many can be removed."""
    shows = (
        "rise of the NLL without each judge, with intervals; by colour and symbol who "
        "helps, who could go, who fails a check and who is unsettled"
    )
    content = [
        blocks.Answer(value_sentence(result)),
        blocks.drawing(shows, dots.value_figure, result, view.statuses),
        *blocks.paragraphs(shapley_sentence(result)),
        blocks.Table(status_table(result, view.statuses), height=360),
    ]
    if view.statuses is None:
        without = "Statuses here leave out the scope checks of item order (P0) and parse rate (P1)."
        content.append(blocks.note(without))
    content += blocks.paragraphs(roles_sentence(result), copies_sentence(result))
    if result.groups:
        caption = "What families and clusters of judges are worth together."
        content.append(blocks.Table(group_table(result), caption))
    if result.removal:
        sentence = removal_sentence(result)
        if sentence in value_sentence(result):
            sentence = ""
        shows = "NLL against the number of least valuable judges that are taken out"
        content += [
            blocks.Heading("How many can go", 3),
            *blocks.paragraphs(sentence, droppable_sentence(result)),
            blocks.drawing(shows, dots.removal_figure, result),
            blocks.Table(removal_table(result)),
        ]
    return [*content, _method(result)]


def _method(result: Value) -> blocks.Method:
    nll = fixed(float(result.nll_all.value), 3)
    return blocks.Method(
        "Without a judge means that the panel is refitted without its votes on the calibration "
        "items, and scored on the other items against the panel of all judges. Who goes first is "
        "found on calibration items alone. Shapley values average what a judge adds over orders in "
        f"which judges join. All judges have NLL {nll}; a constant score "
        f"through the same calibrator gives {fixed(result.constant_nll, 3)}."
    )


def value_spec(spec: RecommendSpec, recommendation: Recommendation) -> ValueSpec:
    """Return the spec under the heaviest recommended pipeline, or joint if that is too slow.

    Values do not depend on the preference.
    """
    heaviest = recommendation.heaviest
    for aggregator in panels.VALUED:
        if aggregator == aggregation.of_votes(cast(aggregation.AnyAggregator, heaviest.aggregator)):
            return ValueSpec(spec.settings, aggregator, heaviest.calibrator)
    return ValueSpec(spec.settings)


BY_HAND = (
    "No interval here allows for how the judges were picked. If labels influenced the choice "
    "(accuracy, worth, the recommendation, several attempts), the judges look better here than on "
    "new items. Only what `recommend` expects allows for choosing."
)
_NAMES = ("these judges", "compared with")
_FLATTERS = "if labels influenced the choice of judges, this figure flatters them."


def what_if_sentence(result: WhatIf) -> str:
    """Compare the panel that is kept with the other."""
    these, other = (counted(len(panel.judges), "judge") for panel in (result.kept, result.against))
    change = with_interval(*result.delta, sign=True)
    fewer = with_interval(*-result.delta)
    text = {
        "keep all": f"These {these} are worse than the comparison panel ({other}): NLL {change}.",
        "curate": f"With these {these}, NLL is lower by {fewer} than with the comparison panel "
        f"({other}); {_FLATTERS}",
        "no loss from keeping": f"The comparison panel ({other}) is shown to lose at most 2 % "
        f"against these {these}, and nothing more: NLL {change} with these.",
        "no loss from curating": f"These {these} are shown to lose at most 2 % against the "
        f"comparison panel ({other}): NLL {change}; {_FLATTERS}",
        "undecided": f"Undecided: with these {these}, NLL changes by {change}.",
        "tie": f"The same {these} on both sides.",
    }[result.verdict]
    return sentences.with_coding(text, result.measures_coding)


def compared_sentence(result: WhatIf) -> str:
    """Name the pipeline of both panels."""
    if result.aggregator == AVERAGE:
        return (
            "Each panel is what is recommended from its judges, an average of pipelines: it is "
            "recommended again in every split."
        )
    return f"Both panels are under {sentences.pipeline_name(result.aggregator, result.calibrator)}."


def editor_sentence(spec: RecommendSpec, asked: WhatIfSpec) -> str:
    """Say what is compared on the page, and how that relates to the panel above."""
    start = "Untick judges to leave them out."
    if asked.aggregator != AVERAGE:
        name = sentences.pipeline_name(asked.aggregator, asked.calibrator)
        return (
            f"{start} The remaining judges, and all judges, are refitted in every split under "
            f"{name}, since one pipeline is chosen above."
        )
    text = (
        f"{start} What is recommended from the remaining judges is compared with what is "
        "recommended from all judges, in the same splits."
    )
    if spec == RecommendSpec(settings=spec.settings):
        return text
    return f"{text} Both are averages of the default candidates, whatever the options above."


def what_if_spec(
    spec: RecommendSpec, recommendation: Recommendation, judges: tuple[str, ...]
) -> WhatIfSpec:
    """Return the spec of these judges on both sides, from which some are to be left out.

    Its pipeline is the recommended average, or the one that was chosen instead.
    """
    main = recommendation.model.main
    averages = recommendation.chosen.panel == AVERAGE
    return WhatIfSpec(
        settings=spec.settings,
        keep=judges,
        against=judges,
        aggregator=AVERAGE if averages else aggregation.of_votes(main.aggregator),
        calibrator="none" if averages else main.calibrator,
    )


def picked_spec(votes: VoteMatrix, spec: RecommendSpec, asked: WhatIfSpec) -> RecommendSpec:
    """Return the recommendation that measures the kept panel in all splits, and exports it.

    Labels held out for sets stay held out. A pipeline that is not a candidate over all judges
    gives way to the average.
    """
    settings = replace(asked.settings, judges=asked.keep)
    if asked.aggregator == AVERAGE:
        return RecommendSpec(settings, conformal=spec.conformal)
    general = RecommendSpec(settings, spec.candidates, conformal=spec.conformal)
    title = Candidate(ALL_JUDGES, 0, asked.aggregator, asked.calibrator).title
    known = {candidate.title for candidate in contest_of(votes, general).choices.all()}
    return replace(general, candidate=title if title in known else "")


def picked_panel_sentence(result: Recommendation) -> str:
    """Return the NLL of the exported file of a panel picked by hand."""
    nll, lo, hi = result.nll
    used, picked = len(result.model.judges), counted(result.n_judges, "judge")
    who = picked if used == result.n_judges else f"{used} of {picked}"
    text = (
        f"{sentences.so_far(result)}{who} picked by hand, with "
        f"{sentences.panel_pipelines(result.model)}: expected NLL {sig(nll)} {interval(lo, hi, 3)} "
        f"on new items (base rate {fixed(result.null_nll, 3)}); {_FLATTERS}"
    )
    return sentences.with_coding(text, result.measures_coding)


def what_if_table(result: WhatIf) -> dict[str, Column]:
    """Return both panels, the kept one first."""
    both = (result.kept, result.against)
    nll = Interval.stacked(panel.nll for panel in both)
    columns = {
        "panel": text(_NAMES),
        "judges": numbers([len(panel.judges) for panel in both], "whole"),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "Brier": numbers([panel.brier for panel in both]),
        "accuracy": numbers([panel.accuracy for panel in both], "share"),
        "ECE": numbers([panel.ece for panel in both]),
    }
    costs = [panel.cost for panel in both if panel.cost is not None]
    return columns | ({"cost": numbers(costs, "significant")} if len(costs) == 2 else {})


def what_if_figure(result: WhatIf) -> go.Figure:
    """Draw NLL horizontally, the kept panel above the other, the base rate as a line."""
    figure = go.Figure()
    both = (result.kept, result.against)
    names = [f"{name} ({len(p.judges):,})" for name, p in zip(_NAMES, both, strict=True)]
    styles = ((style.CURATE_LINE, "diamond"), (style.INCLUDE, "circle"))
    for place, (panel, (colour, symbol)) in enumerate(zip(both, styles, strict=True)):
        nll, lo, hi = panel.nll
        hover = f"{names[place]}: {nll:.3f} [{lo:.3f}, {hi:.3f}]"
        look = style.spot(colour, symbol, 11)
        style.add_series(
            figure, panel.nll[None], [place], look, names[place], hover, showlegend=False
        )
    null = [result.null_nll, result.null_nll]
    style.add_base_rate(figure, null, [-0.6, 1.6], "base rate: %{x:.3f}")
    style.laid_out(figure, x="NLL (nats per item)", y="", height=190)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(tickvals=[0, 1], ticktext=names, range=[1.6, -0.6], showgrid=False)
    return figure


def present_what_if(result: WhatIf, spec: WhatIfSpec) -> list[blocks.Block]:
    """Present a panel picked by hand next to the one it is compared with."""
    few = (
        f"From {result.planned_splits:,} splits, so that an answer is quick; what is computed from "
        f"{spec.settings.most_splits:,} differs a little."
    )
    return [
        blocks.Answer(what_if_sentence(result)),
        blocks.Caveat(BY_HAND),
        blocks.Paragraph(compared_sentence(result)),
        blocks.drawing("NLL of both panels, with intervals", what_if_figure, result),
        blocks.Table(what_if_table(result)),
        *([blocks.note(few)] if result.planned_splits < spec.settings.most_splits else []),
        blocks.Method(
            f"Both panels are fitted on the same {result.n_calibration:,.0f} labels of every split "
            f"and scored on the same {result.n_evaluation:,.0f} items. {_fit_sentence(result)}"
        ),
    ]


def _fit_sentence(result: WhatIf) -> str:
    if result.aggregator == AVERAGE:
        return (
            "Candidates are compared, and the weights of their average learned, on those labels "
            "alone."
        )
    constant = fixed(result.constant_nll, 3)
    return f"A constant score through the same calibrator gives NLL {constant}."


_LEFT_OUT = "every judge left out would need recommendations of its own"
PRESENTATIONS = (
    study.Presentation(VALUE, present, after=value_spec, single=_LEFT_OUT),
    study.Presentation(WHAT_IF, present_what_if, by_hand=True),
)
