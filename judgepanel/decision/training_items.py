"""Items that a panel was fitted on: short hashes of training rows, and the significance of matches.

Each item has two hashes: of its votes by judge name, and of its id together with those votes.
Judges are in name order, so the order of columns, additional judges and (for the first hash) new
ids change nothing; the responses of a pair may be swapped. Hashes are sorted, salted with the
votes' own SHA-256 and truncated to 8 bytes: ids cannot be recovered from them without the votes.

With few judges many items have the same votes, so a match alone proves nothing. Let X pairs of one
of the n hashed items and one of the m new ones have the same votes, whatever their ids.

* Id and votes: if ids were mere row numbers, a pair would share its id with probability about 1 /
  max(n, m), or a multiple of it if both files are sorted alike (``_SORTED``). The number of matches
  must exceed what that explains; if all matches together do not, those of rare votes may.
* Votes alone: only rare votes count, those that occur once on either side. If all items were from
  one population, votes that two items of the pooled n + m share would join one of each side with
  probability 2 n m / ((n + m) (n + m - 1)), and two of one side otherwise. The number of matches
  must exceed that.

The conformal slice: labelled items held out before anything is chosen or fitted.

The slice is drawn from ``SeedSequence(seed, spawn_key=(7, 13))``, groups whole. It is not used for
the orientation, the splits, the choice or the fit, so its scores under the final panel are
exchangeable with those of new items, as split conformal sets require. With groups, only whole
groups are exchangeable, so thresholds use one random item of each group (Dunn, Wasserman and Ramdas
2023, doi:10.1080/01621459.2022.2060112).

Drift: are new votes like those on which a panel was fitted? Counts of votes and exact tests.

Three counts are compared for every judge: votes cast, votes for 1, and agreement with the majority
of the panel's other judges (ties do not count). A fourth is compared for judges whose grades the
panel reads: votes far from the threshold, in the upper half of the judge's bands. Which label is 1
depends on the order of a pair, so votes for 1 are compared only if the panel was fitted
``as_given``; agreement is invariant under swaps. Agreement is compared only if the whole panel is
present, because otherwise the majority is a different one. Judges that were chosen for agreement
with the labels agree too much on the rows of the choice: for those, agreement counts as half as
many trials (``CHOSEN``), which by simulation keeps the size of the test even for the best 3 of 200
equal judges.

Every comparison is Fisher's exact test (Wilcoxon's for votes per item; the normal approximation
above ``_EXACT`` trials), and Holm's adjustment over all of them keeps the probability of any false
warning at ``DRIFT_ALPHA`` or less. Items of one group may be alike, so counts are first divided by
their design effect. With fewer than ``FEWEST_GROUPS`` groups a design effect is too uncertain for
that (8 groups: 13 to 24 % of the files would warn), and nothing is compared.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.maps import column_blocks
from judgepanel.models.panel import Mixture
from judgepanel.scoring import clustered, conformal, inference, splits
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.errors import listed, quote_value

MOST_ROWS = 20_000
ALPHA = 0.01
_SORTED = 5.0
_BYTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The items of a file on which a panel was fitted.

    ``by_id`` and ``by_votes`` are bool (n_items,): id and votes match, or only the votes, under
    another id. ``wholly`` means that (nearly) all of the file was seen. ``checked`` is false if the
    panel file has no hashes, or judges of the panel are absent: nothing is known then.
    """

    by_id: Bools
    by_votes: Bools
    wholly: bool
    checked: bool

    @property
    def rows(self) -> Bools:
        """Items that were seen, bool (n_items,)."""
        return self.by_id | self.by_votes


def rows_content(
    votes: VoteMatrix, judges: Sequence[str], known: Sequence[str], salt: str
) -> dict[str, Any]:
    """Return sorted hashes of every item; of more than ``MOST_ROWS`` the lowest are kept.

    ``judges`` are the panel's, ``known`` all participating judges; the votes of all distinguish
    items better, but not every new file has them.
    """
    lists = {
        "id_and_votes": _hashes(votes, judges, salt, ids=True),
        "votes": _hashes(votes, judges, salt),
        "votes_of_all": None if set(known) == set(judges) else _hashes(votes, known, salt),
    }
    by_name = {
        name: None if result is None else sorted(result)[:MOST_ROWS]
        for name, result in lists.items()
    }
    return {"n_items": votes.n_items, **by_name}


