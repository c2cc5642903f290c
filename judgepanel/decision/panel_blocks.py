"""Blocks of a panel file besides the rule: training rows, vote profile, absence and slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judgepanel.decision.drift import profile_content
from judgepanel.decision.held_out import conformal_content, fitting_votes, slices
from judgepanel.decision.training_items import MOST_ROWS, rows_content
from judgepanel.scoring.conformal import LEVELS
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import flat_row
from judgepanel.studies.settings import grouped_votes
from judgepanel.votes import InputError, VoteMatrix

if TYPE_CHECKING:
    from judgepanel.decision.absence import Absence
    from judgepanel.decision.recommend import RecommendSpec
    from judgepanel.decision.recommend_result import Recommendation

BLOCKS = ("training", "profile", "absence")
"""Blocks added in version 3; ``conformal`` was always null before."""

LOSS_KEYS = ("df", "item_sd", "main_nll")
"""Keys of a measured absence added in version 4, as was ``absence.groups``."""


def blocks_content(
    recommendation: Recommendation, votes: VoteMatrix, spec: RecommendSpec
) -> dict[str, Any]:
    """Return ``conformal`` and the blocks of ``BLOCKS`` for the panel of a recommendation."""
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


def absence_of_version_3(absence: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return the block ``absence`` of an older file, without groups and single-item data.

    Anything but a list of objects is left as it is for the schema to refuse.
    """
    by_name = {**absence, "groups": []}
    newer = {"groups"} & set(absence)
    for key in ("single", "several"):
        losses = absence.get(key)
        if not isinstance(losses, list) or not all(isinstance(loss, dict) for loss in losses):
            continue
        newer |= {new for loss in losses for new in LOSS_KEYS if new in loss}
        by_name[key] = [{**dict.fromkeys(LOSS_KEYS), **loss} for loss in losses]
    if newer:
        raise InputError("panel files of version 3 have no such key", file=name, column=min(newer))
    return by_name


def check_blocks(content: dict[str, Any], name: str | None) -> None:
    """Check what the schema cannot: consistent lengths and counts.

    Raises
    ------
    InputError
        A list of the wrong length, counts above their totals, levels out of order.
    """
    n_judges = len(content["judges"])
    profile, absence, conformal = (content[key] for key in ("profile", "absence", "conformal"))
    if profile is not None:
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
        if conformal["rows"] is None:
            raise InputError("the panel's conformal slice has no rows", file=name)
        _check_rows(conformal["rows"], "conformal.rows", name)
    if content["training"] is not None:
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
