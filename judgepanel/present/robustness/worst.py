"""The summary sentence of the Robustness page: the worst finding."""

from __future__ import annotations

from dataclasses import dataclass

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.decide.candidate_rows import absent_sentence, worst_absence
from judgepanel.present.robustness.difficulty_transfer import abroad, fails, transfer_sentence
from judgepanel.present.robustness.slice_transfer import slice_sentence, worst_slice
from judgepanel.studies.robustness.difficulty_transfer import DifficultyTransfer
from judgepanel.studies.robustness.slice_transfer import SliceTransfer


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its tone: ``curate`` for a failure, ``keep`` for none, else ``open``."""

    sentence: str
    tone: str


def worst_finding(
    transfer: DifficultyTransfer | None,
    calibrator: str,
    slices: SliceTransfer | None = None,
    recommendation: Recommendation | None = None,
) -> Finding:
    """Return the worst of the findings so far.

    That is the transfer, or the absence of judges of the recommended panel, shown to cost most, in
    nats.
    """
    losses = [*_losses(transfer, calibrator, slices), *_absent(recommendation)]
    if losses:
        coded = any(study.measures_coding for study in (transfer, slices) if study is not None)
        return Finding(max(losses)[1], "open" if coded else "curate")
    return Finding(_unbroken(transfer, calibrator, slices), "open")


def _unbroken(
    transfer: DifficultyTransfer | None, calibrator: str, slices: SliceTransfer | None
) -> str:
    """Return the sentence if no loss is shown."""
    if transfer is not None:
        return transfer_sentence(transfer, calibrator)
    if slices is not None and slices.slices:
        return slice_sentence(slices)
    return "Nothing that could be tried here says yet what would break it."


def _absent(recommendation: Recommendation | None) -> list[tuple[float, str]]:
    if recommendation is None or recommendation.absence is None:
        return []
    _, worst = worst_absence(recommendation)
    if not worst.delta.above():
        return []
    return [(float(worst.delta.value), absent_sentence(recommendation))]


def _losses(
    transfer: DifficultyTransfer | None, calibrator: str, slices: SliceTransfer | None
) -> list[tuple[float, str]]:
    """Return the losses that are shown, in nats, each with its sentence."""
    losses = []
    if transfer is not None:
        worst = abroad(transfer, calibrator)[0]
        if fails(worst):
            losses.append((float(worst.delta.value), transfer_sentence(transfer, calibrator)))
    if slices is not None and slices.slices:
        g = worst_slice(slices)
        if slices.outcome(g) == "fails":
            losses.append((float(slices.delta.value[g, 1]), slice_sentence(slices)))
    return losses