def seen_items(
    rows: dict[str, Any] | None,
    votes: VoteMatrix,
    judges: Sequence[str],
    known: Sequence[str],
    salt: str,
) -> Seen:
    """Compare the items of a file with the hashes of a panel; see the module for the rules."""
    nothing = np.zeros(votes.n_items, dtype=bool)
    there = set(votes.judges)
    if rows is None or not set(judges) <= there:
        return Seen(nothing, nothing, wholly=False, checked=False)
    compared = _compared(rows["votes"], votes, judges, salt)
    past = set(rows["id_and_votes"])
    hashes = _hashes(votes, judges, salt, ids=True)
    same = compared.voted & np.array([digest in past for digest in hashes], dtype=bool)
    by_id = same if compared.exceed(same) else same & compared.rare
    if not compared.exceed(by_id):
        by_id = nothing
    by_votes = _compared(rows["votes"], votes, judges, salt, by_id).by_votes()
    if rows["votes_of_all"] is not None and set(known) <= there:
        by_votes |= _compared(rows["votes_of_all"], votes, known, salt, by_id).by_votes()
    wholly = bool(
        (by_id.any() and by_id[compared.voted].all())
        or (by_votes.any() and (by_id | by_votes).sum() > 0.5 * float(compared.once.sum()))
    )
    return Seen(by_id, by_votes, wholly=wholly, checked=True)


def seen_sentences(seen: Seen, item_ids: Sequence[str]) -> list[str]:
    """Say how many items were seen, the first ids, and the consequence."""
    sentences = []
    for rows, what in (
        (seen.by_id, "the id and the votes of an item the panel was fitted on"),
        (seen.by_votes, "exactly the votes of an item the panel was fitted on, under another id"),
    ):
        if rows.any():
            first = [item_ids[i] for i in np.flatnonzero(rows).tolist()]
            sentences.append(
                f"{len(first)} of {len(item_ids)} items have {what}: {listed(first, 3)}; scores of "
                "seen items flatter."
            )
    return sentences


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """Votes of ``n`` past and ``m`` new items compared.

    ``pairs`` (n_items,) is the number of past items with the votes of each new one, ``voted``
    whether it has any; ``once`` and ``rare`` mark votes that occur once among the new items, and
    once on either side; ``within`` counts votes that two items of one side and none of the other
    share.
    """

    pairs: NDArray[np.int64]
    voted: Bools
    once: Bools
    rare: Bools
    within: int
    n: int
    m: int

    def exceed(self, matches: Bools) -> bool:
        """Return whether row numbers do not explain these matches of id and votes."""
        among = self.pairs[self.rare] if not matches[~self.rare].any() else self.pairs
        chance = min(1.0, _SORTED * float(among.sum()) / max(self.n * self.m, 1))
        return _exceeds(int(matches.sum()), min(self.n, self.m), chance)

    def by_votes(self) -> Bools:
        """Items seen by their votes alone."""
        across, total = int(self.rare.sum()), max(self.n + self.m, 2)
        chance = 2.0 * self.n * self.m / (total * (total - 1.0))
        return self.rare & _exceeds(across, across + self.within, chance)


def _compared(
    past_hashes: Sequence[str],
    votes: VoteMatrix,
    judges: Sequence[str],
    salt: str,
    known: Bools | None = None,
) -> _Compared:
    """Compare both sides without the items ``known`` to be the same."""
    hashes = _hashes(votes, judges, salt)
    voted = np.asarray((_columns(votes, judges) != MISSING).any(axis=1))
    past = Counter(past_hashes)
    if known is not None:
        voted = voted & ~known
        past -= Counter(hashes[i] for i in np.flatnonzero(known).tolist())
    here = Counter(digest for digest, cast in zip(hashes, voted, strict=True) if cast)
    pairs = np.where(voted, np.array([past[digest] for digest in hashes], dtype=np.int64), 0)
    once = voted & np.array([here[digest] == 1 for digest in hashes], dtype=bool)
    counts = ((past[entry], here[entry]) for entry in past.keys() | here.keys())
    within = sum(count in ((2, 0), (0, 2)) for count in counts)
    n, m = sum(past.values()), sum(here.values())
    return _Compared(pairs, voted, once, once & (pairs == 1), within, n, m)


