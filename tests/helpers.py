"""Shared by several tests: small panels, ballots, and plain loops to compare kernels with."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import is_dataclass, replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from judgepanel.decision.panel_file import SNIPPET
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.panel import fit_panel, mixture_of
from judgepanel.studies import codec, contract
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.matrix import turned_around


def make_votes(
    seed=0,
    n_items=60,
    n_judges=7,
    *,
    missing=0.15,
    low=0.55,
    high=0.85,
    base_rate=0.5,
    one_class=False,
    groups=0,
    task="pairwise",
):
    """A VoteMatrix of independent judges; ``groups`` > 0 deals items to that many groups."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_items) < base_rate).astype(np.int8)
    if one_class:
        labels[:] = 1
    right = rng.random((n_items, n_judges)) < rng.uniform(low, high, n_judges)
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    votes = np.where(rng.random(votes.shape) < missing, MISSING, votes).astype(np.int8)
    names = None
    if groups:
        names = tuple(f"g{code}" for code in rng.integers(0, groups, n_items))
    return VoteMatrix(
        votes=votes,
        labels=labels,
        item_ids=tuple(f"item{i}" for i in range(n_items)),
        judges=tuple(f"judge{j:03d}" for j in range(n_judges)),
        task=task,
        groups=names,
    )


def matrix_of(votes, labels, **more):
    """A VoteMatrix of these verdicts and labels, its items and judges numbered unless named."""
    n_items, n_judges = votes.shape
    numbered = {
        "item_ids": tuple(f"i{i}" for i in range(n_items)),
        "judges": tuple(f"j{j}" for j in range(n_judges)),
    }
    return VoteMatrix(votes.astype(np.int8), labels.astype(np.int8), **(numbered | more))


def with_grades(votes, seed=0):
    """The same votes with grades behind them, that tell, of two judges in three by number.

    One gives probabilities, the next differences of ratings in halves, the third votes.
    """
    rng = np.random.default_rng(seed)
    right = votes.votes == np.where(votes.labels < 0, 1, votes.labels)[:, None]
    far = np.clip(np.abs(rng.normal(1.0 + right, 0.8)), 0.02, 2.9)
    numbers = [int(name[-3:]) if name[-3:].isdigit() else 2 for name in votes.judges]
    kinds = np.array(numbers) % 3
    margins = np.where(kinds == 0, far / 6.0, np.ceil(2.0 * far) / 2.0)
    thresholds = np.select([kinds == 0, kinds == 1], [0.5, 0.0], np.nan)
    grades = thresholds + np.where(votes.votes == 1, margins, -margins)
    grades = np.where(votes.votes == MISSING, np.nan, grades)
    return replace(votes, grades=grades, thresholds=thresholds)


def codes_of(model, votes):
    """Votes of a panel's judges with the bands of their grades; judges may be absent."""
    absent = [name for name in model.judges if name not in votes.judges]
    if absent:
        votes = with_judges(votes, absent)
    votes = votes.with_judges(model.judges)
    return model.codes(votes.votes, votes.margins)


def with_judges(votes, names):
    """The same votes with further judges, who never vote."""
    silent = np.full((votes.n_items, len(names)), MISSING, np.int8)
    grades = {}
    if votes.grades is not None:
        none = np.full(silent.shape, np.nan)
        thresholds = np.append(votes.thresholds, np.full(len(names), np.nan))
        grades = {"grades": np.hstack([votes.grades, none]), "thresholds": thresholds}
    both, judges = np.hstack([votes.votes, silent]), (*votes.judges, *names)
    return replace(votes, votes=both, judges=judges, **grades)


def larger(*values):
    """A case on a real matrix that is too large for the repository; see ``real_votes``."""
    return pytest.param(*values, marks=pytest.mark.real_votes)


