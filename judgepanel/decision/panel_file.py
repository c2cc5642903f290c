"""panel.json: a fitted panel as a versioned file that can be checked, read and scored anywhere.

A plain Python script that scores with panel.json alone.

On the same machine, with the same wheels, it agrees with the library to the last bit. It is stored
as text because it is exported; tests run it against the library.

Members and fallback of a panel file: writing and reading.

Blocks of a panel file besides the rule: training rows, vote profile, absence and slice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from judgepanel import ENGINE, __version__
from judgepanel.decision import training_items
from judgepanel.kernels.calibration import INPUT_CLIP, KnotShape, MapShape, Shape
from judgepanel.models.panel import Fallback, Member, Mixture, PanelModel, Rule
from judgepanel.scoring.conformal import LEVELS
from judgepanel.studies import codec, contract, results
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.checks import Check
from judgepanel.votes.errors import first_repeated, quote_value

if TYPE_CHECKING:
    from judgepanel.decision.absence import Absence
    from judgepanel.decision.recommend import RecommendSpec
    from judgepanel.decision.recommend_result import Recommendation

Numbers = tuple[float, ...]

_SUM_OF_WEIGHTS = 1e-9
"""Tolerance of the sum of the members' weights."""
_COUNTS = ("correct", "voted")
_A_JUDGE = (*_COUNTS, "weights", "levels", "ones", "zeros", "shares")
_NOT_HELD: Mapping[str, tuple[str, ...]] = {
    "majority": ("weights",),
    "one_coin": ("intercept",),
    "one_coin_graded": ("intercept", "shares", "prototypes", "pull"),
}
"""Fields of a rule that a file does not hold, since all such rules have the same."""
_RULES: Mapping[str, Any] = {
    kind: rule for rule in get_args(Rule) for kind in get_args(get_type_hints(rule)["kind"])
}


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
    left_out = ("kind", "edges", *_NOT_HELD.get(rule.kind, ()))
    names = (field.name for field in fields(rule) if field.name not in left_out)
    return content | {name: codec.to_plain(getattr(rule, name)) for name in names}


def calibrator_content(shape: Shape) -> dict[str, Any]:
    """Return the calibrator as JSON values; every shrunk beta map is a beta map."""
    if isinstance(shape, KnotShape):
        knots = {"logits": list(shape.logits), "p": list(shape.p), "odd": shape.odd}
        return {"kind": "isotonic", **knots}
    kind = "beta" if shape.kind in ("beta_l2", "beta_free", "beta_cv") else shape.kind
    parameters: dict[str, dict[str, float]] = {
        "none": {},
        "temperature": {"slope": shape.a},
        "platt": {"slope": shape.a, "intercept": shape.c},
    }
    return {"kind": kind, **parameters.get(kind, {"a": shape.a, "b": shape.b, "c": shape.c})}


def grades_content(model: Mixture, fitted: VoteMatrix) -> list[dict[str, Any] | None] | None:
    """Return how each judge's grades are read, as JSON values; null for a judge that gave votes.

    ``fitted`` are the votes that the panel was fitted to. None if no judge gave grades.
    """
    votes = fitted.with_judges(model.judges)
    if votes.grades is None or votes.thresholds is None:
        return None
    far = training_items.far_content(fitted, model.judges, model.edges)
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
            votes.thresholds, votes.grades.T, model.edges, far, strict=True
        )
    ]


def model_of(content: dict[str, Any]) -> Mixture:
    """Return the model of a file that satisfies the schema.

    Raises
    ------
    InputError
        Lists of inconsistent lengths, columns without a judge or with two, a judge that no member
        uses, weights that do not sum to 1, a judge with more right votes than votes, decreasing
        knots, bands of grades out of order or without a weight.
    """
    judges: list[str] = content["judges"]
    _check_grades(content["grades"], len(judges))
    members = tuple(
        _member(member, f"members[{number}]", content)
        for number, member in enumerate(content["members"])
    )
    total = sum(member.weight for member in members)
    if abs(total - 1.0) > _SUM_OF_WEIGHTS:
        raise InputError("weights of the panel's members do not add up to 1", value=f"{total:.6g}")
    used = {column for member in members for column in member.columns}
    for column, judge in enumerate(judges):
        if column not in used:
            raise InputError("no member of the panel uses a judge", value=judge)
    return Mixture(tuple(judges), members, _fallback(content["fallback"], len(judges)))


