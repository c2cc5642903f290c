"""Whether choosing judges pays, in words and tables for people."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgepanel.report.numbers import (
    capital,
    counted,
    fixed,
    interval,
    listed,
    percent,
    sig,
    signed,
    with_interval,
)
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATED,
    CODING,
    SAME_PANEL,
    tie_words,
)
from judgepanel.report.terminal import one_line
from judgepanel.studies.panel.curators_result import (
    LOOKED_BEST,
    CuratorFigures,
    Curators,
)

_NAMED = 5


def curators_sentence(found: Curators) -> str:
    """Whether any curator is shown to beat all judges, all of them looked at together."""
    text = _answer(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: Curators) -> str:
    rivals = [one for one in found.deployable if one.curator not in ("all", LOOKED_BEST)]
    if not rivals:
        return "No curator was compared with all judges."
    if found.n_judges == 1:
        return "There is one judge only, so there is nothing to choose."
    if found.n_splits < 2:
        return "Not enough splits yet to say."
    best = min(rivals, key=lambda one: one.nll)
    if found.everyone.nll_lo >= found.null_nll and best.nll_lo >= found.null_nll:
        return (
            f"Neither all judges nor any chosen ones beat the base rate (NLL "
            f"{fixed(found.null_nll, 3)}), so there is nothing to choose from."
        )
    return _best_of(found, rivals, best)


def _best_of(found: Curators, rivals: list[CuratorFigures], best: CuratorFigures) -> str:
    """What the best curator does to NLL, and how many others cost some."""
    change = (
        f"{_keeps(best, found)} and changes NLL by "
        f"{with_interval(best.delta, best.band_lo, best.band_hi, sign=True)}"
    )
    if best.verdict == "tie":
        change = f"is the {SAME_PANEL} in every split"
    if best.band_hi < -best.margin:
        return f"Choosing pays: {best.title} {change}, all curators taken together."
    worse = sum(one.band_lo > one.margin for one in rivals)
    rest = f" {worse} of {counted(len(rivals), 'curator')} are shown to cost NLL." if worse else ""
    return (
        f"No curator is shown to beat all {counted(found.n_judges, 'judge')}. The best of them, "
        f"{best.title}, {change}.{rest}"
    )


def looked_best_sentence(found: Curators) -> str:
    """What taking the most promising curator costs; empty where nothing was chosen."""
    one = found.named(LOOKED_BEST)
    if one is None or not math.isfinite(one.optimism) or len(found.curators) < 3:
        return ""
    rivals = [r for r in found.curators[:-1] if r.looked_best_share > 0]
    often = max(rivals, key=lambda r: r.looked_best_share)
    return (
        f"What looked best (most often {often.title}, in {percent(often.looked_best_share)} of the "
        f"splits) promised NLL {fixed(one.seen, 3)} where it was chosen and has "
        f"{fixed(one.nll, 3)} {interval(one.nll_lo, one.nll_hi, 3)} on new items: an optimism of "
        f"{signed(one.optimism)}."
    )


def selector_sentence(found: Curators) -> str:
    """What the finite-calibration selector took; empty where it did not take part."""
    one = found.selector
    if one is None:
        return ""
    return (
        f"The finite-calibration selector (our reading of arXiv:2606.01034) took "
        f"{sig(one.judges, 2)} judges on average, and a table of vote patterns in "
        f"{percent(one.table_share)} of the splits. Such a table has {one.occupied:.0f} occupied "
        f"cells ({sig(one.labels_a_cell, 2)} labels a cell); {percent(one.expected_new)} of new "
        f"items were expected in cells never seen (Good-Turing), {percent(one.new)} were."
    )


def chosen_sentence(found: Curators, curator: str) -> str:
    """Whom a curator chooses most often, and how much its panels agree over the splits."""
    one = found.named(curator)
    if one is None:
        return ""
    share = found.shares(curator)
    order = np.argsort(-share, kind="stable")
    if one.size == found.n_judges:
        return f"{capital(one.title)} keeps everybody in every split."
    always = int(np.count_nonzero(share == 1.0))
    never = int(np.count_nonzero(share == 0.0))
    names = [f"{one_line(found.judges[j])} ({percent(float(share[j]), 3)})" for j in order[:_NAMED]]
    agree = f" Stability {one.stability:.2f}." if math.isfinite(one.stability) else ""
    return (
        f"{capital(one.title)} chooses most often {listed(names)}; {always} of "
        f"{counted(found.n_judges, 'judge')} in every split, {never} in none.{agree}"
    )


def curators_table(found: Curators) -> pd.DataFrame:
    """Every curator, in the order asked for."""
    rows = found.curators
    return pd.DataFrame(
        {
            "curator": [one.title for one in rows],
            "judges": [_size(one) for one in rows],
            "NLL where it chose": ["n/a" if _blind(one) else fixed(one.seen, 3) for one in rows],
            "NLL on new items": [
                f"{fixed(one.nll, 3)} {interval(one.nll_lo, one.nll_hi, 3)}" for one in rows
            ],
            "optimism": [signed(one.optimism) for one in rows],
            "skill": [percent(one.skill) for one in rows],
            "against all judges": [
                "reference"
                if one.curator == "all"
                else tie_words(one.size_lo, found.n_judges)
                if one.verdict == "tie"
                else with_interval(one.delta, one.lo, one.hi, sign=True)
                for one in rows
            ],
            "verdict": [_verdict(one) for one in rows],
            "stability": [fixed(one.stability, 2) for one in rows],
            "looked best in": [
                "" if one.curator == LOOKED_BEST else percent(one.looked_best_share) for one in rows
            ],
        }
    )


def chosen_table(found: Curators) -> pd.DataFrame:
    """How often every curator chose each judge; one row a judge, one column a curator."""
    table: dict[str, object] = {"judge": list(found.judges)}
    for one, share in zip(found.curators, found.chosen_share, strict=True):
        table[one.title] = [percent(float(part), 3) for part in share]
    return pd.DataFrame(table)


def curators_text(found: Curators) -> str:
    """The answer, the optimism, every curator, and whom the best of them chooses."""
    how = AGGREGATOR_NAMES[found.aggregator]
    if found.refit != found.aggregator:
        how = f"compared under {how}, refitted under {AGGREGATOR_NAMES[found.refit]}"
    lines = [
        f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, {how}, {CALIBRATED[found.calibrator]}, orientation "
        f"{found.orientation}, seed {found.seed}; null NLL {found.null_nll:.4f}, a constant score "
        f"through the calibrator {found.constant_nll:.4f}.",
        curators_sentence(found),
    ]
    lines += [s for s in (looked_best_sentence(found), selector_sentence(found)) if s]
    lines.append("\n" + curators_table(found).to_string(index=False))
    notes = [f"{capital(one.title)}: {one.note}." for one in found.curators if one.note]
    rivals = [one for one in found.deployable if one.curator not in ("all", LOOKED_BEST)]
    if rivals:
        best = min(rivals, key=lambda one: one.nll)
        notes.append(chosen_sentence(found, best.curator))
    return "\n".join([*lines, "", *notes]).rstrip("\n")


def _blind(one: CuratorFigures) -> bool:
    return not math.isfinite(one.seen)


def _keeps(one: CuratorFigures, found: Curators) -> str:
    return f"keeps {sig(one.size, 2)} of {counted(found.n_judges, 'judge')} on average"


def _size(one: CuratorFigures) -> str:
    if one.size_lo == one.size_hi:
        return f"{one.size_lo}"
    return f"{sig(one.size, 2)} ({one.size_lo}-{one.size_hi})"


def _verdict(one: CuratorFigures) -> str:
    if one.curator == "all":
        return "reference"
    return one.verdict if one.deployable else "not deployable"
