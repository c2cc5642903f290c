"""The specification of a simulated panel, with validation of every option."""

from __future__ import annotations

import math
from dataclasses import dataclass

from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import TASKS, Task

MAX_SD = 5.0
MAX_LEVELS = 100

_WHOLE_NUMBERS: tuple[tuple[str, int], ...] = (
    ("n_items", 1),
    ("n_judges", 1),
    ("seed", 0),
    ("n_families", 0),
    ("copies", 0),
    ("copy_of", 0),
    ("anti_experts", 0),
    ("broken", 0),
    ("structural_judges", 0),
    ("items_per_group", 1),
)
_NUMBERS: tuple[tuple[str, float, float], ...] = (
    ("base_rate", 0.0, 1.0),
    ("difficulty_sd", 0.0, MAX_SD),
    ("group_rho", 0.0, 1.0),
    ("family_rho", 0.0, 1.0),
    ("copy_flip", 0.0, 1.0),
    ("structural_share", 0.0, 1.0),
    ("activity_sd", 0.0, MAX_SD),
    ("unlabelled_share", 0.0, 1.0),
)


@dataclass(frozen=True, slots=True)
class SimulationSpec:
    """A simulated panel. Every share, rate and correlation is in [0, 1].

    The columns are, in order: independent judges, ``copies`` of one of them, ``anti_experts`` and
    ``broken`` judges; together ``n_judges``.

    Attributes
    ----------
    n_items, n_judges, seed, task : size of the matrix, seed (>= 0), pairwise or pointwise.
    base_rate : P(label = 1).
    accuracy_low, accuracy_high : range of the independent judges' accuracies, which are uniform.
    accuracies : overrides the range: one accuracy in (0, 1) for each independent judge.
    difficulty_sd : sd of the items' difficulty on the logit scale, in [0, 5].
    subsets : (name, shift of the difficulty) of equally likely item subsets; adds the feature
        ``subset``. The target accuracies are marginal over all subsets.
    difficulty_noise : None, or the noise sd of the feature ``difficulty`` (a proxy of the true
        difficulty).
    items_per_group, group_rho : number of items that share a prompt, and the share of the
        difficulty's variance that they have in common; 1 item per group means no groups.
    n_families, family_rho : judges are assigned to the families in turn; family_rho is the Gaussian
        factor correlation of two judges of a family, given the item. 0 families means none.
    copies, copy_of, copy_flip : number of near-duplicates of one independent judge, its position,
        and the rate at which a copy's verdict differs from the original's.
    anti_experts, anti_accuracy : number of judges below chance, and their accuracy in (0, .5).
    broken, broken_verdict : number of judges that always give the same verdict, and that verdict.
    parse_rate : share of verdicts that are parsed, for all judges or per judge; missing at random.
    structural_judges, structural_share : number of judges that miss one slice of the items (the
        last subsets first), and the size of the slice.
    votes_per_item, activity_sd : None, or the number of random judges that see an item; sd of the
        log-activity of the judges (0: all equally active). The parse rate applies afterwards.
    levels : 0, or from 2 to 100: judges rate from -levels to levels without 0, and the sign is the
        vote. A judge observes the truth with a normal error; the rating is the distance from 0, in
        steps of 2 / levels standard deviations. Verdicts are the same as without ratings.
    unlabelled_share : share of items without a label, at random.
    costs : whether the judge table holds ``cost_usd`` (per item) and ``latency_s``.
    one_class : recode the result so that every label is 1 (pairwise only).
    judge_word : prefix of judge names: ``judge07``, or ``fam3-judge07``.

    Raises
    ------
    InputError
        A value outside its range, or values that are inconsistent.
    """

    n_items: int = 300
    n_judges: int = 24
    seed: int = 0
    task: Task = "pairwise"
    base_rate: float = 0.5
    accuracy_low: float = 0.6
    accuracy_high: float = 0.85
    accuracies: tuple[float, ...] | None = None
    difficulty_sd: float = 0.0
    subsets: tuple[tuple[str, float], ...] = ()
    difficulty_noise: float | None = None
    items_per_group: int = 1
    group_rho: float = 0.5
    n_families: int = 0
    family_rho: float = 0.0
    copies: int = 0
    copy_of: int = 0
    copy_flip: float = 0.03
    anti_experts: int = 0
    anti_accuracy: float = 0.4
    broken: int = 0
    broken_verdict: int = 0
    parse_rate: float | tuple[float, ...] = 1.0
    structural_judges: int = 0
    structural_share: float = 0.0
    votes_per_item: int | None = None
    activity_sd: float = 0.0
    levels: int = 0
    unlabelled_share: float = 0.0
    costs: bool = True
    one_class: bool = False
    judge_word: str = "judge"

    def __post_init__(self) -> None:
        for name, low in _WHOLE_NUMBERS:
            _check_whole(name, getattr(self, name), low)
        for name, least, most in _NUMBERS:
            _check_number(name, getattr(self, name), least, most)
        _check_wording(self)
        _check_accuracies(self)
        _check_items(self)
        _check_panel(self)
        _check_missing(self)
        if self.levels:
            _check_whole("levels", self.levels, 2, MAX_LEVELS)

    @property
    def n_independent(self) -> int:
        """Number of judges that are neither copies nor anti-experts nor broken."""
        return self.n_judges - self.copies - self.anti_experts - self.broken