def make_ballots(seed=0, n_items=40, n_judges=6, *, missing=0.2, groups=0, symmetric=False):
    """Ballots of a random panel in which judges without skill make ties likely."""
    votes = make_votes(seed, n_items, n_judges, missing=missing, low=0.4, high=0.8)
    units = np.arange(n_items)
    if groups:
        units = np.random.default_rng(seed + 1).integers(0, groups, n_items)
        units = np.unique(units, return_inverse=True)[1]
    return Ballots(signed(votes.votes), signed(votes.labels), units.astype(np.int64), symmetric)


def signed(verdicts):
    """{0, 1, -1 missing} as {-1, +1, 0}."""
    return np.where(verdicts == MISSING, 0, 2 * verdicts - 1).astype(np.int8)


def same_values(left, right):
    """Assert that two values are alike to the bit and in every type; NaN is like NaN."""
    assert type(left) is type(right), f"{left!r} and {right!r} are of two types"
    if isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        np.testing.assert_array_equal(left, right, strict=True)
        if left.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(left), np.signbit(right))
    elif is_dataclass(left):
        for name in codec.stored_fields(type(left)):
            same_values(getattr(left, name), getattr(right, name))
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key, value in left.items():
            same_values(value, right[key])
    elif isinstance(left, tuple):
        assert len(left) == len(right)
        for first, other in zip(left, right, strict=True):
            same_values(first, other)
    else:
        assert left == right or (math.isnan(left) and math.isnan(right))


def same_bits(left, right):
    """Assert that two values are alike to the bit and in every type: NaN and the sign of zero."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray | np.generic):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert left.tobytes() == right.tobytes()
    elif isinstance(left, float):
        assert struct.pack(">d", left) == struct.pack(">d", right)
    elif isinstance(left, tuple):
        assert len(left) == len(right)
        for first, other in zip(left, right, strict=True):
            same_bits(first, other)
    elif isinstance(left, dict):
        same_bits(tuple(left.items()), tuple(right.items()))
    elif isinstance(left, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right, check_exact=True)
    elif is_dataclass(left):
        for name in codec.stored_fields(type(left)):
            same_bits(getattr(left, name), getattr(right, name))
    else:
        assert left == right


def flip_items(votes, flip):
    """The same pairs with the responses of the items in the mask swapped."""
    swapped = np.where(votes.votes == MISSING, MISSING, 1 - votes.votes)
    labels = np.where(votes.labels == MISSING, MISSING, 1 - votes.labels)
    return replace(
        votes,
        votes=np.where(flip[:, None], swapped, votes.votes).astype(np.int8),
        labels=np.where(flip, labels, votes.labels).astype(np.int8),
        grades=turned_around(votes.votes, flip[:, None], votes.grades, votes.thresholds)[1],
    )


def counts_by_loop(ballots, rows):
    """Correct and cast votes of every judge, counted one vote at a time."""
    correct, voted = [0] * ballots.n_judges, [0] * ballots.n_judges
    for i in rows:
        for j in range(ballots.n_judges):
            vote = int(ballots.votes[i, j])
            voted[j] += vote != 0
            correct[j] += vote == int(ballots.signs[i])
    return correct, voted


def rank_by_loop(correct, voted, ranking):
    """Judges, best first, in exact integer arithmetic; ties keep the order of the columns."""
    from fractions import Fraction

    def key(j):
        mean = Fraction(correct[j] + 1, voted[j] + 2)
        return -mean if ranking == "accuracy" else -abs(mean - Fraction(1, 2))

    return sorted(range(len(voted)), key=key)


def logit_by_loop(ballots, item, judges, correct, voted, aggregator):
    """Raw logit of one item under these judges, and whether none of them voted."""
    total, ones, zeros, cast = 0.0, 0.0, 0.0, 0
    for j in judges:
        vote = int(ballots.votes[item, j])
        right, n = correct[j], voted[j]
        weight = {"majority": 1.0, "accuracy_weighted": (right + 1) / (n + 2)}.get(aggregator)
        if aggregator == "one_coin":
            weight = math.log((right + 1) / (n - right + 1))
        elif aggregator == "log_odds":
            inside = min(max(right, 0.5), max(n - 0.5, 0.5))
            weight = math.log(inside / (n - inside)) if n else 0.0
        total, cast = total + vote * weight, cast + abs(vote)
        ones, zeros = ones + weight * (vote > 0), zeros + weight * (vote < 0)
    sums = aggregator in ("one_coin", "log_odds")
    logit = total if sums else math.log((ones + 1) / (zeros + 1))
    return logit, cast == 0


def named(figure, name):
    """The one trace of a figure that has this name."""
    (trace,) = (trace for trace in figure.data if trace.name == name)
    return trace


def drawn(trace, axis="x"):
    """The interval that a trace draws: its values, lower and upper ends."""
    values, error = np.asarray(trace[axis]), trace[f"error_{axis}"]
    return values, values - error.arrayminus, values + error.array


def softplus(x):
    """log(1 + exp(x)), elementwise and without overflow."""
    return np.logaddexp(0.0, x)


def item_nll(logits, signs, clip=1e-3):
    """Mean NLL of clipped probabilities, from calibrated logits."""
    p = np.clip(np.exp(-softplus(-np.asarray(logits) * signs)), clip, 1 - clip)
    return float(-np.log(p).mean())


MARKS = st.sampled_from("<>&\"'`*_[](){}!#|\\~:$@=+-./^\n\t\0\u202e\u200b")
NASTY = st.text(st.one_of(MARKS, st.characters()), max_size=200)
"""Text in which marks are as likely as letters."""


class Tags(HTMLParser):
    """What a parser makes of HTML: tags with their attributes, and text."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.text += data

    @property
    def kinds(self):
        """The tags, each with the names of its attributes."""
        return {(tag, *dict(attributes)) for tag, attributes in self.tags}


