"""Robustness, what is done to scores and panels: distortion, weighting, narrow bands."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from judgepanel.figures.robustness.distortion import distortion
from judgepanel.figures.robustness.narrow_band import narrow_band
from judgepanel.figures.robustness.weighting import weighting
from judgepanel.report.methods import in_words
from judgepanel.report.numbers import percent, sig
from judgepanel.report.robustness_scores import (
    DISTORTION_NAMES,
    band_sentence,
    band_table,
    distortion_sentence,
    distortion_table,
    placed_sentence,
    signal_name,
    weighting_sentence,
    weighting_table,
)
from judgepanel.report.sentences import CALIBRATOR_NAMES
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.robustness.distortion import DISTORTION, DistortionSpec
from judgepanel.studies.robustness.distortion_result import Distortion
from judgepanel.studies.robustness.narrow_band import NARROW_BAND, NarrowBandSpec
from judgepanel.studies.robustness.narrow_band_result import NarrowBand
from judgepanel.studies.robustness.reliability_weighting import (
    RELIABILITY_WEIGHTING,
    ReliabilityWeightingSpec,
)
from judgepanel.studies.robustness.weighting_result import ReliabilityWeighting
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result

Tell = Callable[[tuple[str, ...]], None]

_DRAWN = ("temperature", "beta", "beta_clipped", "isotonic")


def distorted(shown: Shown, known: set[str]) -> bool:
    """Which calibrators repair which distortions; whether the work has ended."""
    st.header("Distorted scores")
    tell = fresh_notes(known)
    spec = DistortionSpec(settings=shown.analysis.settings)
    drawn = st.multiselect(
        "Calibrators drawn",
        spec.calibrators,
        default=list(_DRAWN),
        key="repairers",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
    )
    return show_result(
        DISTORTION,
        shown,
        spec,
        lambda found: _draw_distortion(shown, spec, found, tuple(drawn), tell),
    )


def _draw_distortion(
    shown: Shown,
    spec: DistortionSpec,
    found: Distortion,
    drawn: tuple[str, ...],
    tell: Tell,
) -> None:
    sentence = distortion_sentence(found)
    said(sentence)
    tell(found.warnings)
    st.plotly_chart(
        distortion(found, drawn, names=DISTORTION_NAMES, calibrator_names=CALIBRATOR_NAMES),
        key="distortion",
        alt=f"NLL under each distortion of the raw score, one mark a calibrator. {sentence}",
        config={"displayModeBar": False},
    )
    table(distortion_table(found), key="distortion", percents=PERCENTS)
    if not found.partial:
        downloads(shown, DISTORTION, spec, found)
    how_study(
        shown,
        DISTORTION,
        spec,
        f"The one-coin score of all {found.n_judges:,} judges, as a probability r, is distorted "
        "on calibration and evaluation items alike: r², √r, r plus normal noise (standard "
        f"deviations {spec.weak:g} and {spec.strong:g}), turned round in "
        f"{percent(spec.turned)} of the items, turned round everywhere, and shuffled. Calibrators "
        "are then fitted as ever. The kinds are the paper's; it gives no levels of noise. "
        "Temperature, Platt, beta and isotonic may not turn a score round, so they end at the "
        "base rate where it is; the paper's clipped beta may.",
    )


def weighted(shown: Shown, known: set[str]) -> bool:
    """Whether some comparisons should count for more; whether the work has ended."""
    st.header("Reliability weighting")
    tell = fresh_notes(known)
    spec = ReliabilityWeightingSpec(settings=shown.analysis.settings)
    return show_result(
        RELIABILITY_WEIGHTING,
        shown,
        spec,
        lambda found: _draw_weighting(shown, spec, found, tell),
    )


def _draw_weighting(
    shown: Shown, spec: ReliabilityWeightingSpec, found: ReliabilityWeighting, tell: Tell
) -> None:
    sentence = weighting_sentence(found)
    said(sentence)
    tell(found.warnings)
    if not any(found.features):
        st.caption("The votes bring no numeric item features: only what votes say is tried.")
    names = tuple(signal_name(found, i) for i in range(len(found.signals)))
    st.plotly_chart(
        weighting(found, names),
        key="weighting",
        alt=f"Change of the NLL by each weighting of the comparisons. {sentence}",
        config={"displayModeBar": False},
    )
    st.caption(
        f"The grey band is the paper's margin of no effect, {found.margin:g} either way; a "
        f"margin of 1 % would be {sig(found.relative_margin, 2)}."
    )
    table(weighting_table(found), key="weighting", percents=PERCENTS)
    if not found.partial:
        downloads(shown, RELIABILITY_WEIGHTING, spec, found)
    how_study(
        shown,
        RELIABILITY_WEIGHTING,
        spec,
        "Each calibration item counts from 0 to 2 times, by the rank of the signal, in the counts "
        "that weigh judges and in the fit of the calibrator; evaluation items count alike. "
        "'Equivalent' needs a test of its own: two one-sided t-tests at 5 %, the same as a 90 % "
        "interval inside the margin, on our variance, which knows that panels are refitted. The "
        "last p takes the fitted panels as given and is for comparison only. The paper finds all "
        "such effects equivalent to none on preference data; items judges disagree on can matter "
        "more here, since they tell good judges from bad ones and a sum of votes that err "
        "together is too sure of the others.",
    )


def narrow(shown: Shown, known: set[str]) -> bool:
    """The narrow-band simulation; whether the work has ended."""
    st.header("Judges who are nearly alike (a simulation)")
    tell = fresh_notes(known)
    spec = NarrowBandSpec(settings=shown.analysis.settings)
    sizes = tuple(str(size) for size in spec.panel_sizes(shown.votes.n_judges))
    shares = tuple(percent(share) for share in spec.shares)
    left, right = st.columns(2)
    size = left.segmented_control(
        "Simulated judges",
        sizes,
        default=sizes[-1],
        required=True,
        key="simulated",
        bind="query-params",
    )
    share = right.segmented_control(
        "Pruning keeps the best",
        shares,
        default=shares[0],
        required=True,
        key="kept",
        bind="query-params",
    )
    at = sizes.index(size), shares.index(share)
    return show_result(
        NARROW_BAND, shown, spec, lambda found: _draw_band(shown, spec, found, at, tell)
    )


def _draw_band(
    shown: Shown, spec: NarrowBandSpec, found: NarrowBand, at: tuple[int, int], tell: Tell
) -> None:
    size, share = min(at[0], len(found.sizes) - 1), at[1]
    sentence = band_sentence(found)
    said(sentence)
    tell(found.warnings)
    st.plotly_chart(
        narrow_band(found, size, share),
        key="band",
        alt=f"What pruning costs in simulated panels, against the width of the band. {sentence}",
        config={"displayModeBar": False},
    )
    st.caption(f"{placed_sentence(found)} The dashed line is this panel's spread.")
    table(band_table(found), key="band", height=320, percents=PERCENTS)
    if not found.partial:
        downloads(shown, NARROW_BAND, spec, found)
    how_study(
        shown,
        NARROW_BAND,
        spec,
        f"{found.n_replicates} panels a cell are simulated (seed {found.seed}) with this panel's "
        f"mean accuracy ({percent(found.mean_accuracy, 3)}), its share of votes that are there "
        f"({percent(found.coverage, 3)}) and {found.n_calibration:,} labels; "
        f"{found.n_evaluation:,} new items evaluate. Accuracies are uniform in the band, votes "
        "share one Gaussian factor, items are equally hard. A cell has a winner where the "
        "interval that holds for all cells together leaves 0 out. Nothing here is measured on "
        "your votes but what is said of this panel.",
    )


def fresh_notes(known: set[str]) -> Tell:
    """What shows a section's warnings but those ``known`` when it begins, and adds them there.

    A section is drawn again and again while it works, and must say the same each time.
    """
    before = frozenset(known)

    def show(warnings: tuple[str, ...]) -> None:
        notes(in_words(tuple(sentence for sentence in warnings if sentence not in before)))
        known.update(warnings)

    return show
