"""The claim in sentences for a sceptical reader."""

from __future__ import annotations

import math

import numpy as np

from judgepanel.present.understand.published import VOTE_FRACTION
from judgepanel.studies.claim.claim_result import PAIRS, Claim, Outcome, Reversal
from judgepanel.studies.claim.maps import MAP_NAMES, apply
from judgepanel.studies.claim.steps import STEPS
from judgepanel.words.numbers import capital, counted, fixed, interval, percent, sig, with_interval

MEASURES_CODING = "measures the coding, not the judges"
HEADLINE = 5
NOT_YET = "Not enough splits yet to say."
_HARDLY = 0.0005

STEP_NAMES = {
    "raw_one_class": "one-class coding, raw",
    "paper": "the paper's recipe: beta (clipped), signs free",
    "paper_monotone": "the map kept monotone: a ≥ 0, b ≤ 0",
    "paper_unclipped": "the logit not clipped",
    "paper_temperature": "temperature: no intercept",
    "raw_honest": "honest labels, raw",
    "honest_clipped": "honest labels, the paper's recipe",
    "honest_random": "the order of each pair by a coin",
    "honest_monotone": "the map kept monotone: a ≥ 0, b ≤ 0",
    "honest_beta": "the logit not clipped",
    "honest_temperature": "temperature in place of beta",
    "honest": "beta on scores that do not know their own label",
    "joint": "joint in place of one-coin",
}
"""Each step in a few words."""

_OUTCOMES: dict[Outcome, str] = {
    "appears": "shown",
    "points that way": "not shown",
    "does not appear": "absent",
    "undecided": "undecided",
}


def headline_size(result: Claim) -> int | None:
    """Return the panel of the answer: top-5 as in the paper's abstract, or the largest compared."""
    if not len(result.panels):
        return None
    return HEADLINE if HEADLINE in result.panels else int(result.panels[-1])


def claim_sentence(result: Claim) -> str:
    """Compare one-class coding with honest labels, and locate the reversal."""
    coded, *_ = result.nll[result.row("paper"), -1]
    text = (
        f"With one-class coding NLL {sig(coded)}, which {MEASURES_CODING}; "
        f"with honest labels {_level(result, 'honest')}."
    )
    k = headline_size(result)
    if k is None:
        return f"{text} There is only one judge, so there is nothing to reverse."
    if not math.isfinite(result.nll[result.row("honest"), -1].lo):
        return f"{text} {NOT_YET}"
    there, here = _outcome(result, "paper", k), _outcome(result, "honest", k)
    where = f"{_OUTCOMES[there]} with one-class coding, {_OUTCOMES[here]} with honest labels"
    if there == here:
        where = f"{_OUTCOMES[there]} with either"
    return f"{text} The paper's reversal (top-{k} against all) is {where}."


def tone(result: Claim) -> str:
    """Whether honest labels show the reversal (keep), the opposite (curate), or neither."""
    k = headline_size(result)
    outcome = None if k is None else _outcome(result, "honest", k)
    return {"appears": "keep", "does not appear": "curate"}.get(outcome or "", "open")


def _outcome(result: Claim, calibrated: str, k: int) -> Outcome:
    reversal = result.reversal(calibrated, k)
    if reversal is None:
        raise ValueError(f"{calibrated} was not compared at {k}")
    return reversal.outcome


def reversal_sentences(result: Claim, coding: str) -> tuple[str, ...]:
    """Return the panels before and after calibration by one-class coding, or by honest recipe."""
    k = headline_size(result)
    names = {step.name for step in result.steps_for(coding)}
    if k is None:
        return ()
    tried = [result.reversal(after, k) for _, after in PAIRS if after in names]
    return tuple(_reversal(reversal) for reversal in tried if reversal is not None)


def _reversal(reversal: Reversal) -> str:
    if not math.isfinite(reversal.delta.lo):
        return NOT_YET
    recipe = {
        "paper": "after the paper's recipe",
        "honest_clipped": "after the paper's recipe",
        "honest": "after beta on scores that do not know their own label",
        "joint": "with votes seen jointly",
    }[reversal.calibrated]
    before = with_interval(*reversal.raw_delta, sign=True)
    after = with_interval(*reversal.delta, sign=True)
    return (
        f"Top-{reversal.k} changes NLL against all judges by {before} before calibration and "
        f"by {after} {recipe}: the reversal is {_OUTCOMES[reversal.outcome]}."
    )


def constant_sentence(result: Claim) -> str:
    """Return the NLL without any judge under one-class coding."""
    paper = result.row("paper")
    null, constant = float(result.null_nll[paper]), float(result.constant_nll[paper])
    lowest = float(np.nanmin(result.nll.value[paper]))
    return (
        f"No judge is needed: a score that says one half for every item gets NLL {sig(constant)} "
        f"through the paper's calibrator, and the base rate alone gets {sig(null)}. The best panel "
        f"gets {sig(lowest)}: it is {'worse' if lowest > null else 'no worse'} than saying 'label "
        f"1' every time. This {MEASURES_CODING}."
    )


def honest_constant_sentence(result: Claim) -> str:
    """Return the same two null NLLs under honest labels."""
    row = result.row("honest_clipped")
    null, constant = float(result.null_nll[row]), float(result.constant_nll[row])
    return (
        f"With honest labels the same constant score gets NLL {fixed(constant, 3)} and the base "
        f"rate {fixed(null, 3)}: what a panel gains on them comes from its judges."
    )


