"""The claim: the paper's protocol beside the honest one, on the user's votes and on samples."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from judgepanel.present.blocks import Method
from judgepanel.present.pages import CLAIM_PAGE
from judgepanel.present.paper.claim import (
    DATA_SETS,
    JOINT_TITLE,
    ClaimView,
    DataSet,
    claim_sentence,
    looks_like,
    sources,
    tone,
)
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import study_blocks
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, Claim, ClaimSpec
from judgepanel.ui.frame import PageContext, answer
from judgepanel.ui.render import Caveats, draw_blocks, show_others, show_study
from judgepanel.ui.session import workspace
from judgepanel.ui.work import show_result, stored_result
from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.simulate import SAMPLES, find_sample, sample_bytes
from judgepanel.words.sentences import so_far

_OWN = "own"
_FOLDER = "sample_data/"
_STEPS = "claim-steps"


def page(context: PageContext) -> None:
    """Draw the one-coin steps first; joint follows when they have ended."""
    entry = ENTRIES[CLAIM.name]
    data, seen = _controls(context)
    spec = ClaimSpec(settings=seen.analysis.settings, joint=False)
    caveats = Caveats()

    def draw(result: Claim) -> None:
        sentence = so_far(result) + claim_sentence(result)
        answer(_of_sample(seen) + sentence, tone(result))
        st.header(entry.study.title)
        blocks = study_blocks(entry, result, spec, ClaimView("steps", data))
        caveats.add(_STEPS, result.warnings)
        blocks = [block for block in blocks if not isinstance(block, Method)]
        draw_blocks(blocks, key=_STEPS, skip=(sentence,))

    ended = show_result(CLAIM, seen, spec, draw)
    if ended and stored_result(CLAIM, seen, spec) is not None:
        st.subheader(JOINT_TITLE)
        spec = ClaimSpec(settings=seen.analysis.settings)
        ended = show_study(entry, seen, spec, ClaimView("joint"), caveats=caveats)
    if ended:
        show_others(context, CLAIM_PAGE, {CLAIM.name}, caveats=caveats)
    draw_blocks(sources(), key="sources")


def _controls(context: PageContext) -> tuple[DataSet, PageContext]:
    left, right = st.columns(2)
    titles = {_OWN: "Your votes", **{sample.name: sample.title for sample in SAMPLES}}
    votes = left.selectbox(
        "Votes",
        tuple(titles),
        key="votes",
        bind="query-params",
        format_func=titles.__getitem__,
        help="A sample goes through the same study, with the splits and the seed of this analysis.",
    )
    seen = context if votes == _OWN else _sample(context, votes)
    likely = looks_like(int(seen.votes.labelled.sum())) or DATA_SETS[1]
    names = [data.name for data in DATA_SETS]
    name = right.selectbox(
        "Compare with the paper's",
        names,
        index=names.index(likely.name),
        key="paper",
        bind="query-params",
        help="The data set whose published figures are shown, by default one of the same size.",
    )
    return DATA_SETS[names.index(name)], seen


def _sample(context: PageContext, name: str) -> PageContext:
    """The context with a sample in place of the analysis's votes."""
    sample, own = find_sample(name), context.analysis.settings
    analysis = replace(
        context.analysis,
        name=sample.title,
        file=_FOLDER + sample.file,
        columns=(),
        settings=Settings(splits=own.splits, seed=own.seed),
    )
    votes = _sample_votes(name)
    workspace().publish(votes)
    return PageContext(analysis, votes)


def _of_sample(seen: PageContext) -> str:
    """Names the sample if the figures are not those of the analysis in the header."""
    return f"Sample '{seen.analysis.name}': " * seen.analysis.file.startswith(_FOLDER)


@st.cache_data(max_entries=len(SAMPLES), show_spinner=False)
def _sample_votes(name: str) -> VoteMatrix:
    return load_votes(sample_bytes(name), name=find_sample(name).file).votes
