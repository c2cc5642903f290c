"""Curators, which choose judges: the evidence they are given, and the panel that they return.

Evidence is calibration rows alone, and known attributes of the judges.

Costs and latencies of judges from the judge table.

A column is ``cost``, or ``cost_`` and a unit (``cost_usd``), per item; likewise for latency
(``latency``, ``latency_s``).

How curators choose: by a rule or a ranking, some without labels, or by a search for low NLL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import prefixes, subsets
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Recipe, inner_losses, nll_by_fold
from judgepanel.kernels.redundancy import clusters, error_correlation, error_counts
from judgepanel.scoring.splits import Split, stream
from judgepanel.studies import contract, options
from judgepanel.studies.understand.judge_table import families_of, legible, to_drop
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import JUDGES, listed, quote_value

COST, LATENCY = "cost", "latency"
TABLE = "the judge table"
WRITTEN = {"usd": "USD", "eur": "EUR", "gbp": "GBP", "jpy": "JPY", "cny": "CNY", "chf": "CHF"}
"""Display names of units that differ from the column suffix."""
SLACK = 1e-9
"""Relative tolerance: costs are sums of decimals, and a panel may cost exactly its budget."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgeCosts:
    """Costs (n_judges,) per item and their unit.

    ``counted``: no costs are known, so every judge counts 1 and a cost is a number of judges.
    ``latency`` (n_judges,) per item, NaN if unknown.
    """

    cost: Floats
    unit: str
    counted: bool
    latency: Floats
    latency_unit: str

    @property
    def full(self) -> float:
        """Cost of all judges."""
        return float(self.cost.sum())

    def of(self, judges: Bools) -> Floats:
        """Return the cost of panels (..., n_judges)."""
        return np.asarray(judges.astype(np.float64) @ self.cost)

    def slowest(self, judges: Bools) -> Floats:
        """Latency of panels (..., n_judges) asked in parallel; 0 if empty, NaN if unknown."""
        return np.asarray(np.where(judges, self.latency, 0.0).max(axis=-1))

    def in_turn(self, judges: Bools) -> Floats:
        """Latency of panels (..., n_judges) asked in sequence."""
        return np.asarray(np.where(judges, self.latency, 0.0).sum(axis=-1))


def column_of(votes: VoteMatrix, name: str) -> str | None:
    """Return the column of the judge table called ``name``, or ``name_`` and a unit.

    None if there is no such column, or several with a unit.
    """
    if votes.judge_table is None:
        return None
    columns = _columns_of(votes.judge_table, name)
    if name in columns:
        return name
    return columns[0] if len(columns) == 1 else None


def _columns_of(table: pd.DataFrame, name: str) -> list[str]:
    """Return all columns called ``name``, or ``name_`` and a unit."""
    columns = map(str, table.columns)
    return [column for column in columns if column == name or column.startswith(f"{name}_")]


def numbers_of(votes: VoteMatrix, name: str, noun: str) -> Floats | None:
    """Return values (n_judges,) in the order of the votes, NaN if blank; None without a column.

    Raises
    ------
    InputError
        A value below 0, or one that is not a number.
    """
    column = column_of(votes, name)
    if column is None or votes.judge_table is None:
        return None
    given = votes.judge_table[column]
    values = np.array(pd.to_numeric(given, errors="coerce"), dtype=np.float64)
    for judge, text, value in zip(votes.judges, given, values, strict=True):
        blank = pd.isna(text) or str(text).strip() == ""
        if not blank and not 0.0 <= value < np.inf:
            raise InputError(
                f"the {name} of judge {judge} is not a {noun}",
                file=TABLE,
                column=column,
                value=text,
                allowed="a number, 0 or more",
                remedy="correct it in the judge table",
            )
    return values


def prices_of(votes: VoteMatrix) -> tuple[Floats, str]:
    """Return the cost (n_judges,) of every judge of a file, NaN where unknown, and its unit."""
    given = numbers_of(votes, COST, "price")
    unknown = np.full(votes.n_judges, np.nan)
    return (unknown, "") if given is None else (given, _unit(column_of(votes, COST), COST))