def _exceeds(matches: int, trials: int, chance: float) -> bool:
    """Whether this number of matches has a probability below ``ALPHA``.

    Most cases are clear without the binomial distribution, and the import of SciPy's: a median is
    at least the whole part of the mean, and Chernoff bounds the tail above it.
    """
    if matches <= trials * chance:
        return False
    share, rest = matches / trials, 1.0 - matches / trials
    if chance > 0.0:
        divergence = share * math.log(share / chance)
        divergence += rest * math.log(rest / (1.0 - chance)) if rest > 0.0 else 0.0
        if math.exp(-trials * divergence) >= ALPHA / 2.0:
            return float(distributions.binom_sf(matches - 1, trials, chance)) < ALPHA
    return True


def _hashes(votes: VoteMatrix, judges: Sequence[str], salt: str, *, ids: bool = False) -> list[str]:
    names = sorted(judges)
    cast = _columns(votes, names)
    if votes.task == "pairwise":  # A pair and its swap become equal: the first vote becomes 1.
        known = cast != MISSING
        first = cast[np.arange(len(cast)), known.argmax(axis=1)]
        cast = np.where((first == 0)[:, None] & known, 1 - cast, cast).astype(np.int8)
    start = hashlib.sha256("\0".join([salt, str(ids), *names]).encode())
    hashes = []
    for name, row in zip(votes.item_ids, cast, strict=True):
        digest = start.copy()
        digest.update(row.tobytes())
        if ids:
            digest.update(name.encode())
        hashes.append(digest.hexdigest()[: 2 * _BYTES])
    return hashes


def _columns(votes: VoteMatrix, judges: Sequence[str]) -> NDArray[np.int8]:
    place = {name: column for column, name in enumerate(votes.judges)}
    return np.ascontiguousarray(votes.votes[:, [place[name] for name in judges]])


_KEY = (7, 13)
_ONE_EACH_KEY = (7, 14)


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """The votes for the fit (all votes if nothing is held out), and the slice or None."""

    fitted: VoteMatrix
    held_out: VoteMatrix | None


def slices(votes: VoteMatrix, share: float, seed: int) -> Slices:
    """Hold out about ``share`` of the labelled items, whole groups; 0 holds out none.

    Unlabelled items of a held-out group are left out of the fit as well.

    Raises
    ------
    InputError
        Fewer than two labelled items, or groups of them.
    """
    if share == 0.0:
        return Slices(votes, None)
    units = votes.units
    labelled = np.flatnonzero(votes.labelled)
    _, held = splits.subsplit(units, labelled, fraction=1.0 - share, seed=seed, key=_KEY)
    away = np.isin(units, units[held])
    return Slices(votes.with_items(~away), votes.with_items(held))


def held_out_warnings(votes: VoteMatrix, share: float, seed: int) -> list[str]:
    """Return sentences about levels for which the slice has too few labels, or groups of them."""
    held = slices(votes, share, seed).held_out
    if held is None:
        return []
    n = len(one_each(held))
    says = conformal.too_few if n == held.n_items else _too_few_groups
    return [
        says(n, level, "The held-out slice", "every set is {0,1}")
        for level in conformal.LEVELS
        if n < conformal.labels_needed(level)
    ]


def one_each(held: VoteMatrix) -> NDArray[np.int64]:
    """Return sorted rows of a slice for its thresholds: one random item of each group.

    All rows without groups. The stream is ``SeedSequence(0, spawn_key=(7, 14))``: the seed of the
    run was already used to draw the slice, and neither votes nor labels are used.
    """
    units = held.units
    rng = splits.stream(0, *_ONE_EACH_KEY)
    order = rng.permutation(held.n_items)
    _, first = np.unique(units[order], return_index=True)
    return np.asarray(np.sort(order[first]))


