"""Members and fallback of a panel file: writing and reading.

Blocks of a panel file besides the rule: training rows, vote profile, absence and slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from judgepanel.decision.drift import far_content, profile_content
from judgepanel.decision.training_items import (
    MOST_ROWS,
    conformal_content,
    fitting_votes,
    rows_content,
    slices,
)
from judgepanel.kernels.aggregation import Graded
from judgepanel.kernels.calibration import INPUT_CLIP, KnotShape, MapShape, Shape
from judgepanel.models.panel import Fallback, Member, Mixture, PanelModel
from judgepanel.models.rules import JointSum, LevelSum, Rule, TwoCoin, VoteFraction, VoteSum
from judgepanel.scoring.conformal import LEVELS
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import grouped_votes
from judgepanel.studies.results import flat_row
from judgepanel.votes import InputError, VoteMatrix

if TYPE_CHECKING:
    from judgepanel.decision.absence import Absence
    from judgepanel.decision.recommend import RecommendSpec
    from judgepanel.decision.recommend_result import Recommendation

Numbers = tuple[float, ...]

_SUM_OF_WEIGHTS = 1e-9
"""Tolerance of the sum of the members' weights."""
_A_JUDGE = ("correct", "voted", "weights", "levels", "ones", "zeros", "shares")
_LINEAR = ("weights", "intercept")
_LIKENESS = ("shares", "prototypes", "pull")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "majority": (),
    **dict.fromkeys(("accuracy_weighted", "one_coin"), ("weights",)),
    **dict.fromkeys(("log_odds", "stacking", "stacking_monotone", "joint_monotone"), _LINEAR),
    **dict.fromkeys(("dawid_skene", "dawid_skene_semi"), ("ones", "zeros", "prior_logit")),
    "joint": (*_LINEAR, *_LIKENESS),
    "one_coin_graded": ("levels",),
    "joint_graded": ("levels", "intercept", *_LIKENESS),
}
"""Fields of a rule that a file holds besides its kind, by aggregator."""


def members_content(model: Mixture) -> list[dict[str, Any]]:
    """Return members as JSON values, heaviest first; ``columns`` index the panel's judges."""
    return [
        {
            "weight": member.weight,
            "columns": list(member.columns),
            "aggregator": aggregator_content(member.model),
            "calibrator": calibrator_content(member.model.shape),
        }
        for member in model.members
    ]


def aggregator_content(model: PanelModel) -> dict[str, Any]:
    """Return the aggregator as JSON values."""
    rule = model.rule
    content = {"kind": rule.kind, "correct": list(model.correct), "voted": list(model.voted)}
    return content | {name: to_plain(getattr(rule, name)) for name in _PARAMETERS[rule.kind]}


def calibrator_content(shape: Shape) -> dict[str, Any]:
    """Return the calibrator as JSON values; every shrunk beta map is a beta map."""
    if isinstance(shape, KnotShape):
        return {
            "kind": "isotonic",
            "logits": list(shape.logits),
            "p": list(shape.p),
            "odd": shape.odd,
        }
    kind = "beta" if shape.kind in ("beta_l2", "beta_free", "beta_cv") else shape.kind
    parameters: dict[str, dict[str, float]] = {
        "none": {},
        "temperature": {"slope": shape.a},
        "platt": {"slope": shape.a, "intercept": shape.c},
    }
    return {"kind": kind, **parameters.get(kind, {"a": shape.a, "b": shape.b, "c": shape.c})}


def fallback_content(model: Mixture) -> dict[str, Any] | None:
    """Return the fallback as JSON values, null if the panel has none."""
    rule = model.fallback
    if rule is None:
        return None
    return {"kind": "one_coin", **to_plain(rule)}


def grades_content(model: Mixture, fitted: VoteMatrix) -> list[dict[str, Any] | None] | None:
    """Return how each judge's grades are read, as JSON values; null for a judge that gave votes.

    ``fitted`` are the votes that the panel was fitted to. None if no judge gave grades.
    """
    votes = fitted.with_judges(model.judges)
    if votes.grades is None or votes.thresholds is None:
        return None
    return [
        None
        if np.isnan(threshold)
        else {
            "threshold": float(threshold),
            "edges": list(edges),
            "lowest": float(np.nanmin(grades)),
            "highest": float(np.nanmax(grades)),
            **counts,
        }
        for threshold, grades, edges, counts in zip(
            votes.thresholds,
            votes.grades.T,
            model.edges,
            far_content(fitted, model.judges, model.edges),
            strict=True,
        )
    ]