def with_costs(votes: VoteMatrix, cost: Floats, unit: str = "") -> VoteMatrix:
    """Return votes whose judge table has these costs (n_judges,) per item, NaN where unknown.

    They replace the costs that it had. ``unit`` names them: of ``usd`` the column is ``cost_usd``.

    Raises
    ------
    InputError
        A cost below 0 or infinite; a unit that is no word of letters, digits, and underscores.
    """
    if unit and not re.fullmatch(r"\w{1,20}", unit):
        allowed = "up to 20 letters and digits, such as usd"
        raise InputError("the unit of the costs is not a word", value=unit, allowed=allowed)
    table = pd.DataFrame(index=range(votes.n_judges))
    if votes.judge_table is not None:
        table = votes.judge_table.copy()
    kept = table.drop(columns=_columns_of(table, COST))
    kept[f"{COST}_{unit.lower()}" if unit else COST] = cost
    priced = replace(votes, judge_table=kept)
    numbers_of(priced, COST, "price")
    return priced


def costs_of(votes: VoteMatrix, judges: Sequence[str]) -> JudgeCosts:
    """Return the costs of these judges, in their order; 1 for every judge if no cost is given.

    Raises
    ------
    InputError
        A cost that is not a number of at least 0, or a missing cost.
    """
    place = {name: j for j, name in enumerate(votes.judges)}
    columns = np.array([place[name] for name in judges], dtype=np.int64)
    cost = numbers_of(votes, COST, "price")
    try:
        latency = numbers_of(votes, LATENCY, "time")
    except InputError:
        latency = None  # No decision depends on latencies that are not all numbers.
    slow = np.full(len(judges), np.nan) if latency is None else latency[columns]
    unit, second = (_unit(column_of(votes, name), name) for name in (COST, LATENCY))
    if cost is None:
        return JudgeCosts(np.ones(len(judges)), "judges", True, slow, second)
    cost = cost[columns]
    unknown = [name for name, value in zip(judges, cost, strict=True) if np.isnan(value)]
    if unknown:
        raise InputError(
            f"what a panel costs needs a cost of every judge that takes part, and there is none of "
            f"{listed(unknown)}",
            file=TABLE,
            column=column_of(votes, COST),
            allowed="a number of 0 or more for every judge",
            remedy=f"add them to the judge table, or leave those judges out {JUDGES}",
        )
    return JudgeCosts(cost, unit, False, slow, second)


def _unit(column: str | None, name: str) -> str:
    return "" if column is None else column.removeprefix(name).removeprefix("_")


def affordable(cost: Floats | float, budget: float) -> Bools:
    """Return which costs are within a budget."""
    return np.asarray(np.asarray(cost) <= budget * (1.0 + SLACK))


def check_price(budget: float | None) -> None:
    """Refuse an invalid budget; None is no budget."""
    if budget is not None and not 0.0 <= budget < np.inf:
        raise InputError("the budget is not a price", value=budget, allowed="a number, 0 or more")


check_folds = options.valid("too few inner folds", lambda n: n >= 2, "2 or more")
check_steps = options.valid("steps is too small", lambda n: n >= 0, "0 or more")


def check_budget(cost: Floats, budget: float, judges: Sequence[str] = ()) -> None:
    """Refuse a budget below the cost of every judge; name the cheapest and its cost."""
    cheapest = int(np.argmin(cost))
    if not affordable(cost[cheapest], budget):
        least = f"{cost[cheapest]:.6g}"
        who = f", {quote_value(judges[cheapest])}," if len(judges) else ""
        why = f"no judge can be asked for this budget: the cheapest{who} costs {least} an item"
        raise InputError(why, value=f"{budget:g}", allowed=f"{least} or more")


def no_costs_note(costs: JudgeCosts) -> list[str]:
    """Return a sentence on missing costs and how to provide them."""
    if not costs.counted:
        return []
    return [
        "The judge table gives no costs, so every judge counts 1 and 'cost' is the number of "
        "judges. Costs take one column of it named cost, or cost_ and a unit (cost_usd), with what "
        "each judge costs for one item."
    ]