def _too_few_groups(n: int, level: float, whose: str, until_then: str) -> str:
    return (
        f"{whose} has {n} group{'' if n == 1 else 's'} of items, and sets at {level:.0%} need "
        f"{conformal.labels_needed(level)} groups: until then {until_then}."
    )


def conformal_content(
    model: Mixture, held: VoteMatrix, share: float, rows: dict[str, Any]
) -> dict[str, Any]:
    """Return the block ``conformal``: thresholds of 1 - p(label) on the slice, in the file's order.

    An item and its swap have one score, so each item counts once under ``symmetric`` too. ``n``
    labels set the thresholds: one per group (:func:`one_each`).
    """
    columns = held.with_items(one_each(held)).with_judges(model.judges)
    codes = model.codes(columns.votes, columns.margins)
    scores = conformal.nonconformity(model.score(codes), columns.labels)
    limits = [float(conformal.threshold(scores, level)) for level in conformal.LEVELS]
    return {
        "share": share,
        "n": columns.n_items,
        "levels": [
            {
                "level": level,
                "threshold": limit if np.isfinite(limit) else None,
                "labels_needed": conformal.labels_needed(level),
            }
            for level, limit in zip(conformal.LEVELS, limits, strict=True)
        ],
        "rows": rows,
    }


def set_texts(block: dict[str, Any] | None, p: Floats) -> list[list[str]]:
    """Return ``{}``, ``{0}``, ``{1}`` or ``{0,1}`` per item and level; blank without a slice."""
    if block is None:
        return [[""] * len(p) for _ in conformal.LEVELS]
    scores = [score.tolist() for score in conformal.label_scores(p)]
    texts = []
    for level in block["levels"]:
        limit = level["threshold"]
        inside = [[limit is None or score <= limit for score in one_score] for one_score in scores]
        texts.append([SETS[zero + 2 * label_one] for zero, label_one in zip(*inside, strict=True)])
    return texts


SETS = ("{}", "{0}", "{1}", "{0,1}")
"""Sets as written in scored.csv."""


DRIFT_ALPHA = 0.05
CHOSEN = 2.0
FEWEST_OTHERS = 2
FEWEST_GROUPS = 15
MEASURES = ("voted", "ones", "agreed")
_FAR = "far"
MEASURE_WORDS: Mapping[str, str] = {
    "voted": "votes cast",
    "ones": "votes for 1",
    "agreed": "agreement with the others",
    _FAR: "votes far from the threshold",
}
Edges = Sequence[Sequence[float]]
"""By judge, the smallest margin of each band of grades above the lowest; empty for one band."""
_NAMED = 3
_EXACT = 100_000
_CELLS = 4_000_000
"""Votes that design effects are counted from together."""


@dataclass(frozen=True, slots=True)
class Change:
    """One comparison: ``measure`` of a ``judge`` (empty for votes per item).

    ``before`` and ``after`` are shares (mean numbers of votes) of ``n_before`` and ``n_after``
    trials; ``p`` is the p-value, ``p_holm`` adjusted over all comparisons.
    """

    measure: str
    judge: str
    before: float
    after: float
    n_before: int
    n_after: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Drift:
    """All comparisons, and the ``distance``, the mean difference of the shares.

    ``expected`` is the distance by chance alone; both are 0 if nothing could be compared.
    ``few_groups`` is a sentence that says why nothing was compared, empty with enough groups.
    """

    changes: tuple[Change, ...]
    distance: float
    expected: float
    few_groups: str = ""

    @property
    def significant(self) -> tuple[Change, ...]:
        """Comparisons that chance does not explain, the most significant first."""
        changes = [change for change in self.changes if change.p_holm < DRIFT_ALPHA]
        return tuple(sorted(changes, key=lambda change: change.p))

    def frame(self) -> pd.DataFrame:
        """One row per comparison."""
        names = list(Change.__dataclass_fields__)
        rows = [[getattr(change, name) for name in names] for change in self.changes]
        return pd.DataFrame(rows, columns=names)


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """``hits`` of ``trials``, both (n_judges,), of every measure, and their design effects."""

    hits: dict[str, Ints]
    trials: dict[str, Ints]
    effects: dict[str, Floats]
    n_votes: Ints


