"""The study contract: plan, run_chunk, merge, which give progress, cancel, resume and workers.

How many splits an answer needs: when to look, and when what is seen is enough.

Splits are run in their order and looked at after ``LOOKS`` of them. These places are fixed, so the
number of splits depends on votes, spec and seed, and not on workers or chunks. A look is enough
when no verdict could still change: shifted by ``REACH`` Monte Carlo errors to either side, every
headline difference has the same verdict. The Monte Carlo error is the part of a standard error that
more splits would remove; intervals contain it (:mod:`judgepanel.scoring.inference`), so they hold
at every look, and from ``FEWEST`` splits on they are at most a few percent wider than with any
number of splits.

A study says which intervals of its result decide, and against which margins (:func:`steady`).

Settings shared by all studies of an analysis, and the labelled ballots that follow from them.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats
from judgepanel.distributions import norm_ppf
from judgepanel.kernels.ballots import Ballots, signs_of
from judgepanel.scoring.inference import MARGIN, Estimate, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.checks import find_repeats, group_copies, repeats_sentence
from judgepanel.votes.matrix import Oriented, Policy, Protocol, cached, orient

MAX_SPLITS = 10_000
AUTO_SPLITS = "auto"
MOST_SPLITS = 100
"""Splits that are used at most if their number is left to the answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Shared options. ``judges`` None means all judges; ``fraction`` of the items calibrates.

    ``splits`` None (the word ``auto``) means as many as the answer needs, at most ``MOST_SPLITS``
    (:mod:`judgepanel.studies.contract`).

    ``group_duplicates`` puts copies of an item into one group (:mod:`judgepanel.votes.checks`), so
    that splits keep them together and variances count them once.

    Raises
    ------
    InputError
        Splits outside 2..10000, a fraction outside (0, 1), a negative seed.
    """

    orientation: Policy = "auto"
    protocol: Protocol = "honest"
    judges: tuple[str, ...] | None = None
    splits: int | None = field(default=None, metadata={"words": {AUTO_SPLITS: None}})
    fraction: float = 0.5
    seed: int = 0
    group_duplicates: bool = False

    def __post_init__(self) -> None:
        if self.splits is not None and not 2 <= self.splits <= MAX_SPLITS:
            raise InputError(
                "number of splits out of range", value=self.splits, allowed="auto, or 2..10000"
            )
        if not 0.0 < self.fraction < 1.0:
            raise InputError(
                "calibration share out of range", value=self.fraction, allowed="between 0 and 1"
            )
        if self.seed < 0:
            raise InputError("the seed must not be negative", value=self.seed)

    @property
    def most_splits(self) -> int:
        """Number of splits, or the most that the answer may need."""
        return MOST_SPLITS if self.splits is None else self.splits

    @property
    def of_splits(self) -> Settings:
        """The settings without the number of splits, on which no split depends."""
        return replace(self, splits=None)

    @property
    def splits_text(self) -> str:
        """The number of splits as text, ``auto`` where it is left to the answer."""
        return AUTO_SPLITS if self.splits is None else f"{self.splits:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Votes, oriented votes, and ballots for the kernels."""

    oriented: Oriented
    ballots: Ballots

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the columns of ``ballots``."""
        return self.oriented.votes.judges

    def named(self, judges: Bools) -> tuple[str, ...]:
        """Return the names of the judges that a mask (n_judges,) holds."""
        return tuple(self.judges[j] for j in np.flatnonzero(judges))

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences about these votes that must accompany every figure."""
        repeats = find_repeats(self.oriented.given).repeats
        return (*self.oriented.notices, *([repeats_sentence(repeats)] if repeats.apart else []))


def grouped_votes(votes: VoteMatrix, settings: Settings) -> VoteMatrix:
    """Return the votes, with copies of an item in one group if the settings say so."""
    return group_copies(votes) if settings.group_duplicates else votes


@cached(4)
def prepare(votes: VoteMatrix, settings: Settings) -> Prepared:
    """Return labelled items, oriented, with judges in name order, which breaks ties.

    The votes are those of an analysis, in which copies are grouped (:func:`grouped_votes`).
    """
    policy, seed = settings.orientation, settings.seed
    oriented = orient(votes, policy, protocol=settings.protocol, seed=seed, judges=settings.judges)
    votes = oriented.votes
    ballots = Ballots(
        votes=signs_of(votes.votes),
        signs=(2 * votes.labels - 1).astype(np.int8),
        units=votes.units,
        symmetric=oriented.symmetric,
        unlabelled=signs_of(oriented.unlabelled) if len(oriented.unlabelled) else None,
        ties=votes.ties,
        margins=votes.margins,
    )
    return Prepared(oriented, ballots)


LOOKS = (4, 10, 20, 30, 50, 70, 100)
FEWEST = 20
FEWEST_OF_MANY = 4
"""Splits that are always run; fewer suffice where each of them scores ``MANY`` items."""
MANY = 20_000
REACH = 3.0
MOST_OF_REACH = 0.2
"""Largest Monte Carlo error of a figure that decides, as a share of the half width of its interval.

One of two standard errors to either side is then at most 9 % wider than with any number of splits.
"""