def _check_grades(grades: list[dict[str, Any] | None] | None, n_judges: int) -> None:
    if grades is not None and len(grades) != n_judges:
        raise InputError(f"grades has {len(grades)} entries for {n_judges} judges")
    for scale in filter(None, grades or ()):
        rising = all(a < b for a, b in pairwise([0.0, *scale["edges"]]))
        if not rising or scale["lowest"] > scale["highest"]:
            raise InputError(
                "a judge's grades in the panel file are out of order",
                allowed="edges that rise from above 0, and a lowest grade that is not above the "
                "highest",
            )


def _member(content: dict[str, Any], key: str, panel: dict[str, Any]) -> Member:
    columns, judges = content["columns"], panel["judges"]
    if max(columns) >= len(judges):
        why, allowed = f"{key}.columns names a judge that is not there", f"0 to {len(judges) - 1}"
        raise InputError(why, value=max(columns), allowed=allowed)
    aggregator, shape = content["aggregator"], _shape(content["calibrator"])
    _check_aggregator(aggregator, len(columns), key)
    # A judge that gave votes has no scale, and its votes one band.
    scales = [(panel["grades"] or [None] * len(judges))[column] for column in columns]
    edges = tuple(_floats(scale["edges"]) if scale else () for scale in scales)
    model = PanelModel(
        judges=tuple(judges[column] for column in columns),
        rule=_rule(aggregator, len(columns), edges),
        correct=tuple(aggregator["correct"]),
        voted=tuple(aggregator["voted"]),
        calibrator=shape.kind,
        shape=shape,
        replaced=False,
        prior=float(panel["prior"]),
        n_fit=panel["n_fit"],
    )
    return Member(float(content["weight"]), tuple(columns), model)


def _check_aggregator(aggregator: dict[str, Any], n_judges: int, key: str) -> None:
    for part in _A_JUDGE:
        if part in aggregator and len(aggregator[part]) != n_judges:
            raise InputError(
                f"{key}.aggregator.{part} has {len(aggregator[part])} entries for {n_judges} judges"
            )
    for c, n in zip(aggregator["correct"], aggregator["voted"], strict=True):
        if c > n:
            why = "a judge of the panel is right more often than it voted"
            raise InputError(why, value=c, allowed=f"at most {n}")


def _fallback(content: dict[str, Any] | None, n_judges: int) -> Fallback | None:
    if content is None:
        return None
    weights = _floats(content["weights"])
    if len(weights) != n_judges:
        raise InputError(f"fallback.weights has {len(weights)} entries for {n_judges} judges")
    if not any(weights):
        raise InputError("no judge of the panel's fallback weighs anything")
    return Fallback(weights, *(float(content[key]) for key in ("few", "all", "beyond")))


def _rule(content: dict[str, Any], n_judges: int, edges: tuple[Numbers, ...]) -> Rule:
    parts = {part: _part(value) for part, value in content.items() if part not in _COUNTS}
    if content["kind"] == "majority":
        parts["weights"] = (1.0,) * n_judges
    if "levels" in parts:
        parts["edges"] = edges
        for weights, own in zip(parts["levels"], edges, strict=True):
            if len(weights) != len(own) + 1:
                raise InputError(
                    "a judge of the panel has another number of levels than of bands",
                    value=len(weights),
                    allowed=f"{len(own) + 1}, one for each band of its grades",
                )
    if "prototypes" in parts:
        if len(content["pull"]) != len(content["prototypes"]):
            raise InputError(
                f"aggregator.pull has {len(content['pull'])} entries for "
                f"{len(content['prototypes'])} prototypes"
            )
        for row in content["prototypes"]:
            if len(row) != n_judges:
                raise InputError(
                    f"a prototype of the panel has {len(row)} votes for {n_judges} judges"
                )
    rule: Rule = _RULES[content["kind"]](**parts)
    return rule