Inner = Literal["folds", "split"]
Key = tuple[int, ...]
Needs = Literal["nothing", "families", "costs", "budget"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How all curators compare panels, and their sizes.

    Panels are compared under ``aggregator`` and ``calibrator`` in ``folds`` inner folds. ``size``
    is the number of judges of curators with a fixed size; ``width`` and ``steps`` are for the beam,
    ``groups`` (at most 12) for the exhaustive search, ``budget`` (cost per item, None for no limit)
    for the best panel under a budget. ``tables``: the finite-calibration selector may count
    patterns in a table instead of summing votes.
    """

    aggregator: prefixes.ClosedForm = "one_coin"
    calibrator: Calibrator = "beta"
    folds: int = 5
    size: int = 5
    width: int = 3
    steps: int = 20
    groups: int = 9
    seed: int = 0
    budget: float | None = None
    tables: bool = True


@dataclass(frozen=True, slots=True)
class JudgeAttributes:
    """Known attributes of the judges, in the order of the ballots' columns.

    ``families`` (n_judges), '' if none is given, and ``costs`` (n_judges,) per item, None unless
    all judges have one.
    """

    families: tuple[str, ...]
    costs: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Calibration rows as separate ballots, so that nothing else is accessible.

    ``key`` starts the random streams of choices based on this evidence.
    """

    ballots: Ballots
    known: JudgeAttributes
    rules: Rules
    key: tuple[int, ...]

    @property
    def rows(self) -> Ints:
        """All rows (n,) of the evidence."""
        return np.arange(self.ballots.n_items)

    def part(self, rows: Ints, number: int) -> Evidence:
        """Return some of the rows, with a separate random stream."""
        return replace(self, ballots=rows_of(self.ballots, rows), key=(*self.key, number))

    def comparison(self, inner: Inner = "folds") -> subsets.Comparison:
        """Return a comparison of panels on these rows alone, by inner folds or one inner split."""
        seed, of_these = self.rules.seed, (self.ballots, self.rows)
        pipeline = self.rules.aggregator, self.rules.calibrator
        if inner == "split":
            return subsets.by_split(*of_these, *pipeline, seed=seed, key=(*self.key, 101))
        n_folds, key = self.rules.folds, (*self.key, 102)
        return subsets.by_folds(*of_these, *pipeline, n_folds=n_folds, seed=seed, key=key)


def evidence_of(
    ballots: Ballots, rows: Ints, known: JudgeAttributes, rules: Rules, key: tuple[int, ...]
) -> Evidence:
    """Return evidence from these calibration rows of the ballots."""
    return Evidence(rows_of(ballots, rows), known, rules, key)


def rows_of(ballots: Ballots, rows: Ints) -> Ballots:
    """Return some of the labelled rows, without the unlabelled ones."""
    return replace(ballots.of_items(rows), unlabelled=None)


def known_judges(votes: VoteMatrix, prepared: contract.Prepared) -> JudgeAttributes:
    """Return families and costs from the judge table, in the order of the ballots' columns.

    Raises
    ------
    InputError
        A cost below 0, or one that is not a number.
    """
    place = {name: j for j, name in enumerate(votes.judges)}
    columns = [place[name] for name in prepared.judges]
    families = families_of(votes)
    given = numbers_of(votes, COST, "price")
    costs = None if given is None else tuple(float(given[j]) for j in columns)
    if costs is not None and any(math.isnan(cost) for cost in costs):
        costs = None
    return JudgeAttributes(tuple(families[j] for j in columns), costs)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A panel, and the NLL on which it was chosen, NaN if there was none.

    ``judges`` bool (n_judges,). ``ranking``: the panel is a prefix of this ranking. ``table``: its
    votes are counted in a table of patterns instead of summed. ``path`` (m, n_judges) and
    ``path_nll`` (m,) are other panels it compared, the best of each step.
    """

    judges: Bools
    nll: float = float("nan")
    ranking: prefixes.Ranking | None = None
    table: bool = False
    path: Bools | None = None
    path_nll: Floats | None = None

    @property
    def size(self) -> int:
        """Number of judges."""
        return int(self.judges.sum())


@dataclass(frozen=True, slots=True)
class Curator:
    """A named way of choosing judges.

    ``choose`` uses only its evidence; it is None for the oracle, which is not ``deployable``.
    ``uses_labels``: whether the panel depends on labels, so that scores for calibration must come
    from panels chosen without them. ``searches(n_judges, rules)`` is the maximum number of panels a
    long search compares.
    """

    name: str
    title: str
    choose: Callable[[Evidence], Chosen] | None
    uses_labels: bool = True
    needs: Needs = "nothing"
    searches: Callable[[int, Rules], float] | None = None

    @property
    def deployable(self) -> bool:
        """Whether this choice is possible without the labels of new items."""
        return self.choose is not None

    def chosen(self, evidence: Evidence) -> Chosen:
        """Return its choice; not available for the oracle."""
        if self.choose is None:
            raise ValueError("the oracle chooses on other rows than these")
        return self.choose(evidence)

    def panels(self, n_judges: int, rules: Rules) -> float:
        """Maximum number of panels that a long search compares; 0 for all other curators."""
        return 0.0 if self.searches is None else self.searches(n_judges, rules)


def chosen_of(outcome: subsets.SearchResult) -> Chosen:
    """Return the best subset of a search."""
    return Chosen(outcome.best, outcome.nll, path=outcome.path, path_nll=outcome.path_nll)


def every_judge(evidence: Evidence) -> Chosen:
    """All judges."""
    return Chosen(np.ones(evidence.ballots.n_judges, dtype=bool))


def top_k(evidence: Evidence, ranking: prefixes.Ranking) -> Chosen:
    """The k best by a ranking; k by inner folds, with the judges ranked again in each."""
    sizes = np.arange(1, evidence.ballots.n_judges + 1)
    nll = prefix_nll(evidence, sizes, ranking)
    k = int(sizes[np.argmin(np.round(nll, 9))])
    return first_of(evidence, k, ranking, float(nll[k - 1]))


def prefix_nll(evidence: Evidence, sizes: Ints, ranking: prefixes.Ranking) -> Floats:
    """NLL (n_sizes,) of the best k by inner folds, ranked again in each."""
    ballots, rules, key = evidence.ballots, evidence.rules, (*evidence.key, 102)
    recipe = Recipe(rules.aggregator, (rules.calibrator,), ranking, seed=rules.seed)
    losses = inner_losses(ballots, evidence.rows, sizes, recipe, n_folds=rules.folds, key=key)
    return np.asarray(losses.mean(axis=-1)[0])


def first_of(
    evidence: Evidence, k: int, ranking: prefixes.Ranking, nll: float = np.nan, table: bool = False
) -> Chosen:
    """The first k of the ranking on all rows."""
    order = prefixes.rank(evidence.ballots, evidence.rows, ranking)
    return Chosen(np.isin(np.arange(evidence.ballots.n_judges), order[:k]), nll, ranking, table)


def fixed_size(evidence: Evidence) -> Chosen:
    """The ``size`` most accurate judges."""
    return first_of(evidence, min(evidence.rules.size, evidence.ballots.n_judges), "accuracy")


def random_k(evidence: Evidence) -> Chosen:
    """``size`` judges drawn at random."""
    n_judges = evidence.ballots.n_judges
    drawn = stream(evidence.rules.seed, *evidence.key, 103).permutation(n_judges)
    return Chosen(np.isin(np.arange(n_judges), drawn[: evidence.rules.size]))


def one_per_family(evidence: Evidence) -> Chosen:
    """The most accurate judge of every given family; judges without a family stay."""
    return Chosen(_best_of_groups(evidence, subsets.named_groups(evidence.known.families)))


def one_per_cluster(evidence: Evidence) -> Chosen:
    """The most accurate judge of every cluster of judges with correlated errors."""
    ballots = evidence.ballots
    label = clusters(error_correlation(error_counts(ballots.votes, ballots.signs))).label
    names = ["" if code == 0 else str(code) for code in label]
    return Chosen(_best_of_groups(evidence, subsets.named_groups(names)))


def _best_of_groups(evidence: Evidence, groups: Bools) -> Bools:
    accuracy = prefixes.posterior_mean(*prefixes.counts(evidence.ballots, evidence.rows))
    return np.isin(np.arange(len(accuracy)), np.where(groups, accuracy, -1.0).argmax(axis=1))


def without_failures(evidence: Evidence) -> Chosen:
    """All judges except those that the P1 filter drops: unreadable, constant, or below chance.

    Judges below chance are dropped only if the aggregator cannot reverse their votes.
    """
    return _all_but(to_drop(legible(evidence.ballots, limits=False), evidence.rules.aggregator))


def above_chance(evidence: Evidence) -> Chosen:
    """All judges except those that P1 drops or shows to be below chance, for any aggregator."""
    legibility = legible(evidence.ballots, limits=False)
    return _all_but(to_drop(legibility, evidence.rules.aggregator) | legibility.below)


def _all_but(dropped: Bools) -> Chosen:
    """All judges stay if none would."""
    return Chosen(np.ones_like(dropped) if dropped.all() else ~dropped)


def cheapest_k(evidence: Evidence) -> Chosen:
    """The k cheapest, k by inner folds. The order uses no labels, so panels are taken as given."""
    costs = evidence.known.costs
    if costs is None:
        raise ValueError("there is no cost of every judge")
    order = np.argsort(np.array(costs), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    path = place[None, :] <= np.arange(len(order))[:, None]
    return chosen_of(subsets.best_of(path, evidence.comparison()(path).nll))


def greedy_forward(evidence: Evidence) -> Chosen:
    """Add the judge that helps most, up to ``steps``, by one inner split."""
    rules, n_judges = evidence.rules, evidence.ballots.n_judges
    return chosen_of(subsets.forward(evidence.comparison("split"), n_judges, steps=rules.steps))


def beam_forward(evidence: Evidence) -> Chosen:
    """Forward search keeping ``width`` best panels per size, up to ``steps``, by inner folds."""
    rules, n_judges = evidence.rules, evidence.ballots.n_judges
    return chosen_of(
        subsets.forward(evidence.comparison(), n_judges, width=rules.width, steps=rules.steps)
    )


def backward_elimination(evidence: Evidence) -> Chosen:
    """Remove the judge whose removal costs least, repeatedly, by inner folds."""
    every_judge = np.ones(evidence.ballots.n_judges, dtype=bool)
    return chosen_of(subsets.backward(evidence.comparison(), every_judge))


def every_union(evidence: Evidence) -> Chosen:
    """Search every union of a few groups, by inner folds.

    Groups are the given families, if there are 2 to 12; otherwise at most ``groups`` clusters of
    judges with similar errors.
    """
    groups = subsets.named_groups(evidence.known.families)
    if not any(evidence.known.families) or not 2 <= len(groups) <= subsets.MOST_GROUPS:
        groups = subsets.found_groups(evidence.ballots, evidence.rules.groups)
    return chosen_of(subsets.exhaustive(evidence.comparison(), groups))


def lasso(evidence: Evidence) -> Chosen:
    """Judges at the l1 penalty with the lowest NLL by inner folds, the path refitted in each."""
    total = sum(
        trial.losses(subsets.lasso_path(evidence.ballots, trial.split.calibration))[0]
        for trial in evidence.comparison().trials
    )
    nll = np.asarray(total) / evidence.ballots.n_items
    best = int(np.argmin(np.round(nll, 9)))
    path = subsets.lasso_path(evidence.ballots, evidence.rows)
    return Chosen(path[best], float(nll[best]), path=path, path_nll=nll)


def finite_calibration(evidence: Evidence) -> Chosen:
    """The path, prefix and aggregation with the lowest NLL by inner folds.

    Paths are both rankings; the votes of a prefix are summed, or, up to ``MOST_JUDGES``, counted in
    a table of patterns. Ties go to sums, then to fewer judges. (Our reading of arXiv:2606.01034.)
    """
    sizes = np.arange(1, evidence.ballots.n_judges + 1)
    few = sizes[: subsets.MOST_JUDGES]
    choices: list[tuple[float, bool, int, prefixes.Ranking]] = []
    for table in (False, True) if evidence.rules.tables else (False,):
        for ranking in prefixes.RANKINGS:
            seen_by = _table_nll if table else prefix_nll
            nll = seen_by(evidence, few if table else sizes, ranking)
            k = int(np.argmin(np.round(nll, 9)))
            choices.append((float(nll[k]), table, k + 1, ranking))
    nll_seen, table, k, ranking = min(choices, key=lambda choice: round(choice[0], 9))
    return first_of(evidence, k, ranking, nll_seen, table=table)


def table_scores(
    ballots: Ballots, split: Split, ks: Ints, ranking: prefixes.Ranking, seed: int, key: Key
) -> prefixes.PrefixScores:
    """Scores of the best k by a table of their patterns, cross-fitted on the calibration rows."""
    kernel = subsets.table_kernel
    return prefixes.cross_fitted(
        ballots, split, ks, kernel, ranking=ranking, own_label="removed", seed=seed, key=key
    )


def _table_nll(evidence: Evidence, sizes: Ints, ranking: prefixes.Ranking) -> Floats:
    ballots, rows, rules = evidence.ballots, evidence.rows, evidence.rules
    whole = Split(0, rows, rows[:0])
    scores = table_scores(ballots, whole, sizes, ranking, rules.seed, (*evidence.key, 104))
    if scores.fold is None:
        raise ValueError("table scores are cross-fitted")
    return np.asarray(nll_by_fold(ballots, whole, scores, (rules.calibrator,), scores.fold)[0])
