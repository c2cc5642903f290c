"""Robustness, second half: damaged votes, distorted scores, weighted comparisons, juries."""

from __future__ import annotations

import streamlit as st

from judgepanel.figures.robustness.corruption import corruption
from judgepanel.figures.robustness.jury import jury
from judgepanel.report.numbers import capital, percent
from judgepanel.report.robustness_votes import (
    SCENARIO_NAMES,
    bound_sentence,
    corruption_sentence,
    corruption_table,
    degrades_sentence,
    hit_words,
    jury_sentence,
    jury_table,
)
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.robustness.corruption import CORRUPTION, DRAWS, CorruptionSpec
from judgepanel.studies.robustness.corruption_result import Corruption
from judgepanel.studies.robustness.jury import JURY, PRIOR_VOTES, JurySpec
from judgepanel.studies.robustness.jury_result import Jury
from judgepanel.studies.robustness.vote_damage import SCENARIOS
from judgepanel.ui.frame import Shown
from judgepanel.ui.pages.robustness_scores import Tell, distorted, fresh_notes, narrow, weighted
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result


def sections(shown: Shown, known: set[str]) -> None:
    """Five studies, each starting when the one before has ended.

    ``known`` holds warnings that the page has given; those given here are added to it.
    """
    for section in (_damaged, distorted, weighted, _juries, narrow):
        if not section(shown, known):
            return


def _damaged(shown: Shown, known: set[str]) -> bool:
    st.header("Corrupted votes")
    tell = fresh_notes(known)
    scenario = st.selectbox(
        "What goes wrong",
        SCENARIOS,
        key="damage",
        bind="query-params",
        format_func=lambda name: capital(SCENARIO_NAMES[name]),
        help="When scoring: panels were fitted on clean votes and then something broke. All along: "
        "the calibration votes are as bad.",
    )
    spec = CorruptionSpec(settings=shown.analysis.settings)
    return show_result(
        CORRUPTION,
        shown,
        spec,
        lambda found: _draw_damage(shown, spec, found, scenario, tell),
    )


def _draw_damage(
    shown: Shown, spec: CorruptionSpec, found: Corruption, scenario: str, tell: Tell
) -> None:
    if scenario not in found.scenarios:
        scenario = found.scenarios[-1]
    sentence = corruption_sentence(found, scenario)
    said(sentence)
    tell(found.warnings)
    hit = hit_words(scenario)
    st.plotly_chart(
        corruption(found, scenario, x=hit),
        key="corruption",
        alt=f"NLL against the share of {hit}. {sentence}",
        config={"displayModeBar": False},
    )
    counted = degrades_sentence(found)
    if counted:
        st.caption(counted)
    table(corruption_table(found, scenario), key="corruption", percents=PERCENTS)
    if not found.partial:
        downloads(shown, CORRUPTION, spec, found)
    how_study(
        shown,
        CORRUPTION,
        spec,
        f"In each of {found.n_splits} splits (seed {found.seed}) the damage is drawn {DRAWS} "
        "times, the same for all panels; a higher level hits the same votes and more. Labels are "
        "never touched. Where flips are concentrated, "
        f"{percent(found.concentrated)} of the judges, drawn at random, carry them all. 'Loses "
        "more' is the rise of the NLL of top-k less that of all judges; its interval holds at all "
        "levels of the damage together. A panel cannot fall much below the base rate, so one that "
        "starts better has more to lose: read the last difference, too.",
    )


def _juries(shown: Shown, known: set[str]) -> bool:
    st.header("The jury bound")
    tell = fresh_notes(known)
    spec = JurySpec(settings=shown.analysis.settings)
    return show_result(JURY, shown, spec, lambda found: _draw_jury(shown, spec, found, tell))


def _draw_jury(shown: Shown, spec: JurySpec, found: Jury, tell: Tell) -> None:
    sentence = jury_sentence(found)
    said(sentence)
    tell(found.warnings)
    st.plotly_chart(
        jury(found),
        key="jury",
        alt=f"Share of wrong decisions against the number of judges. {sentence}",
        config={"displayModeBar": False},
    )
    st.caption(
        f"{bound_sentence(found)} Errors below 0.01 % are not drawn; the dotted line is deciding "
        "without votes."
    )
    table(jury_table(found), key="jury", percents=PERCENTS)
    if not found.partial:
        downloads(shown, JURY, spec, found)
    how_study(
        shown,
        JURY,
        spec,
        "Judges are ranked, and one-coin weights learnt, on calibration items. Errors are those "
        "on the other items, and the accuracies that the theory is given are measured there as "
        f"well, pulled to the panel's mean by {PRIOR_VOTES:g} votes: what differs is how judges "
        "err together. The error of independent judges is exact, from the distribution of the "
        "number of right votes. The jury bound is half of exp(-sum C_k), C_k = -log(1 - (2p - "
        "1)²)/2; Hoeffding's is exp(-E). 'Worth' is how many independent judges of the mean "
        "accuracy a majority would need to err as often.",
    )
