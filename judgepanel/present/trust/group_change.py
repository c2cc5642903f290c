"""Presentation of a group of judges: the panel with it and without it."""

from __future__ import annotations

from judgepanel.figures.dots import dots
from judgepanel.present import blocks, study
from judgepanel.present.trust import scope
from judgepanel.studies.contract import Settings
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust.group_change import GROUP_CHANGE, By, GroupChange, GroupChangeSpec
from judgepanel.studies.trust.scope import ScopeSpec
from judgepanel.votes import VoteMatrix
from judgepanel.votes.errors import listed
from judgepanel.words.sentences import AGGREGATOR_NAMES, with_coding
from judgepanel.words.tables import Column, result_table, text
from judgepanel.words.text import counted, interval, sig, with_interval

VERDICTS = {
    "keep all": "better with it",
    "curate": "better without it",
    "no loss from keeping": "no loss with it",
    "no loss from curating": "no loss without it",
    "undecided": "undecided",
    "tie": "no difference",
}


def group_sentence(result: GroupChange, aggregator: str) -> str:
    """Return the effect of the group under one aggregator."""
    place = result.aggregators.index(aggregator)
    return with_coding(_answer(result, place), result.measures_coding)


def _answer(result: GroupChange, place: int) -> str:
    if not result.members:
        return f"The group ({result.name}) is empty, so nothing changes."
    group = f"{result.name} ({counted(len(result.members), 'judge')})"
    aggregator = result.aggregators[place]
    under = f"{'in' if aggregator == AVERAGE else 'under'} {AGGREGATOR_NAMES[aggregator]}"
    rest = counted(result.n_judges - len(result.members), "judge")
    delta = with_interval(*result.delta[place], sign=True)
    saved, lo, hi = -result.delta[place]
    saves = f"leaving it out saves {sig(saved, 2)} NLL {interval(lo, hi)}"
    change = f"leaving it out changes NLL by {delta}"
    verb = "Add" if result.added else "Keep"
    without = f"Do not add {group}" if result.added else f"Leave out {group}"
    return {
        "keep all": f"{verb} {group}: leaving it out costs {delta} NLL {under}.",
        "curate": f"{without}: {saves} {under}.",
        "no loss from keeping": f"Keeping {group} loses at most 2 %: {change} {under}.",
        "no loss from curating": f"The other {rest} alone lose at most 2 %: without "
        f"{group}, NLL changes by {delta} {under}.",
        "undecided": f"Undecided whether to keep {group}: {change} {under}.",
        "tie": f"{result.name}: the same probabilities with and without it {under}.",
    }[result.verdicts[place]]


def members_sentence(result: GroupChange) -> str:
    """Name the judges in the group."""
    if not result.members:
        return ""
    text = f"In the group: {listed(result.members, 6)}."
    if result.by == "filter":
        text += " In every split the filter is applied again, to its calibration items alone."
    return text


def group_table(result: GroupChange) -> dict[str, Column]:
    """One row per aggregator."""
    return result_table(result) | {
        "aggregator": text([AGGREGATOR_NAMES[name] for name in result.aggregators]),
        "verdict": text([VERDICTS[verdict] for verdict in result.verdicts]),
    }


def present(result: GroupChange, spec: GroupChangeSpec) -> list[blocks.Block]:
    """Present the default aggregator, then those that disagree; one sentence without a group."""
    in_use, *others = result.aggregators
    answer = blocks.Answer(group_sentence(result, in_use))
    if not result.members:
        return [answer]
    otherwise = [
        group_sentence(result, name)
        for name, verdict in zip(others, result.verdicts[1:], strict=True)
        if verdict != result.verdicts[0]
    ]
    again = ""
    if AVERAGE in result.aggregators:
        again = (
            " The recommended panel is chosen again, with the group and without it; its members "
            "have calibrators of their own."
        )
    shows = "NLL of every aggregator with the group and without it"
    names = [AGGREGATOR_NAMES[name] for name in result.aggregators]
    panels = {"with the group": result.nll_with, "without it": result.nll_without}
    return [
        answer,
        *blocks.paragraphs(*otherwise, members_sentence(result)),
        blocks.drawing(shows, dots, names, panels, result.null_nll),
        blocks.Table(group_table(result)),
        blocks.Method(
            "In every split both panels are fitted on the same labels and scored on the same "
            "items, so the difference is paired. Verdicts are held against a margin of 2 % of the "
            "NLL with the group. The filter is applied again to the calibration items of every "
            f"split, as it would be on new votes.{again}"
        ),
    ]


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: study.Pipeline) -> study.Specs:
    """Return the panel with and without what the filter drops, by the pipelines of the checks."""
    checks = scope.default_specs(votes, settings, pipeline)
    return tuple(group_spec(spec, "filter") for spec in checks)


def group_spec(spec: ScopeSpec, by: By, group: tuple[str, ...] | None = None) -> GroupChangeSpec:
    """Return the spec of a comparison under the pipelines of the checks."""
    return GroupChangeSpec(spec.settings, by, group, spec.compared, spec.calibrator)


PRESENTATION = study.Presentation(GROUP_CHANGE, present, default_specs)