def edges_of(grades: list[dict[str, Any] | None] | None, n_judges: int) -> tuple[Numbers, ...]:
    """Return the edges of each judge's bands in a file; empty for a judge that gave votes."""
    scales = grades or [None] * n_judges
    return tuple(_floats(scale["edges"]) if scale else () for scale in scales)


def model_of(content: dict[str, Any], name: str | None) -> Mixture:
    """Return the model of a file that satisfies the schema.

    Raises
    ------
    InputError
        Lists of inconsistent lengths, columns without a judge or with two, a judge that no member
        uses, weights that do not sum to 1, a judge with more right votes than votes, decreasing
        knots, bands of grades out of order or without a weight.
    """
    judges: list[str] = content["judges"]
    _check_grades(content["grades"], len(judges), name)
    members = tuple(
        _member(member, f"members[{number}]", content, name)
        for number, member in enumerate(content["members"])
    )
    total = sum(member.weight for member in members)
    if abs(total - 1.0) > _SUM_OF_WEIGHTS:
        raise InputError(
            "weights of the panel's members do not add up to 1", file=name, value=f"{total:.6g}"
        )
    used = {column for member in members for column in member.columns}
    for column, judge in enumerate(judges):
        if column not in used:
            raise InputError("no member of the panel uses a judge", file=name, value=judge)
    return Mixture(tuple(judges), members, _fallback(content["fallback"], len(judges), name))


def _check_grades(
    grades: list[dict[str, Any] | None] | None, n_judges: int, name: str | None
) -> None:
    if grades is not None and len(grades) != n_judges:
        raise InputError(f"grades has {len(grades)} entries for {n_judges} judges", file=name)
    for scale in filter(None, grades or ()):
        rising = all(a < b for a, b in pairwise([0.0, *scale["edges"]]))
        if not rising or scale["lowest"] > scale["highest"]:
            raise InputError(
                "a judge's grades in the panel file are out of order",
                file=name,
                allowed="edges that rise from above 0, and a lowest grade that is not above the "
                "highest",
            )


def _member(content: dict[str, Any], key: str, panel: dict[str, Any], name: str | None) -> Member:
    columns, judges = content["columns"], panel["judges"]
    if max(columns) >= len(judges):
        raise InputError(
            f"{key}.columns names a judge that is not there",
            file=name,
            value=max(columns),
            allowed=f"0 to {len(judges) - 1}",
        )
    aggregator, shape = content["aggregator"], _shape(content["calibrator"], name)
    _check_aggregator(aggregator, len(columns), key, name)
    every = edges_of(panel["grades"], len(judges))
    edges = tuple(every[column] for column in columns)
    model = PanelModel(
        judges=tuple(judges[column] for column in columns),
        rule=_rule(aggregator, len(columns), name, edges),
        correct=tuple(aggregator["correct"]),
        voted=tuple(aggregator["voted"]),
        calibrator=shape.kind,
        shape=shape,
        replaced=False,
        prior=float(panel["prior"]),
        n_fit=panel["n_fit"],
    )
    return Member(float(content["weight"]), tuple(columns), model)


def _check_aggregator(
    aggregator: dict[str, Any], n_judges: int, key: str, name: str | None
) -> None:
    for part in _A_JUDGE:
        if part in aggregator and len(aggregator[part]) != n_judges:
            raise InputError(
                f"{key}.aggregator.{part} has {len(aggregator[part])} entries for "
                f"{n_judges} judges",
                file=name,
            )
    for c, n in zip(aggregator["correct"], aggregator["voted"], strict=True):
        if c > n:
            raise InputError(
                "a judge of the panel is right more often than it voted",
                file=name,
                value=c,
                allowed=f"at most {n}",
            )