def _part(value: Any) -> Any:
    """Return numbers as floats, lists as tuples and texts as they are."""
    if isinstance(value, list):
        return tuple(map(_part, value))
    return value if isinstance(value, str) else float(value)


def _shape(content: dict[str, Any]) -> Shape:
    kind = content["kind"]
    if kind == "isotonic":
        logits, p = _floats(content["logits"]), _floats(content["p"])
        rising = all(a < b for a, b in pairwise(logits))
        if len(logits) != len(p) or not rising or list(p) != sorted(p):
            raise InputError(
                "the knots of the panel's calibrator do not fit",
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
    result: Recommendation, votes: VoteMatrix, spec: RecommendSpec
) -> dict[str, Any]:
    """Return what a panel file says about the items of the fit and about absent judges."""
    model = result.model
    grouped = contract.grouped_votes(votes, spec.settings)
    held_out = training_items.slices(grouped, spec.conformal, spec.settings.seed).held_out
    fitted = fitted_items(votes, spec)
    known = dict.fromkeys((*model.judges, *result.left_out, *result.set_aside))
    salt = votes.sha256
    conformal = None
    if held_out is not None:
        rows = training_items.rows_content(held_out, model.judges, list(known), salt)
        conformal = training_items.conformal_content(model, held_out, spec.conformal, rows)
    return {
        "conformal": conformal,
        "training": training_items.rows_content(fitted, model.judges, list(known), salt),
        "profile": training_items.profile_content(fitted, model.judges),
        "absence": absence_content(result.absence, model.judges),
    }


def fitted_items(votes: VoteMatrix, spec: RecommendSpec) -> VoteMatrix:
    """Return the labelled items to which a panel is fitted."""
    grouped = contract.grouped_votes(votes, spec.settings)
    fitted = training_items.slices(grouped, spec.conformal, spec.settings.seed).fitted
    return fitted.with_items(fitted.labelled)