def profile_content(votes: VoteMatrix, judges: Sequence[str]) -> dict[str, Any]:
    """Return the block ``profile`` of a panel file: counts of these votes, as given in the file.

    Design effects are the number of items if there are too few groups to estimate them: all items
    then count as one trial, which no test calls drift.
    """
    counts = _counted(votes.with_judges(judges))
    few = _few_groups(votes) is not None
    whole = [float(votes.n_items)] * len(judges)
    return {
        "n_items": votes.n_items,
        "voted": counts.hits["voted"].tolist(),
        "ones": counts.hits["ones"].tolist(),
        "compared": counts.trials["agreed"].tolist(),
        "agreed": counts.hits["agreed"].tolist(),
        "n_votes": counts.n_votes.tolist(),
        "effects": {name: whole if few else counts.effects[name].tolist() for name in MEASURES},
    }


def far_content(votes: VoteMatrix, judges: Sequence[str], edges: Edges) -> list[dict[str, Any]]:
    """Return, for each judge, how many of its votes are far from its threshold, and the effect."""
    counts = _counted(votes.with_judges(judges), edges)
    few = _few_groups(votes) is not None
    return [
        {"far": int(hits), "effect": float(votes.n_items if few else effect)}
        for hits, effect in zip(counts.hits[_FAR], counts.effects[_FAR], strict=True)
    ]


def drift_of(
    profile: dict[str, Any],
    judges: Sequence[str],
    votes: VoteMatrix,
    *,
    as_given: bool,
    chosen: bool = False,
    grades: Sequence[dict[str, Any] | None] | None = None,
) -> Drift:
    """Compare new votes with the counts of a panel file; absent judges are left out.

    ``as_given``: the order of a pair has a meaning; ``chosen``: judges were left out of the panel;
    ``grades``: how the panel reads those of each judge.
    With fewer than ``FEWEST_GROUPS`` groups on either side nothing is compared.
    """
    if few_groups := _few_groups_sentence(profile, votes):
        return Drift((), 0.0, 0.0, few_groups)
    place = {name: j for j, name in enumerate(judges) if name in set(votes.judges)}
    columns = list(place.values())
    scales = [(grades or [None] * len(judges))[column] or _NO_GRADES for column in columns]
    now = _counted(votes.with_judges(list(place)), [scale["edges"] for scale in scales])
    before = _of_profile(profile, columns, scales)
    measures = ["voted", _FAR]
    if as_given:
        measures.append("ones")
    whole = len(place) == len(judges)
    if whole and len(judges) > FEWEST_OTHERS:
        measures.append("agreed")
    rows: list[Change] = []
    gaps: list[tuple[float, float]] = []
    for measure in measures:
        less = CHOSEN if chosen and measure == "agreed" else 1.0
        p, trials = _fisher(before, now, measure, grouped=votes.groups is not None, less=less)
        for j, name in enumerate(place):
            n, m = int(before.trials[measure][j]), int(now.trials[measure][j])
            if not n or not m:
                continue
            a, b = before.hits[measure][j] / n, now.hits[measure][j] / m
            rows.append(Change(measure, name, float(a), float(b), n, m, float(p[j]), np.nan))
            gaps.append((abs(a - b), _by_chance(a, b, *trials[:, j])))
    if whole:
        rows += _votes_an_item(before, now)
    adjusted = inference.holm([row.p for row in rows]).tolist()
    changes = [replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]
    mean = np.mean(gaps, axis=0) if gaps else np.zeros(2)
    return Drift(tuple(changes), float(mean[0]), float(mean[1]))


