"""The paper: its claim on the user's votes and on samples, then the studies of its appendix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.present.pages import PAPER_PAGE
from judgepanel.present.paper import claim
from judgepanel.present.paper.fraction_sweep import FRACTION_SWEEP, SweepView
from judgepanel.present.paper.pipeline import (
    CALIBRATOR_DESIGN,
    CalibratorDesignSpec,
    CalibratorsView,
)
from judgepanel.present.paper.theory import NarrowBandView
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import Pipeline, Presentation
from judgepanel.present.trust.label_budget import FIRST_PANEL
from judgepanel.studies.contract import Settings, Spec
from judgepanel.studies.paper import distortion, narrow_band
from judgepanel.studies.paper.claim import CLAIM, Claim, ClaimSpec
from judgepanel.ui import pipeline as controls
from judgepanel.ui.frame import PageContext, answer, caption, menu_page
from judgepanel.ui.render import Caveats, closed, draw_blocks, draw_study, show_closed, show_study
from judgepanel.ui.session import workspace
from judgepanel.ui.work import show_result
from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.simulate import SAMPLES, find_sample, sample_bytes
from judgepanel.words import sentences, text

_OWN = "own"
_FOLDER = "sample_data/"
_STEPS = "claim-steps"
_SHAPES = ("none", "temperature", "platt", "beta", "isotonic")
_REPAIRERS = ("temperature", "beta", "beta_clipped", "isotonic")
_Controls = Callable[[PageContext, Pipeline, Any], tuple[Spec, Any]]


@menu_page(PAPER_PAGE, "This page shows the paper's protocol beside an honest one.")
def page(context: PageContext) -> None:
    """Draw the claim; its parts and the paper's other studies are closed sections below it."""
    with controls.folded("Other votes, another benchmark"):
        data, seen = _controls(context)
    caveats = Caveats()
    _claim(seen, data, caveats)
    st.header("The other studies of the paper")
    votes = f"the sample '{seen.analysis.name}'" if _is_sample(seen) else "your votes"
    caption(f"Each is computed on {votes} when you open it.")
    with controls.folded():  # The paper's pipeline at first.
        left, right = st.columns(2)
        default = Pipeline()
        about = "How votes are summed. A section that shows another aggregator says so."
        aggregator = controls.aggregator_control(left, default.aggregator, AGGREGATORS, help=about)
        calibrator = controls.calibrator_control(right, default.calibrator)
    pipeline = Pipeline(aggregator, calibrator)
    show_closed(seen, PAPER_PAGE, {CLAIM.name}, caveats=caveats, ask=partial(_ask, seen, pipeline))


def _claim(seen: PageContext, data: claim.DataSet, caveats: Caveats) -> None:
    """Draw the one-coin steps; votes seen jointly are computed when they are opened."""
    entry = PRESENTATIONS[CLAIM.name]
    spec = ClaimSpec(settings=seen.analysis.settings, joint=False)

    def draw(result: Claim) -> None:
        sentence = sentences.so_far(result) + claim.claim_sentence(result)
        prefix = f"Sample '{seen.analysis.name}': " if _is_sample(seen) else ""
        answer(prefix + sentence, claim.tone(result))
        view = claim.ClaimView("steps", data)
        options: dict[str, Any] = {"skip": (sentence,), "opened": (), "quiet": True, "key": _STEPS}
        draw_study(entry, seen, spec, result, view, caveats=caveats, **options)

    if not show_result(CLAIM, seen, spec, draw):
        return
    joint = ClaimSpec(settings=seen.analysis.settings)
    together = partial(show_study, entry, seen, joint, claim.ClaimView("joint"), caveats=caveats)
    closed(claim.JOINT_TITLE, together, key="joint")
    with st.expander(claim.SOURCES_TITLE):
        draw_blocks(claim.sources(), key="sources")