def absence_content(absence: Absence | None, judges: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the block ``absence``; None if it was not measured for this panel."""
    if absence is None or absence.judges != judges:
        return None
    content: dict[str, Any] = codec.to_plain(absence)
    del content["judges"], content["fallback"]
    for kind in ("single", "several"):
        content[kind] = [codec.to_plain(results.flat_row(row)) for row in getattr(absence, kind)]
    for group, row in zip(content["groups"], absence.groups, strict=True):
        group["figures"] = codec.to_plain(results.flat_row(row.figures))
    return content


def check_blocks(content: dict[str, Any]) -> None:
    """Check what the schema cannot: consistent lengths and counts.

    Raises
    ------
    InputError
        A list of the wrong length, counts above their totals, levels out of order.
    """
    n_judges = len(content["judges"])
    profile, absence, conformal = (content[key] for key in ("profile", "absence", "conformal"))
    _check_profile(profile, n_judges)
    for scale, voted in zip(content["grades"] or (), profile["voted"], strict=False):
        if scale and scale["far"] > voted:
            raise InputError("counts of the panel's grades exceed its votes")
    if absence is not None:
        _length(absence["single"], n_judges, "absence.single")
        numbers = [entry["n_absent"] for entry in absence["several"]]
        if numbers != sorted(set(numbers)) or numbers[-1] >= n_judges:
            raise InputError(
                "numbers of absent judges in the panel file do not rise, or no judge is left"
            )
        for group in absence["groups"]:
            if group["judges"][-1] >= n_judges or len(group["judges"]) >= n_judges:
                raise InputError(
                    "a group of absent judges is not a part of the panel", value=group["name"]
                )
    if conformal is not None:
        if tuple(level["level"] for level in conformal["levels"]) != LEVELS:
            raise InputError("levels of the panel's sets must be 0.8 and 0.9")
        _check_rows(conformal["rows"], "conformal.rows")
    _check_rows(content["training"], "training")


def _check_profile(profile: dict[str, Any], n_judges: int) -> None:
    lists = {key: profile[key] for key in ("voted", "ones", "compared", "agreed")}
    lists |= {f"effects.{key}": values for key, values in profile["effects"].items()}
    for key, values in lists.items():
        _length(values, n_judges, f"profile.{key}")
    _length(profile["n_votes"], n_judges + 1, "profile.n_votes")
    n_items = [profile["n_items"]] * n_judges
    for part, whole in (
        (profile["voted"], n_items),
        (profile["ones"], profile["voted"]),
        (profile["compared"], profile["voted"]),
        (profile["agreed"], profile["compared"]),
        ([sum(profile["n_votes"])], [profile["n_items"]]),
    ):
        if any(a > b for a, b in zip(part, whole, strict=True)):
            raise InputError("counts in the panel's profile exceed their totals")


def _check_rows(rows: dict[str, Any], key: str) -> None:
    expected = min(rows["n_items"], training_items.MOST_ROWS)
    for part in ("id_and_votes", "votes", "votes_of_all"):
        if rows[part] is not None:
            _length(rows[part], expected, f"{key}.{part}")


def _length(values: list[Any], expected: int, key: str) -> None:
    if len(values) != expected:
        raise InputError(f"{key} has {len(values)} entries where {expected} are needed")


FORMAT = "judgepanel/panel"
VERSION = 6
_PARTS = ("aggregator", "calibrator")
"""Parts of a member, each tagged by its kind."""
_LARGEST = 1e12
_MOST_BYTES = 64 << 20
_MOST_ENTRIES, _MOST_VALUES = 100_000, 1_000_000
"""Entries of one list, and of all lists of a file together."""
_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    # JSON Schema takes 2.0 for an integer; as an index or a count it would fail later.
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
_PICKED = " It was picked among many candidates, for which these figures do not allow."


@dataclass(frozen=True, slots=True, eq=False)
class PanelFile:
    """A panel read from a file: the model that scores, and the whole file (``content``)."""

    model: Mixture
    content: dict[str, Any]

    @property
    def thresholds(self) -> dict[str, float]:
        """Where the grades of each judge that gave grades are cut into votes."""
        scales = self.content["grades"] or ()
        named = zip(self.model.judges, scales, strict=False)
        return {judge: float(scale["threshold"]) for judge, scale in named if scale}

    @property
    def known(self) -> dict[str, float]:
        """All judges with their thresholds; NaN for one that gave no grades."""
        return {judge: self.thresholds.get(judge, math.nan) for judge in self.model.judges}


def export_panel(
    result: Recommendation, votes: VoteMatrix, spec: RecommendSpec, checks: tuple[Check, ...]
) -> dict[str, Any]:
    """Return the content of panel.json for a recommendation; it satisfies the JSON Schema."""
    model = result.model
    nll, nll_lo, nll_hi = map(float, result.nll)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "judgepanel": __version__,
        "engine": ENGINE,
        "task": votes.task,
        "orientation": result.orientation,
        "votes": {
            **{name: getattr(votes, name) for name in ("sha256", "n_items", "n_judges")},
            "n_labelled": int(votes.labelled.sum()),
        },
        "judges": list(model.judges),
        "grades": grades_content(model, fitted_items(votes, spec)),
        "members": members_content(model),
        "fallback": model.fallback and {"kind": "one_coin", **codec.to_plain(model.fallback)},
        "prior": model.prior,
        "n_fit": model.n_fit,
        **blocks_content(result, votes, spec),
        "figures": {
            "nll": nll,
            "nll_lo": nll_lo,
            "nll_hi": nll_hi,
            "null_nll": result.null_nll,
            "skill": 1.0 - nll / result.null_nll,
            **{name: getattr(result, name) for name in ("brier", "accuracy", "ece")},
            "n_cal": result.n_calibration,
            "n_eval": result.n_evaluation,
            "n_splits": result.n_splits,
            "seed": result.seed,
            "note": (
                f"Measured on panels chosen and fitted on {result.n_calibration:.0f} "
                f"labels; this panel was refitted on all {model.n_fit}"
                f"{' that were not held out' if spec.conformal else ''}."
                f"{_PICKED if result.instead_of else ''}"
            ),
        },
        "checks": [codec.to_plain(check) for check in (*checks, *_position_check(result))],
        **{name: list(getattr(result, name)) for name in ("left_out", "set_aside", "warnings")},
        "spec": codec.to_plain(spec),
    }
    _validate(content)
    return content


def _position_check(result: Recommendation) -> tuple[Check, ...]:
    """Return a check of whether a constant position explains the figures, if applicable."""
    position = result.position
    if position is None:
        return ()
    gap, lo, hi = map(float, position.gap)
    numbers: dict[str, float | int | str] = {
        "constant label": position.label,
        "its NLL on the file as given": position.nll,
        "NLL(panel) - that": gap,
        "lower": lo,
        "upper": hi,
    }
    if position.explains:
        why = "The panel is not shown to beat a constant position on the file as given."
        advice = "Collect both orders, or a random order, before this panel is used."
        return (Check("P0", "P0 Constant position", "fail", numbers, why, advice),)
    why = "The panel is shown to beat a constant position on the file as given."
    return (Check("P0", "P0 Constant position", "pass", numbers, why, "Nothing to do."),)


def panel_json(content: dict[str, Any]) -> str:
    """Return the canonical text of a panel file; floats round-trip exactly."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_panel(text: str | bytes, *, name: str | None = None) -> PanelFile:
    """Read and check a panel file.

    Raises
    ------
    InputError
        Not JSON, not a panel, too large, an unknown version, kind or key, a duplicate key, or
        inconsistent numbers.
    """
    try:
        return _read(text)
    except InputError as error:
        raise replace(error, file=name) from None


def _read(text: str | bytes) -> PanelFile:
    if len(text) > _MOST_BYTES:
        raise InputError(
            f"a panel file of {len(text) >> 20:,} MB",
            allowed=f"at most {_MOST_BYTES >> 20} MB, far more than judgepanel writes",
        )
    try:
        content = json.loads(
            text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_each_key_once
        )
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not a panel file: it cannot be read as JSON ({error})",
            allowed="a panel.json written by judgepanel",
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError("not a panel file", allowed="a panel.json written by judgepanel")
    _check_counts(content)
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        why, remedy = "panel file of an unknown version", None
        if isinstance(version, int) and 0 < version < VERSION:
            why, remedy = "panel file from before the first release", "export the panel again"
        raise InputError(why, value=version, allowed=f"version {VERSION}", remedy=remedy)
    _validate(content)
    return PanelFile(model_of(content), content)


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of panel.json."""
    text = resources.files("judgepanel.decision").joinpath("panel.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _check_counts(content: dict[str, Any]) -> None:
    """Refuse lists of more entries than a panel has, before each is checked."""
    total, waiting = 0, list[Any]([content])
    while waiting:
        value = waiting.pop()
        inner = list(value.values() if isinstance(value, dict) else value)
        total += len(inner)
        if len(inner) > _MOST_ENTRIES or total > _MOST_VALUES:
            raise InputError(
                "a panel file with too many entries",
                allowed=f"at most {_MOST_ENTRIES:,} in a list and {_MOST_VALUES:,} in all",
            )
        waiting += [entry for entry in inner if isinstance(entry, dict | list)]


def _validate(content: dict[str, Any]) -> None:
    members = content.get("members")
    for member in members if isinstance(members, list) else []:
        for part in _PARTS if isinstance(member, dict) else ():
            # A union in the schema could only report an unknown kind as invalid.
            block, kinds = member.get(part), _kinds(part)
            if isinstance(block, dict) and block.get("kind") not in kinds:
                kind, allowed = block.get("kind"), ", ".join(kinds)
                raise InputError(
                    f"unknown kind of {part}", column="kind", value=kind, allowed=allowed
                )
    if errors := sorted(_Validator(schema()).iter_errors(content), key=lambda e: e.json_path):
        worst = errors[0]
        if worst.validator == "oneOf" and isinstance(worst.instance, dict):
            # The error inside the union branch that the kind selects.
            branch = _kinds(str(worst.path[-1])).index(worst.instance["kind"])
            worst = next(inner for inner in worst.context if inner.schema_path[0] == branch)
        raise InputError(
            f"panel file does not fit its schema at {worst.json_path}: {worst.message[:160]}"
        )
    for key, value in _numbers_in(content):
        if abs(value) > _LARGEST:
            raise InputError(
                f"{key} of the panel is out of range",
                value=f"{value:.6g}" if isinstance(value, float) else str(value)[:20],
                allowed=f"at most {_LARGEST:g} in size",
            )
    check_blocks(content)


def _kinds(part: str) -> list[str]:
    return [branch["properties"]["kind"]["const"] for branch in schema()["$defs"][part]["oneOf"]]


def _numbers_in(content: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every number that scoring uses."""
    blocks = {
        f"members[{m}].{part}": member[part]
        for m, member in enumerate(content["members"])
        for part in _PARTS
    }
    blocks |= {f"grades[{j}]": scale for j, scale in enumerate(content["grades"] or ())}
    for name, block in {**blocks, "fallback": content["fallback"]}.items():
        for key, value in (block or {}).items():
            for number in _flat(value):
                yield f"{name}.{key}", number


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, int | float):
        yield value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a number")
    return value


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = first_repeated([key for key, _ in pairs])
    if twice is not None:
        raise ValueError(f"the key {quote_value(twice)} is given twice")
    return dict(pairs)