Deciding = Iterable[tuple[Interval, float | Floats]]
"""Figures that decide, each with the margins that it is compared with; 0 where its sign decides."""


def is_open(settings: Settings) -> bool:
    """Return whether the number of splits is left to the answer; the paper's protocol fixes it."""
    return settings.splits is None and settings.protocol != "paper"


def looks(votes: VoteMatrix, settings: Settings, most: int) -> tuple[int, ...]:
    """Return the numbers of splits after which to look, the last of which is ``most``."""
    if not is_open(settings):
        return (most,)
    n_scored = (1.0 - settings.fraction) * int(np.count_nonzero(votes.labels >= 0))
    fewest = FEWEST_OF_MANY if n_scored >= MANY else FEWEST
    return (*(n for n in LOOKS if fewest <= n < most), most)


def always(*_: object) -> bool:
    """Settle a study without verdicts at the first look."""
    return True


def same_verdicts(differences: Estimate, levels: Floats | float) -> bool:
    """Return whether more splits are unlikely to change the verdict of any difference.

    ``levels`` are the NLLs to which the margins are relative.
    """
    margins = np.broadcast_to(MARGIN * np.asarray(levels), differences.value.shape)
    return _same(differences.lo, differences.hi, differences.monte_carlo, margins)


def steady(
    merge: Callable[[VoteMatrix, Any, Any], Any], deciding: Callable[[Any], Deciding]
) -> Callable[[VoteMatrix, Any, Any], bool]:
    """Return a ``settled`` that looks at those figures of the merged result that decide."""

    def settled(votes: VoteMatrix, spec: Any, partial: Any) -> bool:
        return all(holds(*entry) for entry in deciding(merge(votes, spec, partial)))

    return settled


def inside(figure: Interval, margin: float | Floats) -> Deciding:
    """Return what decides whether a figure lies inside its margins by two one-sided tests."""
    within = at_level(figure, 0.9)
    return [(within, margin), (-within, margin)]


def at_level(figure: Interval, level: float) -> Interval:
    """Return about the interval of another level, by quantiles of the normal distribution."""
    ours, theirs = norm_ppf(0.5 + np.array([level, figure.level]) / 2.0)
    down, up = (ours / theirs * (end - figure.value) for end in (figure.lo, figure.hi))
    return replace(figure, lo=figure.value + down, hi=figure.value + up, level=level)


def holds(figure: Interval, margin: float | Floats) -> bool:
    """Return whether more splits would neither narrow these intervals nor change their verdicts."""
    if figure.monte_carlo is None:
        return False
    lo, hi, error = (np.ravel(part) for part in (figure.lo, figure.hi, figure.monte_carlo))
    # Without an interval nothing was estimated; an interval of one point is known.
    open_ = np.isfinite(lo) & np.isfinite(hi) & (hi > lo)
    lo, hi, error = lo[open_], hi[open_], error[open_]
    margins = np.ravel(np.broadcast_to(margin, figure.shape))[open_]
    narrow = error <= MOST_OF_REACH * (hi - lo) / 2.0
    return bool(narrow.all()) and _same(lo, hi, error, margins)


def _same(lo: Floats, hi: Floats, error: Floats, margins: Floats) -> bool:
    """Return whether verdicts stay the same if intervals move by ``REACH`` errors either way."""
    ends = zip(lo, hi, REACH * error, margins, strict=True)
    return all(
        verdict(low - shift, high - shift, margin) == verdict(low + shift, high + shift, margin)
        for low, high, shift, margin in ends
    )


CHUNK_SPLITS = 5
"""Splits per chunk; fixed, so results depend neither on workers nor on the number of splits."""


class WorkersEnded(RuntimeError):
    """Worker processes die repeatedly, so the work cannot continue."""


class Cancelled(Exception):
    """The work was cancelled; the caller keeps what was merged before."""


