"""The measured absence closest to the judges that are absent now, and its figures.

An absence measured with exactly these judges is used as it is. Otherwise a group is near if it and
the absent judges have more judges in common than not (a Jaccard index above 1/2), and no second
group is mostly absent as well. If no group has lost more than half of its judges, the absence
resembles a random one, and the next larger number of absent judges is near. Of several near ones
the worst is used. If none is near (two vendors at once, for example), the absence was not measured,
and the worst one mostly contained in it is only a hint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judgepanel import distributions
from judgepanel.scoring.inference import LEVEL
from judgepanel.votes.errors import listed, quote_value

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
    number, enough = _number(measured["several"], len(gone), len(judges))
    if enough and (near or not inside):
        near.append(NearestAbsence(number.what, number.figures, False, True))
    return max(near or [*inside, number], key=lambda entry: float(entry.figures["delta"]))


def _mostly(members: set[int], gone: set[int]) -> bool:
    """Whether more than half of a group is absent."""
    return len(members & gone) / len(members) > _NEAR


def _number(
    several: list[dict[str, Any]], n_absent: int, n_judges: int
) -> tuple[NearestAbsence, bool]:
    """The next larger number of absent judges, or the largest, and whether it is large enough."""
    enough = [entry for entry in several if entry["n_absent"] >= n_absent]
    figures = (enough or several[-1:])[0]
    what = f"{figures['n_absent']} of {n_judges} judges absent, drawn at random"
    return NearestAbsence(what, figures, False, False), bool(enough)


def on_items(figures: dict[str, Any], n_items: int) -> tuple[float, float]:
    """95 % interval of the rise on a file of ``n_items`` new items.

    Files of versions before 4 have no single-item data; the interval is then that for very many
    items.
    """
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
