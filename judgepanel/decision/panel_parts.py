"""Members and fallback of a panel file: writing and reading."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from judgepanel.kernels.calibrate.calibration import INPUT_CLIP, KnotShape, MapShape, Shape
from judgepanel.models.fallback import Fallback
from judgepanel.models.mixture import Member, Mixture
from judgepanel.models.panel import PanelModel
from judgepanel.models.rules import JointSum, Rule, TwoCoin, VoteFraction, VoteSum
from judgepanel.votes import InputError

_SUM_OF_WEIGHTS = 1e-9
"""Tolerance of the sum of the members' weights."""
_A_JUDGE = ("correct", "voted", "weights", "ones", "zeros", "shares")
_SUMS = ("log_odds", "stacking", "stacking_monotone", "joint_monotone")


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
    content: dict[str, Any] = {
        "kind": rule.kind,
        "correct": list(model.correct),
        "voted": list(model.voted),
    }
    if isinstance(rule, TwoCoin):
        return {
            **content,
            "ones": list(rule.ones),
            "zeros": list(rule.zeros),
            "prior_logit": rule.prior_logit,
        }
    if rule.kind != "majority":
        content["weights"] = list(rule.weights)
    if rule.kind in _SUMS or isinstance(rule, JointSum):
        content["intercept"] = rule.intercept  # type: ignore[union-attr]
    if isinstance(rule, JointSum):
        content |= {
            "shares": list(rule.shares),
            "prototypes": list(rule.prototypes),
            "pull": list(rule.pull),
        }
    return content


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
    return {
        "kind": "one_coin",
        "weights": list(rule.weights),
        "few": rule.few,
        "all": rule.all,
        "beyond": rule.beyond,
    }


def model_of(content: dict[str, Any], name: str | None) -> Mixture:
    """Return the model of a file that satisfies the schema.

    Raises
    ------
    InputError
        Lists of inconsistent lengths, columns without a judge or with two, a judge that no member
        uses, weights that do not sum to 1, a judge with more right votes than votes, decreasing
        knots.
    """
    judges: list[str] = content["judges"]
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
    model = PanelModel(
        judges=tuple(judges[column] for column in columns),
        rule=_rule(aggregator, len(columns), name),
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


def _rule(content: dict[str, Any], n_judges: int, name: str | None) -> Rule:
    kind = content["kind"]
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


def _floats(values: list[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
