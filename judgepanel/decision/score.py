"""Scoring of new votes with an exported panel, with warnings about the scores.

The measured absence closest to the judges that are absent now, and its figures.

An absence measured with exactly these judges is used as it is. Otherwise a group is near if it and
the absent judges have more judges in common than not (a Jaccard index above 1/2), and no second
group is mostly absent as well. If no group has lost more than half of its judges, the absence
resembles a random one, and the next larger number of absent judges is near. Of several near ones
the worst is used. If none is near (two vendors at once, for example), the absence was not measured,
and the worst one mostly contained in it is only a hint.

Grades of a panel file: whether the grades of new votes can be read as those of the fit were.

A panel cuts the grades of each judge at its own threshold into votes, and into bands by their
distance from it. New grades must be in the same units, and a judge that gave grades cannot give
bare votes: which band they belong to would be a guess.

The NLL of scores on the labels of a new file, for items that the panel was not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.decision.panel_file import PanelFile
from judgepanel.decision.training_items import (
    Drift,
    Seen,
    drift_of,
    drift_sentences,
    seen_items,
    seen_sentences,
    set_texts,
)
from judgepanel.scoring.inference import LEVEL, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import unit_codes
from judgepanel.studies.trust.selective import SURE
from judgepanel.studies.understand.judge_table import wilson
from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import BALANCED_SHARE

_NEAR = 0.5


@dataclass(frozen=True, slots=True)
class NearestAbsence:
    """``figures`` of a measured absence as in the panel file.

    ``what`` names it in words that follow 'with'. ``exact``: the same judges; ``near``: close
    enough to use.
    """

    what: str
    figures: dict[str, Any]
    exact: bool
    near: bool


def nearest_absence(content: dict[str, Any], absent: Sequence[str]) -> NearestAbsence | None:
    """Return the measured absence nearest to these absent judges; None if none was measured."""
    measured, judges = content["absence"], content["judges"]
    if measured is None:
        return None
    gone = {judges.index(name) for name in absent}
    if len(gone) == 1:
        return NearestAbsence("only it absent", measured["single"][min(gone)], True, True)
    near, inside = [], []
    groups = [set(group["judges"]) for group in measured["groups"]]
    for group, members in zip(measured["groups"], groups, strict=True):
        name = f"{group['kind']} {quote_value(group['name'])}"
        if members == gone:
            return NearestAbsence(f"{name} absent", group["figures"], True, True)
        common = len(members & gone)
        what = f"{name} absent ({common} of its {len(members)} judges are)"
        another = any(_mostly(other, gone - members) for other in groups)
        if common / len(members | gone) > _NEAR and not another:
            near.append(NearestAbsence(what, group["figures"], False, True))
        if _mostly(members, gone):
            inside.append(NearestAbsence(what, group["figures"], False, False))
    # The next larger number of absent judges, or the largest.
    enough = [entry for entry in measured["several"] if entry["n_absent"] >= len(gone)]
    figures = (enough or measured["several"][-1:])[0]
    what = f"{figures['n_absent']} of {len(judges)} judges absent, drawn at random"
    number = NearestAbsence(what, figures, False, False)
    if enough and (near or not inside):
        near.append(replace(number, near=True))
    return max(near or [*inside, number], key=lambda entry: float(entry.figures["delta"]))


def _mostly(members: set[int], gone: set[int]) -> bool:
    """Whether more than half of a group is absent."""
    return len(members & gone) / len(members) > _NEAR


def on_items(figures: dict[str, Any], n_items: int) -> tuple[float, float]:
    """95 % interval of the rise on a file of ``n_items`` new items."""
    lo, hi, delta = figures["lo"], figures["hi"], figures["delta"]
    if figures["df"] is None:
        return lo, hi
    quantile = float(distributions.t_ppf(0.5 + LEVEL / 2.0, figures["df"]))
    own = (quantile * figures["item_sd"]) ** 2 / max(n_items, 1)
    reach = math.sqrt((hi - delta) ** 2 + own)
    return delta - reach, delta + reach


def absence_sentence(content: dict[str, Any], absent: Sequence[str], n_items: int) -> str:
    """Say which judges are absent, what was measured, and whether the base rate would be better."""
    n_judges = len(content["judges"])
    who = (
        f"{len(absent)} of {n_judges} panel judges are absent and count as missing votes: "
        f"{listed(list(absent))}"
    )
    nearest = nearest_absence(content, absent)
    if nearest is None:
        return f"{who}; the panel's figures do not hold for this loss."
    return f"{who}; {_measured(content, nearest, n_items)}{_base_rate(content, nearest, n_items)}"


def _measured(content: dict[str, Any], nearest: NearestAbsence, n_items: int) -> str:
    figures, full_nll = nearest.figures, content["figures"]["nll"]
    lo, hi = on_items(figures, n_items)
    change = (
        f"with {nearest.what}, the NLL changes by {figures['delta']:+z.3f} "
        f"[{lo:+z.3f}, {hi:+z.3f}] out of sample, to about {full_nll + figures['delta']:.3f} "
        f"from {full_nll:.3f}."
    )
    if nearest.exact:
        return f"measured {change}"
    if nearest.near:
        return f"the nearest that was measured: {change}"
    return (
        "this absence was not measured, and the panel's figures do not hold for it. As a hint, "
        f"{change}"
    )


def _base_rate(content: dict[str, Any], nearest: NearestAbsence, n_items: int) -> str:
    """Say whether the NLL, or its interval, lies above that of the base rate."""
    figures, base = content["figures"], content["figures"]["null_nll"]
    nll = figures["nll"] + nearest.figures["delta"]
    rise = on_items(nearest.figures, n_items)[1] - nearest.figures["delta"]
    highest = nll + math.hypot(rise, figures["nll_hi"] - figures["nll"])
    if nll > base:
        return f" That is worse than the base rate alone ({base:.3f}): do not use these scores."
    if highest > base:
        return (
            f" That may be worse than the base rate alone ({base:.3f}): the interval of the NLL "
            f"reaches {highest:.3f}."
        )
    if not nearest.near:
        return f" It may be worse than the base rate alone ({base:.3f})."
    return ""


Scales = list[dict[str, Any] | None] | None
"""The key ``grades`` of a panel file: by judge in panel order, null for one that gave votes."""

_OUTSIDE = 0.5
"""Share of a judge's grades outside the range of the fit that makes other units likely."""


