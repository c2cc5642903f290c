"""The claim: the paper's protocol beside the honest one, on the votes at hand and on samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import streamlit as st

from judgepanel.figures.claim import fitted_maps, protocol
from judgepanel.present.understand.published import DATA_SETS, PAPER, DataSet, looks_like
from judgepanel.report.claim import (
    MEASURES_CODING,
    claim_sentence,
    constant_sentence,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    published_sentence,
    reversal_sentences,
    step_sentences,
    tone,
)
from judgepanel.report.claim_tables import published_table, step_table
from judgepanel.report.text import in_html
from judgepanel.studies.claim.claim import CLAIM, ClaimSpec
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.settings import Settings
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.session import workspace
from judgepanel.ui.work import show_result, stored_result
from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.samples import SAMPLES, find_sample, sample_bytes

_OWN = "own"
_FOLDER = "sample_data/"
_CLAIM = (
    f"The paper ({PAPER}) says that calibration reverses a habit: before it, a few accurate judges "
    "beat them all; after it, all beat the few. Its NLLs of 0.006 to 0.02 are what comes out when "
    "every item is written as 'label 1, vote = the judge was right', which can be done to any "
    "labelled votes. Below are the same votes, judges and splits under that coding, which "
    f"{MEASURES_CODING}, and under honest labels; each step changes one thing."
)
_SOURCES = (
    f"The paper: 'Calibrate, don't curate', {PAPER}. Its protocol: sections 2 and 4.1; the claim: "
    "section 4.2.",
    "Its benchmarks: JudgeBench, arXiv 2410.12784; RewardBench, arXiv 2403.13787; RewardBench 2, "
    "arXiv 2506.01937; LLMBar, arXiv 2310.07641.",
    "Beta calibration: Kull, Silva Filho and Flach 2017, doi:10.1214/17-EJS1338SI, who keep the "
    "map monotone (a ≥ 0, b ≤ 0 in the paper's signs).",
    "Codings, steps, intervals and what was measured on public votes: docs/claim.md.",
)


def page(shown: Shown) -> None:
    """One-coin steps first; joint follows when they have ended."""
    data, seen = _controls(shown)
    spec = ClaimSpec(settings=seen.analysis.settings, joint=False)
    show_result(CLAIM, seen, spec, lambda found: _draw(seen, found, data))
    if stored_result(CLAIM, seen, spec) is not None:
        _together(seen)
    st.header("Sources")
    for source in _SOURCES:
        said(source)
    next_step("pages/panel_curve.py", "keep all judges, or the top k?", shown.analysis)


def _controls(shown: Shown) -> tuple[DataSet, Shown]:
    left, right = st.columns(2)
    titles = {_OWN: "Yours", **{sample.name: sample.title for sample in SAMPLES}}
    votes = left.selectbox(
        "Votes",
        tuple(titles),
        key="votes",
        bind="query-params",
        format_func=titles.__getitem__,
        help="A sample goes through the same study, with the splits and the seed of this analysis.",
    )
    seen = shown if votes == _OWN else _sample(shown, votes)
    likely = looks_like(int(seen.votes.labelled.sum())) or DATA_SETS[1]
    names = [one.name for one in DATA_SETS]
    name = right.selectbox(
        "Beside the paper's",
        names,
        index=names.index(likely.name),
        key="paper",
        bind="query-params",
        help="Whose published figures stand beside ours. The one with as many items comes first.",
    )
    return DATA_SETS[names.index(name)], seen


def _sample(shown: Shown, name: str) -> Shown:
    """A sample in the place of the analysis's votes."""
    sample, own = find_sample(name), shown.analysis.settings
    analysis = replace(
        shown.analysis,
        name=sample.title,
        file=_FOLDER + sample.file,
        columns=(),
        settings=Settings(splits=own.splits, seed=own.seed),
    )
    votes = _sample_votes(name)
    workspace().publish(votes)
    return Shown(analysis, votes)


def _of_sample(seen: Shown) -> str:
    """Whose figures these are, where they are not those of the analysis named above them."""
    return f"Sample '{seen.analysis.name}': " * seen.analysis.file.startswith(_FOLDER)


@st.cache_data(max_entries=len(SAMPLES), show_spinner=False)
def _sample_votes(name: str) -> VoteMatrix:
    return load_votes(sample_bytes(name), name=find_sample(name).file).votes