class Gate:
    """Pauses or cancels work between its chunks; this base class does neither."""

    def is_open(self) -> bool:
        """Return whether another chunk may start now; called from any thread that starts chunks."""
        return True

    def wait(self) -> None:
        """Block until the gate is open or the work is cancelled."""

    def cancelled(self) -> bool:
        """Return whether the work is cancelled."""
        return False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Splits ``first`` .. ``first + count - 1``."""

    number: int
    first: int
    count: int


class Spec(typing.Protocol):
    """All options of a study, including the seed; a frozen dataclass."""

    @property
    def settings(self) -> Settings:
        """Settings shared by the studies of an analysis."""


class Result(typing.Protocol):
    """A frozen result with intervals, n, seed, null and warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that must accompany the numbers."""

    def frame(self) -> pd.DataFrame:
        """Return a tidy table, one row per figure."""

    def summary(self) -> dict[str, Any]:
        """Return decisions as JSON values."""


SpecT = TypeVar("SpecT", bound=Spec)
PartialT = TypeVar("PartialT")
ResultT = TypeVar("ResultT", bound=Result)
Extend = Callable[[Chunk, PartialT | None], PartialT]
"""Adds a chunk to the memory of a partial."""


@dataclass(frozen=True, slots=True)
class Study(Generic[SpecT, PartialT, ResultT]):
    """A question and how it is answered.

    ``run_chunk(votes, spec, chunk)`` is pure and returns a partial, which declares how it is
    combined with others (:mod:`judgepanel.studies.results`). ``merge(votes, spec, partial)`` turns
    any combined subset into a result, marked as partial until it contains all splits. Both get the
    votes of the analysis from the runner, which has grouped copies of items if the settings say so.
    The types ``spec``, ``partial`` (as which stored chunks are read back) and ``result`` are those
    of the annotations of ``merge``. ``rounds`` returns how many splits (or resamples) a spec needs,
    ``chunk`` is the number per chunk, and ``first`` that of the first chunk if smaller, so that a
    first result appears early. What ``run_chunk`` keeps of a split
    (:data:`judgepanel.kernels.threads.SHARED`) serves all studies of the votes, whichever worker
    computed it.

    ``settled(votes, spec, partial)`` returns whether the splits of a partial are enough, if the
    settings leave their number to the answer (see ``steady``). A study without it
    runs all of them. ``complete(votes, spec, result)`` adds what only a whole result has, once it
    is known that no splits follow; ``merge`` cannot know it if their number is left to the answer.

    Where partials of several workers would not fit in memory, ``extend(votes, spec)`` returns a
    function of a chunk and a partial, None for the first, which adds one chunk after another to the
    memory of that partial, on threads of its own; None where they fit.
    """

    name: str
    title: str
    question: str
    run_chunk: Callable[[VoteMatrix, SpecT, Chunk], PartialT]
    merge: Callable[[VoteMatrix, SpecT, PartialT], ResultT]
    rounds: Callable[[SpecT], int] = lambda spec: spec.settings.most_splits
    chunk: int = CHUNK_SPLITS
    first: int | None = None
    extend: Callable[[VoteMatrix, SpecT], Extend[PartialT] | None] = lambda *_: None
    settled: Callable[[VoteMatrix, SpecT, PartialT], bool] | None = None
    complete: Callable[[VoteMatrix, SpecT, ResultT], ResultT] = lambda _votes, _spec, result: result
    spec: type[SpecT] = field(init=False)
    partial: type[PartialT] = field(init=False)
    result: type[ResultT] = field(init=False)

    def __post_init__(self) -> None:
        types = typing.get_type_hints(self.merge)
        for name, of in (("spec", "spec"), ("partial", "partial"), ("result", "return")):
            object.__setattr__(self, name, types[of])

    def plan(self, spec: SpecT) -> tuple[Chunk, ...]:
        """Return all chunks that may be needed: ``chunk`` rounds each, after a first of ``first``.

        Chunks end where :meth:`stages` may end.
        """
        ends = LOOKS if self.is_open(spec) else ()
        return split_chunks(self.rounds(spec), self.chunk, self.first, ends)

    def stages(self, votes: VoteMatrix, spec: SpecT) -> tuple[tuple[Chunk, ...], ...]:
        """Return the chunks of the plan in stages; after each the study may be settled."""
        chunks = self.plan(spec)
        if not self.is_open(spec):
            return (chunks,)
        ends = looks(votes, spec.settings, self.rounds(spec))
        return tuple(
            tuple(chunk for chunk in chunks if start <= chunk.first < end)
            for start, end in pairwise((0, *ends))
        )

    def is_open(self, spec: SpecT) -> bool:
        """Return whether the number of splits is left to the answer."""
        return self.settled is not None and is_open(spec.settings)


AnyStudy = Study[Any, Any, Any]


def split_chunks(
    n_splits: int, size: int = CHUNK_SPLITS, first: int | None = None, cuts: Sequence[int] = ()
) -> tuple[Chunk, ...]:
    """Return all splits in order, in chunks of one size; the first may have another size.

    If there are ``cuts``, a chunk ends at each of them, and those between two cuts are of about
    equal size.
    """
    starts = [0, *range(first or size, n_splits, size)][:n_splits]
    if cuts:
        inside = [0, *(cut for cut in cuts if cut < n_splits), n_splits]
        sizes = [min(first or size, size), *[size] * (len(inside) - 2)]
        starts = [
            s for (a, b), n in zip(pairwise(inside), sizes, strict=True) for s in _even(a, b, n)
        ]
    ends = [*starts[1:], n_splits][: len(starts)]
    bounds = enumerate(zip(starts, ends, strict=True))
    return tuple(Chunk(number, start, end - start) for number, (start, end) in bounds)


def _even(start: int, end: int, size: int) -> list[int]:
    """Return the starts of chunks of at most ``size`` and about equal size."""
    n = -((start - end) // size)
    return [start + (end - start) * i // n for i in range(n)]
