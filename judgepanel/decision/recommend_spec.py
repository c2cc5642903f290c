"""Options of a recommendation, and its candidates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.decision.absence_arms import MOST_GROUPS
from judgepanel.decision.held_out import check_share, fitting_votes
from judgepanel.decision.preference import PREFERENCES, Preference, offered
from judgepanel.kernels.aggregate.levels import has_levels
from judgepanel.studies.common import check_known
from judgepanel.studies.contest.candidates import LISTS, Candidates, candidates_of
from judgepanel.studies.contest.compete import Terms
from judgepanel.studies.contest.recommended import FOLDS
from judgepanel.studies.panel.curator import Rules, known_judges
from judgepanel.studies.settings import Prepared, Settings, grouped_votes, prepare
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached

_NEAR = 5
"""Number of similar names suggested for an unknown one."""


@dataclass(frozen=True, slots=True)
class RecommendSpec:
    """Candidates and how they are chosen; ``folds`` inner folds on calibration rows.

    ``prefer`` and ``candidate`` only select from a result (:mod:`decision.reading`). A separate run
    is needed for a ``budget``, since panels within it are searched for, for a held-out share
    (``conformal``), which leaves fewer labels for the fit, and for the preference ``robust``, for
    which all candidates are scored without each family.

    Raises
    ------
    InputError
        The paper's protocol, fewer than 2 folds, an unknown list or preference, a budget that is
        not above 0, a held-out share outside [0, 1).
    """

    settings: Settings = Settings()
    candidates: str = field(
        default="default", metadata={"help": "list of candidates: default or wide"}
    )
    folds: int = field(
        default=FOLDS,
        metadata={"help": "number of inner folds on calibration rows, for closed forms"},
    )
    prefer: Preference = field(
        default="nll",
        metadata={
            "help": "what to take: the average of lowest NLL (nll), its heaviest pipeline alone "
            "(single), the average over everyone, what is best while a family is absent (robust), "
            "or the simplest, cheapest, or fewest judges among candidates tied with the best"
        },
    )
    budget: float | None = field(
        default=None, metadata={"help": "maximum cost of the panel per item (default: no limit)"}
    )
    candidate: str = field(
        default="",
        metadata={
            "help": "a candidate to take in place of the recommended panel, such as 'top-5, "
            "one_coin, temperature'; its own figures do not allow for having been picked"
        },
    )
    conformal: float = field(
        default=0.0,
        metadata={"help": "share of the labels held out to make sets at 80 and 90 %; 0: no sets"},
    )

    def __post_init__(self) -> None:
        if self.settings.protocol != "honest":
            raise InputError(
                "a recommendation under the paper's protocol would rest on in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        if self.folds < 2:
            raise InputError("too few inner folds", value=self.folds, allowed="2 or more")
        check_known("list of candidates", tuple(LISTS), (self.candidates,))
        check_known("preference", PREFERENCES, (self.prefer,))
        if self.budget is not None and not 0.0 < self.budget < float("inf"):
            raise InputError(
                "the budget is not a price", value=self.budget, allowed="a number above 0"
            )
        check_share(self.conformal)


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The candidates and their data, built once from votes and spec.

    ``families`` are columns of judges that may be absent together, empty unless a robust panel is
    requested.
    """

    prepared: Prepared
    choices: Candidates
    terms: Terms
    costs: Floats | None
    families: tuple[tuple[int, ...], ...]

    @property
    def offered(self) -> tuple[Preference, ...]:
        """Preferences that can be requested."""
        return offered(self.costs, self.terms.rules.budget, robust=bool(self.families))


def contest_of(votes: VoteMatrix, spec: RecommendSpec) -> Contest:
    """Return the data for the choice, without the items held out for sets.

    Raises
    ------
    InputError
        Costs or families are needed but unknown; a budget below every judge's cost, or below that
        of all judges if ``everyone`` is preferred; a candidate that does not exist.
    """
    contest = _any_preference(votes, shared_run(spec))
    costs = contest.costs
    if spec.prefer not in contest.offered:
        if costs is None or spec.budget is None:
            raise _unknown_costs()
        raise InputError(
            "keeping everyone exceeds the budget",
            value=spec.budget,
            allowed=f"{float(costs.sum()):g} or more, what all judges cost",
            remedy="raise the budget or take another preference",
        )
    names = [candidate.title for candidate in contest.choices.all()]
    if spec.candidate and spec.candidate not in names:
        near = get_close_matches(spec.candidate, names, _NEAR, cutoff=0.0)
        raise InputError(
            "no candidate has this name",
            value=spec.candidate,
            allowed=f"for instance {'; '.join(near)}",
        )
    return contest


def shared_run(spec: RecommendSpec) -> RecommendSpec:
    """Return the spec of the run, without the options that only select from its result."""
    prefer: Preference = "robust" if spec.prefer == "robust" else RecommendSpec().prefer
    return replace(spec, prefer=prefer, candidate="")


@cached(4)
def _any_preference(votes: VoteMatrix, spec: RecommendSpec) -> Contest:
    fitting = fitting_votes(grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed)
    prepared = prepare(fitting, spec.settings)
    ballots, known = prepared.ballots, known_judges(fitting, prepared)
    costs = None if known.costs is None else np.array(known.costs)
    if spec.budget is not None:
        if costs is None:
            raise _unknown_costs()
        if spec.budget < costs.min():
            raise InputError(
                "no judge keeps within the budget",
                value=spec.budget,
                allowed=f"{costs.min():g} or more, what the cheapest judge costs",
            )
    rules = Rules(seed=spec.settings.seed, budget=spec.budget, tables=False)
    choices = candidates_of(
        spec.candidates,
        ballots.n_judges,
        symmetric=ballots.symmetric,
        budget=spec.budget is not None,
        robust=spec.prefer == "robust",
        graded=has_levels(ballots),
    )
    absent = families_absent(known.families) if spec.prefer == "robust" else ()
    if spec.prefer == "robust" and not absent:
        raise InputError(
            "families of the judges are not known",
            allowed="a judge table with a family for some judges, and not the same one for all",
            remedy="give a judge table with a column `family` or take another preference",
        )
    terms = Terms(spec.folds, spec.settings.seed, known, rules)
    return Contest(prepared, choices, terms, costs, absent)


def families_absent(families: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Return columns of judges (one family name each, '' if unknown) that may be absent together.

    They are the largest ``MOST_GROUPS`` families; a family of all judges is left out.
    """
    names = np.array(families)
    groups = [np.flatnonzero(names == name).tolist() for name in sorted(set(families) - {""})]
    largest = sorted(groups, key=lambda columns: -len(columns))[:MOST_GROUPS]
    return tuple(tuple(columns) for columns in largest if len(columns) < len(families))


def _unknown_costs() -> InputError:
    return InputError(
        "costs of the judges are not known", allowed="a judge table with a cost for every judge"
    )