UNREAD = "<img src=x onerror=alert(1)> [a](b) I cannot say."


def transcripts(n_items: int = 60) -> bytes:
    """Three judges in both orders: steady, first (says A always) and mute (writes no verdict)."""
    rows = []
    for item in range(n_items):
        label = item % 2
        for order in ("AB", "BA"):
            says = label if item % 10 else 1 - label
            right = "A" if (says == 1) == (order == "AB") else "B"
            sentence = {"steady": f"[[{right}]]", "first": "Output (a) is better.", "mute": UNREAD}
            if item % 3:
                sentence["mute"] = f"**{right}**"
            rows += [
                {"item": f"q{item}", "judge": judge, "text": text, "order": order, "label": label}
                for judge, text in sentence.items()
            ]
    return "\n".join(map(json.dumps, rows)).encode()


OF_SNIPPET: dict = {}
exec(compile(SNIPPET, "snippet", "exec"), OF_SNIPPET)  # noqa: S102 - our own text


def snippet_scores(content, votes):
    """What the snippet of a panel file makes of every item: of votes, or of their grades."""
    scores = []
    for row, verdicts in enumerate(votes.votes.tolist()):
        cells = zip(votes.judges, verdicts, strict=True)
        cast = {name: vote for name, vote in cells if vote != MISSING}
        if votes.grades is not None:
            grades = zip(votes.judges, votes.grades[row].tolist(), strict=True)
            cast |= {name: grade for name, grade in grades if not math.isnan(grade)}
        scores.append(OF_SNIPPET["probability"](content, cast))
    return scores


def single_panel(ballots, names, k, **pipeline):
    """The k best judges under one pipeline, as a panel that can be taken away."""
    return mixture_of([fit_panel(ballots, names, k, **pipeline)], [1.0])


def panel_from(votes, k, aggregator="one_coin", calibrator="temperature", **settings):
    """The k best judges of these votes under one pipeline, as a panel that can be taken away."""
    prepared = contract.prepare(votes, contract.Settings(**settings))
    return single_panel(
        prepared.ballots, prepared.judges, k, aggregator=aggregator, calibrator=calibrator
    )