@contextmanager
def _coding(name: str, title: str) -> Iterator[None]:
    """A box for figures of one-class coding: it says what they measure, before the first."""
    with st.container(border=True, key=f"coding_{name}"):
        st.html(
            f'<p class="jp-note"><b>{in_html(title)}</b> Everything in this box '
            f"{MEASURES_CODING}.</p>"
        )
        yield


@contextmanager
def _honest(title: str) -> Iterator[None]:
    with st.container(border=True):
        st.html(f'<p class="jp-note"><b>{in_html(title)}</b></p>')
        yield


def _draw(seen: Shown, found: Claim, data: DataSet) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits. " * found.partial
    answer(_of_sample(seen) + so_far + claim_sentence(found), tone(found))
    notes(found.warnings)
    st.caption(_CLAIM)
    left, right = st.columns(2)
    with left, _coding("protocol", "One-class coding."):
        _protocol(found, "one_class")
    with right, _honest("Honest labels."):
        _protocol(found, "honest")
    st.header("No judge at all")
    with _coding("constant", "A constant score, and the fitted map."):
        said(constant_sentence(found))
        st.plotly_chart(
            fitted_maps(found),
            key="maps",
            alt="What the paper's map makes of raw probabilities, under one-class coding and "
            "honest labels. " + map_sentence(found),
            config={"displayModeBar": False},
        )
        said(map_sentence(found))
    said(honest_constant_sentence(found))
    st.header("Step by step")
    with _coding("steps", "One-class coding."):
        _steps(found, "one_class")
    with _honest("Honest labels."):
        _steps(found, "honest")
    st.header("The paper's tables")
    with _coding("published", f"{data.name}: the paper's figures beside ours."):
        table(published_table(found, data), key="published")
        said(published_sentence(found))
        n = int(found.n_judges.max())
        st.caption(
            f"The paper's panel has {data.n_judges} judges on {data.n_items:,} pairs; these votes "
            f"have {n:,} on {found.n_items:,}. Where panels differ, so do raw figures."
        )


def _protocol(found: Claim, coding: str) -> None:
    """One of the two figures, and what it says of the reversal."""
    reversals = reversal_sentences(found, coding)
    st.plotly_chart(
        protocol(found, coding),
        key=f"protocol-{coding}",
        alt=f"NLL against the number of judges, {coding.replace('_', ' ')} labels. "
        + " ".join(reversals),
        config={"displayModeBar": False},
    )
    for sentence in reversals:
        said(sentence)


def _steps(found: Claim, coding: str) -> None:
    table(step_table(found, coding), key=f"steps-{coding}")
    for name, sentence in step_sentences(found, coding):
        st.html(f'<p class="jp-said"><b>{in_html(name)}.</b> {in_html(sentence, 1000)}</p>')


def _together(seen: Shown) -> None:
    """The last step: judges seen jointly."""
    st.header("Votes seen jointly")
    spec = ClaimSpec(settings=seen.analysis.settings)
    show_result(CLAIM, seen, spec, lambda found: _draw_together(seen, spec, found))


def _draw_together(seen: Shown, spec: ClaimSpec, found: Claim) -> None:
    said(joint_sentence(found))
    st.plotly_chart(
        protocol(found, "together"),
        key="together",
        alt="NLL against the number of judges with honest labels, joint beside one-coin. "
        + joint_sentence(found),
        config={"displayModeBar": False},
    )
    table(step_table(found, "honest").tail(2), key="together")
    if not found.partial:
        downloads(seen, CLAIM, spec, found)
        st.caption(
            f"Both files hold rows of one-class coding; each says that it {MEASURES_CODING}."
        )
    how_study(seen, CLAIM, spec, _words(found))


def _words(found: Claim) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}), the same for every step: on "
        f"{found.n_calibration:,.0f} items judges are ranked, weighted and calibrated, and all "
        f"figures are scores of the other {found.n_evaluation:,.0f}. One-class coding turns vote V "
        "(+1 or -1) into V s and label s into 1. The paper's recipe: one-coin weights "
        "log((c+1)/(n-c+1)) that know the item's label, raw probabilities clipped to 0.001 and "
        "0.999, and the beta map σ(a log p + b log(1-p) + c) with a penalty of 0.01 and free "
        "signs. Honest labels are those of the file where they are balanced; else each pair is "
        "used with its swap. Intervals are 95 % for new items, Var = v/N + s_tr² (1/S + "
        "n_cal/n_eval). The reversal is shown where the interval of NLL(top-k) - NLL(all) lies "
        "below 0 before calibration and above 0 after it; it is not there where one of the two "
        "lies on the other side. The maps are drawn from a fit to all labelled items."
    )