def _refuse(name: str, value: object, allowed: str) -> InputError:
    return InputError(f"the simulation cannot use this {name}", value=value, allowed=allowed)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_whole(name: str, value: object, low: int, high: int | None = None) -> None:
    allowed = f"a whole number from {low}" + ("" if high is None else f" to {high}")
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refuse(name, value, allowed)
    if value < low or (high is not None and value > high):
        raise _refuse(name, value, allowed)


def _check_number(
    name: str, value: object, low: float, high: float, *, inside: bool = False
) -> None:
    allowed = f"a number {'strictly between' if inside else 'from'} {low:g} "
    allowed += f"{'and' if inside else 'to'} {high:g}"
    if not isinstance(value, int | float) or not _is_number(value):
        raise _refuse(name, value, allowed)
    if not low <= value <= high or (inside and value in (low, high)):
        raise _refuse(name, value, allowed)


def _check_wording(spec: SimulationSpec) -> None:
    if spec.task not in TASKS:
        raise _refuse("task", spec.task, ", ".join(TASKS))
    if spec.one_class and spec.task != "pairwise":
        raise _refuse("one_class", spec.one_class, "False for a pointwise task")
    if not isinstance(spec.judge_word, str) or not spec.judge_word:
        raise _refuse("judge_word", spec.judge_word, "a non-empty text")


def _check_accuracies(spec: SimulationSpec) -> None:
    _check_number("accuracy_low", spec.accuracy_low, 0, 1, inside=True)
    _check_number("accuracy_high", spec.accuracy_high, 0, 1, inside=True)
    if spec.accuracy_low > spec.accuracy_high:
        raise _refuse("accuracy_low", spec.accuracy_low, "at most accuracy_high")
    _check_number("anti_accuracy", spec.anti_accuracy, 0, 0.5, inside=True)
    if spec.accuracies is None:
        return
    if not isinstance(spec.accuracies, tuple) or len(spec.accuracies) != spec.n_independent:
        raise _refuse(
            "accuracies", spec.accuracies, f"a tuple of {spec.n_independent}, one per judge"
        )
    for value in spec.accuracies:
        _check_number("accuracies", value, 0, 1, inside=True)


def _check_items(spec: SimulationSpec) -> None:
    allowed = "a tuple of (different non-empty names, shift from -5 to 5)"
    names = set()
    for entry in spec.subsets:
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise _refuse("subsets", spec.subsets, allowed)
        name, shift = entry
        if not isinstance(name, str) or not name or name in names:
            raise _refuse("subsets", name, allowed)
        if not _is_number(shift) or abs(shift) > MAX_SD:
            raise _refuse("subsets", shift, allowed)
        names.add(name)
    if spec.difficulty_noise is not None:
        _check_number("difficulty_noise", spec.difficulty_noise, 0, MAX_SD)


def _check_panel(spec: SimulationSpec) -> None:
    if spec.n_independent < 0:
        raise _refuse("n_judges", spec.n_judges, "at least copies + anti_experts + broken")
    if spec.copies and spec.copy_of >= spec.n_independent:
        raise _refuse("copy_of", spec.copy_of, f"below {spec.n_independent} independent judges")
    if spec.broken_verdict not in (0, 1):
        raise _refuse("broken_verdict", spec.broken_verdict, "0, 1")


def _check_missing(spec: SimulationSpec) -> None:
    if isinstance(spec.parse_rate, tuple):
        if len(spec.parse_rate) != spec.n_judges:
            raise _refuse("parse_rate", spec.parse_rate, f"a number or {spec.n_judges} numbers")
        for value in spec.parse_rate:
            _check_number("parse_rate", value, 0, 1)
    else:
        _check_number("parse_rate", spec.parse_rate, 0, 1)
    if spec.structural_judges > spec.n_judges:
        raise _refuse("structural_judges", spec.structural_judges, f"at most {spec.n_judges}")
    if spec.votes_per_item is not None:
        _check_whole("votes_per_item", spec.votes_per_item, 1, spec.n_judges)