def check_grades(scales: Scales, judges: Sequence[str], votes: VoteMatrix) -> None:
    """Refuse votes in which a judge's grades cannot be read as those of the fit.

    Raises
    ------
    InputError
        A judge that gave grades to the panel gives votes here, grades cut at another threshold, or
        a -1 that was no grade before.
    """
    for judge, scale, column in _known(scales, judges, votes):
        threshold = float("nan") if votes.thresholds is None else float(votes.thresholds[column])
        if np.isnan(threshold):
            raise InputError(
                "a judge that gave the panel grades gives votes here",
                column=judge,
                allowed=f"grades, which the panel cuts at {scale['threshold']:g}",
                remedy="give its grades, or, on the command line, say with --threshold "
                f"JUDGE={scale['threshold']:g} that these numbers are grades",
            )
        if threshold != scale["threshold"]:
            raise InputError(
                "grades are cut at another threshold than the panel's",
                column=judge,
                value=threshold,
                allowed=f"{scale['threshold']:g}",
                remedy="give the grades in the units of the panel, and no threshold",
            )
        if scale["lowest"] >= 0.0 and (_grades(votes, column) == -1.0).any():
            raise InputError(
                "-1 may be a grade or a missing vote",
                column=judge,
                allowed=f"grades from {scale['lowest']:g} to {scale['highest']:g}, as the panel "
                "was fitted to",
                remedy="leave missing votes blank",
            )


def units_sentences(scales: Scales, judges: Sequence[str], votes: VoteMatrix) -> list[str]:
    """Return a warning about judges most of whose grades lie outside the range of the fit."""
    others = []
    for judge, scale, column in _known(scales, judges, votes):
        grades = _grades(votes, column)
        outside = (grades < scale["lowest"]) | (grades > scale["highest"])
        if outside.mean() > _OUTSIDE:
            others.append(judge)
    if not others:
        return []
    return [
        f"Most grades of {listed(others)} lie outside the range of those the panel was fitted to: "
        "if they are in other units, the scores are wrong."
    ]