SNIPPET = '''import bisect
import json
import math


def probability(panel, votes):
    """P(label 1) of one item; votes maps a judge to 0 or 1, and to its grade if panel["grades"] has
    a threshold for it; judges that did not vote are absent.
    """
    scales = panel["grades"] or [None] * len(panel["judges"])
    codes = [code_of(votes.get(judge), scale) for judge, scale in zip(panel["judges"], scales)]
    cast = votes_of(codes)
    if cast.count(None) == len(cast):
        return panel["prior"]
    m = fallback_logit(panel["fallback"], cast)
    if m is not None:
        return sigmoid(m)
    members = panel["members"]
    p = [member_probability(member, codes, panel["prior"]) for member in members]
    if len(p) == 1:
        return p[0]
    total = 0.0
    for member, value in zip(members, p):
        distance = max(value, 1.0 - value) - 0.5
        total += member["weight"] * (-distance if value < 0.5 else distance)
    average = 1.0 - (0.5 - total) if total < 0.0 else 0.5 + total
    return min(max(average, 0.001), 0.999)


def code_of(vote, scale):
    """A vote, or a grade cut into a vote and its band by their distance from the threshold."""
    if vote is None or scale is None:
        return vote
    if vote == scale["threshold"]:
        return None
    distance = abs(vote - scale["threshold"]) * 1e12
    distance = (round(distance) if distance < 2**53 else distance) / 1e12
    return int(vote > scale["threshold"]) + 2 * bisect.bisect_right(scale["edges"], distance)


def votes_of(codes):
    return [None if code is None else code & 1 for code in codes]


def member_probability(member, codes, prior):
    codes = [codes[column] for column in member["columns"]]
    if codes.count(None) == len(codes):
        return prior
    return sigmoid(calibrated(member["calibrator"], raw_logit(member["aggregator"], codes)))


def sigmoid(m):
    small = math.exp(-abs(m)) / (1.0 + math.exp(-abs(m)))
    return min(max(small if m < 0 else 1.0 - small, 0.001), 0.999)


def label_set(panel, p, level):
    """Labels credible at level 0.8 or 0.9, such as {0,1}; blank where no slice was held out."""
    for limit in (panel["conformal"] or {}).get("levels", []):
        if limit["level"] == level:
            of_one = 1.0 - p
            scores, most = {"0": 1.0 - of_one, "1": of_one}, limit["threshold"]
            credible = [z for z, score in scores.items() if most is None or score <= most]
            return "{" + ",".join(credible) + "}"
    return ""


def raw_logit(rule, codes):
    cast, weights = votes_of(codes), rule.get("weights", [1.0] * len(codes))
    if "levels" in rule:
        weights = [bands[(code or 0) >> 1] for code, bands in zip(codes, rule["levels"])]
    if rule["kind"] in ("majority", "accuracy_weighted"):
        nothing = [0.0] * len(cast)
        ones, zeros = weigh(cast, weights, nothing), weigh(cast, nothing, weights)
        return math.log(ones + 1.0) - math.log(zeros + 1.0)
    ones = rule.get("ones", weights)
    zeros = rule.get("zeros", [-weight for weight in weights])
    logit = weigh(cast, ones, zeros) + rule.get("prior_logit", rule.get("intercept", 0.0))
    likeness = 0.0
    for past, pull in zip(rule.get("prototypes", []), rule.get("pull", [])):
        marked = zip(cast, past, rule["shares"])
        d = 0.0
        for vote, mark, share in marked:
            if vote is not None and mark != ".":
                d += share if vote == int(mark) else -share
        square = d * d
        likeness += 0.5 * d * square * (1.0 + square) * pull
    return logit + likeness


def fallback_logit(rule, cast):
    """Of an item on which too much of the panel did not vote; None for all others."""
    if not rule:
        return None
    sizes = [abs(weight) for weight in rule["weights"]]
    there = weigh(cast, sizes, sizes) / weigh([1] * len(cast), sizes, sizes)
    if 1.0 - there <= rule["beyond"]:
        return None
    temperature = rule["few"] * (1.0 - there) + rule["all"] * there
    return weigh(cast, rule["weights"], [-weight for weight in rule["weights"]]) / temperature


def weigh(cast, ones, zeros):
    total = 0.0
    for vote, one, zero in zip(cast, ones, zeros):
        total += 0.0 if vote is None else one if vote else zero
    return total


def calibrated(calibrator, logit):
    if calibrator["kind"] == "isotonic":
        return between(calibrator, logit)
    if calibrator["kind"] == "beta_clipped":
        edge = math.log(0.999 / 0.001)
        logit = min(max(logit, -edge), edge)
    a = calibrator.get("a", calibrator.get("slope", 1.0))
    b, c = calibrator.get("b", -a), calibrator.get("c", calibrator.get("intercept", 0.0))
    if a == -b:
        return a * logit + c
    return a * log_sigmoid(logit) + b * log_sigmoid(-logit) + c


def log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def between(knots, logit):
    x, at, p = abs(logit) if knots["odd"] else logit, knots["logits"], knots["p"]
    i = bisect.bisect_right(at, x)
    if i in (0, len(at)):
        value = p[min(i, len(at) - 1)]
    else:
        value = p[i - 1] + (x - at[i - 1]) * (p[i] - p[i - 1]) / (at[i] - at[i - 1])
    value = min(max(value, 0.001), 0.999)
    m = math.log(value) - math.log1p(-value)
    return -m if knots["odd"] and logit < 0 else m
'''

USE = """

if __name__ == "__main__":
    with open("panel.json", encoding="utf-8") as file:
        panel = json.load(file)
    p = probability(panel, {panel["judges"][0]: 1})
    print(p, label_set(panel, p, 0.8), label_set(panel, p, 0.9))
"""


def script() -> str:
    """Return the whole file: functions and a usage example."""
    return SNIPPET + USE