def drift_sentences(drift: Drift) -> list[str]:
    """Return one warning with the changes in numbers, or the reason why nothing was compared.

    Empty without drift.
    """
    if drift.few_groups:
        return [drift.few_groups]
    changes = drift.significant
    if not changes:
        return []
    parts = [_change_words(change) for change in changes[:_NAMED]]
    more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return [
        f"These votes are not like those the panel was fitted on: {'; '.join(parts)}{more}. Over "
        f"all judges shares differ by {100 * drift.distance:.1f} points on average, by chance it "
        f"would be about {100 * drift.expected:.1f}; the panel's figures may not hold here."
    ]


def _change_words(change: Change) -> str:
    p = "p < .001" if change.p_holm < 0.001 else f"p = {change.p_holm:.3f}".replace("0.", ".")
    if change.measure == "n_votes":
        return f"votes per item {change.before:.1f} then, {change.after:.1f} now ({p})"
    return (
        f"{MEASURE_WORDS[change.measure]} of {quote_value(change.judge)} "
        f"{100 * change.before:.0f} % of "
        f"{change.n_before} then, {100 * change.after:.0f} % of {change.n_after} now ({p})"
    )


def _few_groups(votes: VoteMatrix) -> int | None:
    """Return the number of groups if too few; None if enough or of one item each."""
    if votes.groups is None:
        return None
    n_groups = len(set(votes.groups))
    return n_groups if n_groups < min(FEWEST_GROUPS, votes.n_items) else None


def _few_groups_sentence(profile: dict[str, Any], votes: VoteMatrix) -> str:
    """Say why votes cannot be compared if the new file or the training rows have too few groups."""
    n_groups, n_items = _few_groups(votes), profile["n_items"]
    effects = [effect for name in MEASURES for effect in profile["effects"][name]]
    if n_groups is not None:
        whose = f"this file has {n_groups} group{'' if n_groups == 1 else 's'} of items"
    elif n_items > 1 and min(effects) >= n_items:
        whose = f"the panel was fitted on fewer than {FEWEST_GROUPS} groups of items"
    else:
        return ""
    return (
        f"Whether these votes are like those the panel was fitted on is not tested: {whose}, and "
        f"with fewer than {FEWEST_GROUPS} chance alone would warn too often."
    )