def map_sentence(result: Claim) -> str:
    """Return the effect of free signs on the map fitted to one-class labels."""
    paper = result.maps[MAP_NAMES.index("paper")]
    a, b = float(paper[0]), float(paper[1])
    share = percent(float(result.falling[result.row("paper"), -1]), 3)
    ends = apply(paper, np.array([0.001, 0.5]))
    seen = (
        "where all judges together give label 1 a chance of 0.1 % the map says "
        f"{percent(float(ends[0]), 3)}, and where they give one half it says "
        f"{percent(float(ends[1]), 3)}"
    )
    if a >= 0.0:
        return (
            f"Fitted to all labels, the map has a = {sig(a)} and b = {sig(b)} and rises "
            f"throughout: {seen}."
        )
    return (
        f"Fitted to all labels, the map has a = {sig(a)} and b = {sig(b)}, so it falls before it "
        f"rises: {seen}. A panel that is sure of the contrary is turned around, because the label "
        f"is always 1. Over the splits, {share} of the fitted maps fall."
    )


def step_sentences(result: Claim, coding: str) -> tuple[tuple[str, str], ...]:
    """Return name and sentence of every step under one-class coding, or of all others."""
    return tuple(
        (capital(STEP_NAMES[step.name]), _step_sentence(result, step.name))
        for step in result.steps_for(coding)
    )


def _step_sentence(result: Claim, name: str) -> str:
    row, step = result.row(name), STEPS[name]
    text = f"{capital(result.arm(name, len(result.sizes)))}: NLL {_level(result, name)}"
    change = result.change[row, -1]
    if step.before is not None and math.isfinite(change.lo):
        same_judges = result.n_judges[row] == result.n_judges[result.row(step.before)]
        if same_judges and abs(change.value) < _HARDLY:
            text += f", nearly the same as '{STEP_NAMES[step.before]}'"
        else:
            moved = with_interval(*change, sign=True)
            text += f", {moved} against '{STEP_NAMES[step.before]}'"
    return f"{text}. {_why(result, name)}"


def _why(result: Claim, name: str) -> str:
    """Return what a step shows."""
    aside = int(result.n_judges[result.row("paper")] - result.n_judges[result.row("honest")])
    dropped, by_coin = (
        f" {counted(n, 'judge')} {'is' if n == 1 else 'are'} set aside here." if n else ""
        for n in (aside, int(result.n_judges.max() - result.n_judges[result.row(name)]))
    )
    leak = (
        f" But {counted(aside, 'judge')} that honest labels set aside "
        f"{'votes' if aside == 1 else 'vote'} here, and a verdict that never changes gives the "
        "label away."
        if aside
        else ""
    )
    return {
        "raw_one_class": "The sum of the votes is used directly as a probability." + leak,
        "paper": "The map may learn an intercept, and 'label 1' is all there is to learn.",
        "paper_monotone": "A map that may not fall cannot turn confident zeros into ones; the "
        "result is near a constant score's.",
        "paper_unclipped": "Clipping hides how sure the sum was; for labels of one class that "
        "matters little.",
        "paper_temperature": "One slope and no intercept: nothing about the coding can be learned"
        + (f".{leak}" if aside else ", and the figures are those of honest labels."),
        "raw_honest": "Raw scores are the same under either coding." + dropped,
        "honest_clipped": "The same recipe on the same votes: only the labels have changed."
        + dropped,
        "honest_random": "Each pair is swapped by a coin instead of being used in both orders."
        + by_coin,
        "honest_monotone": "With honest labels the map rises by itself."
        if not result.falling[result.row("honest_clipped"), -1]
        else "In some splits the free map falls even here.",
        "honest_beta": "Clipping hides how far beyond 99.9 % the sum is.",
        "honest_temperature": "One parameter in place of three.",
        "honest": "Weights that know an item's label make its score look surer than it is; this is "
        "the recipe of the other pages.",
        "joint": "Judges that err together are no longer counted as if they were independent.",
    }[name]


def joint_sentence(result: Claim) -> str:
    """Compare keeping all judges under one-coin and under joint; empty without joint."""
    k = headline_size(result)
    if not result.has("joint") or k is None:
        return ""
    joint, honest = result.reversal("joint", k), result.reversal("honest", k)
    if joint is None or honest is None or not math.isfinite(joint.delta.lo):
        return NOT_YET
    text = (
        f"{_keeping(honest, 'one-coin, which sees the sum of the votes')}; "
        f"{_keeping(joint, 'joint, which sees them together')}. All judges get NLL "
        f"{_level(result, 'honest')} and {_level(result, 'joint')}."
    )
    return capital(text)


def _keeping(reversal: Reversal, under: str) -> str:
    against = f"NLL against top-{reversal.k} under {under}"
    if reversal.delta.above():
        return f"keeping all saves {with_interval(*reversal.delta)} {against}"
    if reversal.delta.below():
        return f"keeping all costs {with_interval(*-reversal.delta)} {against}"
    moved = with_interval(*-reversal.delta, sign=True)
    return f"keeping all changes NLL by {moved} against top-{reversal.k} under {under}"


def published_sentence(result: Claim) -> str:
    """Return the paper's plain vote fraction, nearly equal for four data sets."""
    values = list(VOTE_FRACTION.values())
    constant = float(result.constant_nll[result.row("paper")])
    return (
        f"The paper's plain vote fraction under beta gets {fixed(min(values), 3)} to "
        f"{fixed(max(values), 3)} on four benchmarks of very different difficulty; a constant "
        f"score gets {fixed(constant, 3)} here. Its temperature row, which has no intercept, is "
        "at least thirty times its beta row. Both are what one-class coding gives. This "
        f"{MEASURES_CODING}."
    )


def _level(result: Claim, name: str) -> str:
    value, lo, hi = result.nll[result.row(name), -1]
    return f"{sig(value)} {interval(lo, hi)}" if math.isfinite(lo) else sig(value)