def _fallback(content: dict[str, Any] | None, n_judges: int, name: str | None) -> Fallback | None:
    if content is None:
        return None
    weights = _floats(content["weights"])
    if len(weights) != n_judges:
        raise InputError(
            f"fallback.weights has {len(weights)} entries for {n_judges} judges", file=name
        )
    if not any(weights):
        raise InputError("no judge of the panel's fallback weighs anything", file=name)
    few, everybody, beyond = (float(content[key]) for key in ("few", "all", "beyond"))
    return Fallback(weights, few, everybody, beyond)


def _rule(
    content: dict[str, Any], n_judges: int, name: str | None, edges: tuple[Numbers, ...]
) -> Rule:
    kind = content["kind"]
    if kind in get_args(Graded):
        return _level_sum(content, n_judges, name, edges)
    if kind in ("majority", "accuracy_weighted"):
        return VoteFraction(kind, _floats(content.get("weights", [1.0] * n_judges)))
    if kind in ("dawid_skene", "dawid_skene_semi"):
        prior = float(content["prior_logit"])
        return TwoCoin(kind, _floats(content["ones"]), _floats(content["zeros"]), prior)
    weights, intercept = _floats(content["weights"]), float(content.get("intercept", 0.0))
    if kind != "joint":
        return VoteSum(kind, weights, intercept)
    _check_prototypes(content, n_judges, name)
    shares, past = _floats(content["shares"]), tuple(content["prototypes"])
    return JointSum(kind, weights, intercept, shares, past, _floats(content["pull"]))


def _level_sum(
    content: dict[str, Any], n_judges: int, name: str | None, edges: tuple[Numbers, ...]
) -> LevelSum:
    levels = tuple(map(_floats, content["levels"]))
    for weights, own in zip(levels, edges, strict=True):
        if len(weights) != len(own) + 1:
            raise InputError(
                "a judge of the panel has another number of levels than of bands",
                file=name,
                value=len(weights),
                allowed=f"{len(own) + 1}, one for each band of its grades",
            )
    if content["kind"] == "one_coin_graded":
        return LevelSum("one_coin_graded", levels, edges)
    _check_prototypes(content, n_judges, name)
    return LevelSum(
        "joint_graded",
        levels,
        edges,
        float(content["intercept"]),
        _floats(content["shares"]),
        tuple(content["prototypes"]),
        _floats(content["pull"]),
    )


def _check_prototypes(content: dict[str, Any], n_judges: int, name: str | None) -> None:
    if len(content["pull"]) != len(content["prototypes"]):
        raise InputError(
            f"aggregator.pull has {len(content['pull'])} entries for "
            f"{len(content['prototypes'])} prototypes",
            file=name,
        )
    for row in content["prototypes"]:
        if len(row) != n_judges:
            raise InputError(
                f"a prototype of the panel has {len(row)} votes for {n_judges} judges", file=name
            )


def _shape(content: dict[str, Any], name: str | None) -> Shape:
    kind = content["kind"]
    if kind == "isotonic":
        logits, p = _floats(content["logits"]), _floats(content["p"])
        rising = all(a < b for a, b in pairwise(logits))
        if len(logits) != len(p) or not rising or list(p) != sorted(p):
            raise InputError(
                "the knots of the panel's calibrator do not fit",
                file=name,
                allowed="as many p as logits, logits rising, p not falling",
            )
        return KnotShape("isotonic", logits, p, content["odd"])
    slope = float(content.get("slope", 1.0))
    a, b, c = slope, -slope, float(content.get("intercept", 0.0))
    if kind in ("beta", "beta_clipped"):
        a, b, c = float(content["a"]), float(content["b"]), float(content["c"])
    return MapShape(kind, a, b, c, INPUT_CLIP if kind == "beta_clipped" else None)


def _floats(values: list[Any]) -> Numbers:
    return tuple(float(value) for value in values)


def blocks_content(
    recommendation: Recommendation, votes: VoteMatrix, spec: RecommendSpec
) -> dict[str, Any]:
    """Return what a panel file says about the items of the fit and about absent judges."""
    model = recommendation.model
    parts = slices(grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed)
    fitted = fitted_items(votes, spec)
    known = dict.fromkeys((*model.judges, *recommendation.left_out, *recommendation.set_aside))
    salt = votes.sha256
    conformal = None
    if parts.held_out is not None:
        rows = rows_content(parts.held_out, model.judges, list(known), salt)
        conformal = conformal_content(model, parts.held_out, spec.conformal, rows)
    return {
        "conformal": conformal,
        "training": rows_content(fitted, model.judges, list(known), salt),
        "profile": profile_content(fitted, model.judges),
        "absence": absence_content(recommendation.absence, model.judges),
    }