def _known(
    scales: Scales, judges: Sequence[str], votes: VoteMatrix
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield each judge that gave the panel grades and votes here, how they are read, its column."""
    place = {name: column for column, name in enumerate(votes.judges)}
    for judge, scale in zip(judges, scales or (), strict=False):
        if scale and judge in place and (votes.votes[:, place[judge]] != MISSING).any():
            yield judge, scale, place[judge]


def _grades(votes: VoteMatrix, column: int) -> Floats:
    """The grades (n,) of a judge that are not missing."""
    grades = np.zeros(0) if votes.grades is None else votes.grades[:, column]
    return np.asarray(grades[~np.isnan(grades)])


_LEAST = -float(np.log(0.999))


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Means over labelled new items.

    ``nll`` in nats is for this panel on items like these; ``null_nll`` is that of always predicting
    the panel's base rate (.5 under ``symmetric``). ``n_wrong`` items have P(true label) < .5: if
    they are few, the NLL depends on few items. ``right`` is the accuracy with its Wilson interval
    (groups whole count as one item), ``sure_right`` that of the ``n_sure`` items of which the panel
    is at least ``SURE`` sure.
    """

    nll: Interval
    null_nll: float
    brier: float
    accuracy: float
    n_wrong: int
    right: Interval
    n_sure: int
    sure_right: Interval

    @property
    def skill(self) -> float:
        """1 - NLL / null NLL."""
        return 1.0 - float(self.nll.value) / self.null_nll


@dataclass(frozen=True, slots=True)
class Labelled:
    """Scores compared with the labels of a file.

    ``figures`` are based on ``n`` labelled items new to the panel; None if there are fewer than two
    such items (or groups), or if (nearly) all of the file was seen. ``n_seen`` labelled items are
    left out because the panel, or its sets, were fitted to them. ``checked`` is false if it is
    unknown which items are new. ``measures_coding`` means that nearly all of those n labels of
    pairs are equal: the order of the file then gives answers away.
    """

    n: int
    n_seen: int
    checked: bool
    measures_coding: bool
    figures: LabelFigures | None


def labelled_figures(
    votes: VoteMatrix, p: Floats, seen: Seen, held_out: Bools, *, null: float, symmetric: bool
) -> Labelled | None:
    """Figures of P(label 1) (n_items,) on the labels of ``votes``; None without labels.

    ``held_out`` (n_items,) marks items of the conformal slice; ``null`` is the panel's base rate.
    The interval is Student's over items, groups whole, conditional on the panel. A short file may
    contain no wrong answer of an accurate panel and then shows no spread, so the variance is at
    least that implied by the panel's own probabilities, the mean of p (1 - p) logit(p)^2 over n.
    """
    if not votes.labelled.any():
        return None
    away = seen.rows | held_out
    new = votes.labelled & ~away
    lopsided = votes.with_items(new).minority_share < BALANCED_SHARE if new.any() else False
    return Labelled(
        n=int(new.sum()),
        n_seen=int((votes.labelled & away).sum()),
        checked=seen.checked,
        measures_coding=votes.task == "pairwise" and not symmetric and lopsided,
        figures=None if seen.wholly else _figures(votes, p, new, null, symmetric=symmetric),
    )


def _figures(
    votes: VoteMatrix, p: Floats, new: Bools, null: float, *, symmetric: bool
) -> LabelFigures | None:
    units = votes.units[new]
    n_units = len(np.unique(units))
    if n_units < 2:
        return None
    right = votes.labels[new] == 1
    p_true = np.where(right, p[new], 1.0 - p[new])
    losses = -np.log(p_true)
    nll = float(losses.mean())
    variance = max(float(sampling_variance(losses[None], units)[0]), _own_variance(p[new], units))
    reach = float(distributions.t_ppf(0.5 + LEVEL / 2.0, n_units - 1)) * float(np.sqrt(variance))
    hit = np.where(p_true == 0.5, 0.5 if symmetric else right, p_true > 0.5)
    sure = np.maximum(p[new], 1.0 - p[new]) >= SURE
    return LabelFigures(
        nll=Interval.single(nll, min(nll, max(nll - reach, _LEAST)), nll + reach),
        null_nll=float(-np.log(np.where(right, null, 1.0 - null)).mean()),
        brier=float(((1.0 - p_true) ** 2).mean()),
        accuracy=float(hit.mean()),
        n_wrong=int((p_true < 0.5).sum()),
        right=_share_right(hit, units),
        n_sure=int(sure.sum()),
        sure_right=_share_right(hit[sure], units[sure]),
    )


def _share_right(hit: Floats, units: Ints) -> Interval:
    """The share of correct decisions with its Wilson interval; a group counts as one item."""
    n = len(np.unique(units))
    share = float(hit.mean()) if n else math.nan
    lo, hi = wilson(np.array([(share if n else 0.0) * n]), np.array([n]))
    return Interval.single(share, float(lo[0]), float(hi[0]))


def _own_variance(p: Floats, units: Ints) -> float:
    """Variance of the mean of -log P(true label) if every P(label 1) is correct.

    Items of a group are taken to be right or wrong together.
    """
    spread = np.sqrt(p * (1.0 - p)) * np.abs(np.log(p) - np.log1p(-p))
    return float((np.bincount(unit_codes(units)[0], spread) ** 2).sum()) / len(p) ** 2


_BY_CHANCE = 0.01
"""A judge without votes in a file counts as absent if that is less likely than this by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Probabilities of new items.

    ``p`` (n_items,) is P(label = 1) in the file's own order, in [.001, .999]; ``n_votes``
    (n_items,) counts votes of panel judges; ``sets`` has the sets at 80 % and at 90 %, one text per
    item, blank if the panel has no held-out slice. ``fallback`` (n_items,) marks items that the
    panel's fallback scored because too much of the panel did not vote on them. ``seen`` says on
    which items the panel was fitted, ``drift`` compares the votes with those,
    ``labelled`` evaluates the scores on the file's labels (None without any).
    ``warnings`` are full sentences.
    """

    item_ids: tuple[str, ...]
    p: Floats
    n_votes: Ints
    sets: tuple[tuple[str, ...], tuple[str, ...]]
    fallback: Bools
    seen: Seen
    drift: Drift
    labelled: Labelled | None
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return the columns of scored.csv.

        The decision is blank at p = .5 and without votes; the fallback is 1 if it scored the item.
        """
        decided = (self.p != 0.5) & (self.n_votes > 0)
        decision = np.where(decided, np.where(self.p > 0.5, "1", "0"), "")
        return pd.DataFrame(
            {
                "item_id": list(self.item_ids),
                "p": self.p,
                "decision": decision,
                "set_80": list(self.sets[0]),
                "set_90": list(self.sets[1]),
                "n_votes": self.n_votes,
                "fallback": self.fallback.astype(np.int64),
            }
        )


def score(panel: PanelFile, votes: VoteMatrix) -> Scored:
    """Score every item of ``votes``; absent judges of the panel count as missing votes.

    Raises
    ------
    InputError
        None of the panel's judges is in the file, or a judge whose grades the panel reads gives
        votes, or grades that are cut elsewhere.
    """
    model, content = panel.model, panel.content
    position = {name: column for column, name in enumerate(votes.judges)}
    if not any(name in position for name in model.judges):
        raise InputError(
            "none of the panel's judges is in this file",
            value=", ".join(votes.judges[:3]) + (" and others" if votes.n_judges > 3 else ""),
            allowed=f"at least one of {listed(model.judges)}",
            remedy="choose the file that holds their votes, or give its columns the panel's names",
        )
    check_grades(content["grades"], model.judges, votes)
    matrix = np.full((votes.n_items, len(model.judges)), MISSING, dtype=np.int8)
    margins = np.zeros(matrix.shape)
    for column, name in enumerate(model.judges):
        if name in position:
            matrix[:, column] = votes.votes[:, position[name]]
            if votes.margins is not None:
                margins[:, column] = votes.margins[:, position[name]]
    n_votes = (matrix != MISSING).sum(axis=1).astype(np.int64)
    codes = model.codes(matrix, margins)
    p, fallback = model.score(codes), model.falls_back(codes)
    as_read = votes.with_task(content["task"])
    same = as_read.sha256 == content["votes"]["sha256"]
    seen = _seen(content, as_read, content["training"])
    held_out = _seen(content, as_read, (content["conformal"] or {}).get("rows"))
    if same:
        everything = np.ones(votes.n_items, dtype=bool)
        seen = Seen(everything, ~everything, wholly=True, checked=True)
    drift = drift_of(
        content["profile"],
        content["judges"],
        votes,
        as_given=content["orientation"] == "as_given",
        chosen=bool(content["left_out"]),
        grades=content["grades"],
    )
    symmetric = content["orientation"] == "symmetric"
    labelled = labelled_figures(
        as_read, p, seen, held_out.rows, null=model.prior, symmetric=symmetric
    )
    at_80, at_90 = set_texts(content["conformal"], p)
    scored = Scored(
        item_ids=votes.item_ids,
        p=p,
        n_votes=n_votes,
        sets=(tuple(at_80), tuple(at_90)),
        fallback=fallback,
        seen=seen,
        drift=drift,
        labelled=labelled,
        warnings=(),
    )
    return replace(scored, warnings=tuple(_warnings(panel, votes, scored, held_out, same=same)))


def _seen(content: dict[str, Any], votes: VoteMatrix, rows: dict[str, Any] | None) -> Seen:
    salt = content["votes"]["sha256"]
    return seen_items(rows, votes, content["judges"], _known_judges(content), salt)


def _known_judges(content: dict[str, Any]) -> list[str]:
    return [*content["judges"], *content["left_out"], *content["set_aside"]]


def _warnings(
    panel: PanelFile, votes: VoteMatrix, scored: Scored, held_out: Seen, *, same: bool
) -> Iterator[str]:
    """Yield what limits these scores, in sentences; ``same`` votes are those of the fit."""
    content, model = panel.content, panel.model
    if absent := _absent_judges(panel, votes):
        yield absence_sentence(content, absent, votes.n_items)
        if content["conformal"] is not None:
            yield (
                "Sets were made with all judges there: with judges absent nothing promises how "
                "often they hold the label."
            )
    if model.fallback is not None and scored.fallback.any():
        yield (
            f"{int(scored.fallback.sum())} of {votes.n_items} items were scored by the panel's "
            "fallback (one-coin with a temperature for the judges that are there), since judges "
            f"with more than {100 * model.fallback.beyond:.0f} % of its weight did not vote on "
            "them."
        )
    known = set(_known_judges(content))
    if unknown := [name for name in votes.judges if name not in known]:
        yield (
            f"{len(unknown)} of the columns are judges the panel does not know; not used: "
            f"{listed(unknown)}."
        )
    yield from units_sentences(content["grades"], model.judges, votes)
    empty = np.flatnonzero(scored.n_votes == 0)
    if len(empty):
        yield (
            f"{len(empty)} items have no vote of the panel (first "
            f"{quote_value(votes.item_ids[int(empty[0])])}); they get the prior "
            f"{model.prior:.3f} and no decision."
        )
    if same:
        yield "These are the votes the panel was fitted on; scores of seen items flatter."
    else:
        yield from seen_sentences(scored.seen, votes.item_ids)
        if held_out.rows.any():
            yield (
                f"{int(held_out.rows.sum())} of {votes.n_items} items were held out to make the "
                "sets; their sets are not evidence of coverage."
            )
    yield from drift_sentences(scored.drift)


def _absent_judges(panel: PanelFile, votes: VoteMatrix) -> list[str]:
    """Return judges without a column, and those without votes that should have cast some by now."""
    judges, profile = panel.model.judges, panel.content["profile"]
    place = {name: column for column, name in enumerate(votes.judges)}
    silent = (votes.votes == MISSING).all(axis=0)
    absent = []
    for position, name in enumerate(judges):
        never = 1.0 - profile["voted"][position] / profile["n_items"]
        if name not in place or (silent[place[name]] and never**votes.n_items < _BY_CHANCE):
            absent.append(name)
    return absent