def _counted(votes: VoteMatrix, edges: Edges = ()) -> _Counts:
    """Return counts of all judges of these votes, whose bands have these edges."""
    cast = votes.votes
    voted = cast != MISSING
    signs = np.where(voted, 2 * cast - 1, 0).astype(np.int8)
    total = signs.sum(axis=1, dtype=np.int32)[:, None]
    compared, agreed = voted & (total != signs), voted & (signs * total > 1)
    tried = {"voted": np.ones_like(voted), "ones": voted, "agreed": compared}
    right = {"voted": voted, "ones": cast == 1, "agreed": agreed}
    if edges:
        middle = np.array([own[len(own) // 2] if len(own) else np.inf for own in edges])
        margins = np.zeros(cast.shape) if votes.margins is None else votes.margins
        tried[_FAR] = voted & np.isfinite(middle)
        right[_FAR] = voted & (margins >= middle)
    effects = {name: _effects(right[name], trials, votes.units) for name, trials in tried.items()}
    return _Counts(
        hits={name: hits.sum(axis=0) for name, hits in right.items()},
        trials={name: trials.sum(axis=0) for name, trials in tried.items()},
        effects=effects,
        n_votes=np.bincount(voted.sum(axis=1), minlength=votes.n_judges + 1),
    )


def _effects(right: Bools, tried: Bools, units: Ints) -> Floats:
    """Design effect (n_judges,) of each share of ``right`` among ``tried``, both (n, n_judges)."""
    effects = np.empty(right.shape[1])
    for block in column_blocks(len(effects), len(right), _CELLS):
        counts = clustered.unit_counts(right[:, block], tried[:, block], units)
        effects[block] = clustered.design_effect(counts, counts.share())
    return effects


_NO_GRADES: dict[str, Any] = {"edges": (), "far": 0, "effect": 1.0}


def _of_profile(
    profile: dict[str, Any], columns: list[int], scales: list[dict[str, Any]]
) -> _Counts:
    def of(values: list[float]) -> NDArray[Any]:
        return np.array(values)[columns]

    n_items, voted = np.full(len(columns), profile["n_items"]), of(profile["voted"])
    graded = np.array([len(scale["edges"]) > 0 for scale in scales])
    far = {key: np.array([scale[key] for scale in scales]) for key in ("far", "effect")}
    return _Counts(
        hits={name: of(profile[name]) for name in MEASURES} | {_FAR: far["far"]},
        trials={
            "voted": n_items,
            "ones": voted,
            "agreed": of(profile["compared"]),
            _FAR: np.where(graded, voted, 0),
        },
        effects={name: of(profile["effects"][name]) for name in MEASURES} | {_FAR: far["effect"]},
        n_votes=np.array(profile["n_votes"]),
    )


def _fisher(
    before: _Counts, now: _Counts, measure: str, *, grouped: bool, less: float
) -> tuple[Floats, Floats]:
    """P-values (n_judges,) of equal shares, from counts divided by design effects and rounded.

    Also returns the counts of trials before and now, (2, n_judges).

    If the new file has no groups, those of the training rows determine the dependence between
    items. Training counts are also divided by ``less``.
    """
    effect = before.effects[measure]
    hits, trials = _effective(before, measure, less * effect)
    new_hits, new_trials = _effective(now, measure, now.effects[measure] if grouped else effect)
    total: Any = trials + new_trials
    row, few = hits + new_hits, total <= _EXACT
    result = np.empty(len(total))
    for p_values, some in ((clustered.fisher, few), (_normal_p, ~few)):
        if some.any():
            result[some] = p_values(new_hits[some], row[some], new_trials[some], total[some])
    return result, np.stack([trials, new_trials])


def _normal_p(both: Floats, row: Floats, column: Floats, total: Floats) -> Floats:
    """Fisher's test for large counts: the normal approximation; 1 without spread."""
    share = column / np.maximum(total, 1.0)
    spread = row * share * (1.0 - share) * (total - row) / np.maximum(total - 1.0, 1.0)
    z = np.divide(both - row * share, np.sqrt(spread), out=np.zeros(len(both)), where=spread > 0)
    return np.asarray(2.0 * distributions.norm_sf(np.abs(z)))


def _effective(counts: _Counts, measure: str, effect: Floats) -> tuple[Floats, Floats]:
    trials = np.floor(counts.trials[measure] / effect)
    share = counts.hits[measure] / np.maximum(counts.trials[measure], 1)
    return np.round(share * trials), trials


def _by_chance(a: float, b: float, n: float, m: float) -> float:
    """Expected distance of two equal shares: sqrt(2 / pi) standard errors."""
    n, m = max(n, 1.0), max(m, 1.0)
    pooled = (a * n + b * m) / (n + m)
    return float(np.sqrt(2.0 / np.pi * pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)))


def _votes_an_item(before: _Counts, now: _Counts) -> list[Change]:
    """Wilcoxon's rank-sum test of the number of votes per item; empty if it never varies.

    Items of one group may have equal numbers: z is divided by the root of the mean design effect.
    """
    old, new = (counts.n_votes.astype(np.float64) for counts in (before, now))
    n, m = float(old.sum()), float(new.sum())
    z = _rank_z(old, new)
    if not np.isfinite(z):
        return []
    effect = float(max(before.effects["voted"].mean(), now.effects["voted"].mean()))
    p = math.erfc(abs(z) / math.sqrt(2.0 * effect))
    sizes = np.arange(len(old), dtype=np.float64)
    return [
        Change("n_votes", "", float(sizes @ old / n), float(sizes @ new / m), int(n), int(m), p, p)
    ]


def _rank_z(old: Floats, new: Floats) -> float:
    """z of the rank sum of two samples given as counts of ascending values.

    Ties get their mean rank (:func:`scoring.association.rank_p` without listing the items); NaN
    without spread.
    """
    both = old + new
    total = float(both.sum())
    if not old.sum() or not new.sum():
        return float("nan")
    centred = np.cumsum(both) - both / 2.0 - total / 2.0
    spread = float(both @ centred**2) * float(old.sum() * new.sum()) / total
    return float(new @ centred) / np.sqrt(spread / (total - 1.0)) if spread > 0.0 else float("nan")