def fitted_items(votes: VoteMatrix, spec: RecommendSpec) -> VoteMatrix:
    """Return the labelled items to which a panel is fitted."""
    fitted = fitting_votes(grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed)
    return fitted.with_items(fitted.labelled)


def absence_content(absence: Absence | None, judges: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the block ``absence``; None if it was not measured for this panel."""
    if absence is None or absence.judges != judges:
        return None
    content: dict[str, Any] = to_plain(absence)
    del content["judges"], content["fallback"]
    for kind in ("single", "several"):
        content[kind] = [to_plain(flat_row(row)) for row in getattr(absence, kind)]
    for group, row in zip(content["groups"], absence.groups, strict=True):
        group["figures"] = to_plain(flat_row(row.figures))
    return content


def check_blocks(content: dict[str, Any], name: str | None) -> None:
    """Check what the schema cannot: consistent lengths and counts.

    Raises
    ------
    InputError
        A list of the wrong length, counts above their totals, levels out of order.
    """
    n_judges = len(content["judges"])
    profile, absence, conformal = (content[key] for key in ("profile", "absence", "conformal"))
    _check_profile(profile, n_judges, name)
    for scale, voted in zip(content["grades"] or (), profile["voted"], strict=False):
        if scale and scale["far"] > voted:
            raise InputError("counts of the panel's grades exceed its votes", file=name)
    if absence is not None:
        _length(absence["single"], n_judges, "absence.single", name)
        numbers = [entry["n_absent"] for entry in absence["several"]]
        if numbers != sorted(set(numbers)) or numbers[-1] >= n_judges:
            raise InputError(
                "numbers of absent judges in the panel file do not rise, or no judge is left",
                file=name,
            )
        _check_groups(absence["groups"], n_judges, name)
    if conformal is not None:
        if tuple(level["level"] for level in conformal["levels"]) != LEVELS:
            raise InputError("levels of the panel's sets must be 0.8 and 0.9", file=name)
        _check_rows(conformal["rows"], "conformal.rows", name)
    _check_rows(content["training"], "training", name)


def _check_groups(groups: list[dict[str, Any]], n_judges: int, name: str | None) -> None:
    for group in groups:
        if group["judges"][-1] >= n_judges or len(group["judges"]) >= n_judges:
            raise InputError(
                "a group of absent judges is not a part of the panel",
                file=name,
                value=group["name"],
            )


def _check_profile(profile: dict[str, Any], n_judges: int, name: str | None) -> None:
    lists = {key: profile[key] for key in ("voted", "ones", "compared", "agreed")}
    lists |= {f"effects.{key}": values for key, values in profile["effects"].items()}
    for key, values in lists.items():
        _length(values, n_judges, f"profile.{key}", name)
    _length(profile["n_votes"], n_judges + 1, "profile.n_votes", name)
    n_items = [profile["n_items"]] * n_judges
    for part, whole in (
        (profile["voted"], n_items),
        (profile["ones"], profile["voted"]),
        (profile["compared"], profile["voted"]),
        (profile["agreed"], profile["compared"]),
        ([sum(profile["n_votes"])], [profile["n_items"]]),
    ):
        if any(a > b for a, b in zip(part, whole, strict=True)):
            raise InputError("counts in the panel's profile exceed their totals", file=name)


def _check_rows(rows: dict[str, Any], key: str, name: str | None) -> None:
    expected = min(rows["n_items"], MOST_ROWS)
    for part in ("id_and_votes", "votes", "votes_of_all"):
        if rows[part] is not None:
            _length(rows[part], expected, f"{key}.{part}", name)


def _length(values: list[Any], expected: int, key: str, name: str | None) -> None:
    if len(values) != expected:
        raise InputError(f"{key} has {len(values)} entries where {expected} are needed", file=name)