def _controls(context: PageContext) -> tuple[claim.DataSet, PageContext]:
    left, right = st.columns(2)
    titles = {_OWN: "Your votes", **{sample.name: sample.title for sample in SAMPLES}}
    votes = left.selectbox(
        "Votes",
        tuple(titles),
        key="votes",
        bind="query-params",
        format_func=titles.__getitem__,
        help="A sample goes through the same studies, with the splits and the seed of this "
        "analysis.",
    )
    seen = context if votes == _OWN else _sample(context, votes)
    likely = claim.looks_like(int(seen.votes.labelled.sum())) or claim.DATA_SETS[1]
    names = [data.name for data in claim.DATA_SETS]
    name = right.selectbox(
        "Compare with the paper's",
        names,
        index=names.index(likely.name),
        key="paper",
        bind="query-params",
        help="The data set whose published figures are shown, by default one of the same size.",
    )
    return claim.DATA_SETS[names.index(name)], seen


def _sample(context: PageContext, name: str) -> PageContext:
    """The context with a sample in place of the analysis's votes."""
    sample, own = find_sample(name), context.analysis
    settings = Settings(splits=own.settings.splits, seed=own.settings.seed)
    file = _FOLDER + sample.file
    analysis = replace(own, name=sample.title, file=file, columns=(), settings=settings)
    votes = _sample_votes(name)
    workspace().publish(votes)
    return PageContext(analysis, votes)


def _is_sample(seen: PageContext) -> bool:
    """Whether the figures are not those of the analysis in the header."""
    return seen.analysis.file.startswith(_FOLDER)


@st.cache_data(max_entries=len(SAMPLES), show_spinner=False)
def _sample_votes(name: str) -> VoteMatrix:
    return load_votes(sample_bytes(name), name=find_sample(name).file).votes


def _ask(seen: PageContext, pipeline: Pipeline, entry: Presentation) -> tuple[Spec, Any]:
    """Draw the controls of a study, if it has any; return its spec and view."""
    (spec, *_) = entry.under(seen.votes, seen.analysis.settings, pipeline)
    view = None
    if draw := _CONTROLS.get(entry.name):
        spec, view = draw(seen, pipeline, spec)
    controls.note_other(entry, spec, pipeline)
    return spec, view


def _shapes(seen: PageContext, pipeline: Pipeline, _spec: Any) -> tuple[Spec, CalibratorsView]:
    spec = CalibratorDesignSpec(settings=seen.analysis.settings, aggregator=pipeline.aggregator)
    return spec, _calibrators(spec, _SHAPES, key="drawn")


def _repairs(_seen: PageContext, _pipeline: Pipeline, spec: Any) -> tuple[Spec, CalibratorsView]:
    return spec, _calibrators(spec, _REPAIRERS, key="repairers")


def _calibrators(spec: Any, default: tuple[str, ...], *, key: str) -> CalibratorsView:
    """The calibrators to draw."""
    chosen = st.multiselect(
        "Calibrators drawn",
        spec.calibrators,
        default=[name for name in default if name in spec.calibrators],
        key=key,
        bind="query-params",
        format_func=sentences.CALIBRATOR_NAMES.__getitem__,
    )
    return CalibratorsView(tuple(chosen))


def _shares(seen: PageContext, pipeline: Pipeline, spec: Spec) -> tuple[Spec, SweepView]:
    return spec, SweepView(pipeline.calibrator, FIRST_PANEL, seen.analysis.settings.fraction)


def _bands(seen: PageContext, _pipeline: Pipeline, spec: Any) -> tuple[Spec, NarrowBandView]:
    sizes = tuple(str(size) for size in spec.panel_sizes(seen.votes.n_judges))
    shares = tuple(text.percent(share) for share in spec.shares)
    left, right = st.columns(2)
    size = controls.segmented(left, "Simulated judges", sizes, default=sizes[-1], key="simulated")
    share = controls.segmented(right, "Pruning keeps the best", shares, key="kept")
    return spec, NarrowBandView(sizes.index(size), shares.index(share))


_CONTROLS: Mapping[str, _Controls] = {
    CALIBRATOR_DESIGN.name: _shapes,
    distortion.DISTORTION.name: _repairs,
    narrow_band.NARROW_BAND.name: _bands,
    FRACTION_SWEEP.name: _shares,
}
"""By study, the function that draws its controls and returns the spec and the view."""
