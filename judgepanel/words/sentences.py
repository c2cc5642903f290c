r"""Sentences shared by studies' answers; plain text, which each renderer escapes.

The exact command that reproduces a result.

Options are written ``--name=value``, so no value can be mistaken for an option, and words are
quoted for bash and zsh. Unprintable characters (line breaks, escape sequences, direction marks) are
written as ``$'\xHH'``: the shell restores them, and the terminal does not interpret them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from judgepanel.studies.contract import AUTO_SPLITS, Settings, Spec
from judgepanel.studies.options import written_options
from judgepanel.votes import Loaded, Task, VoteMatrix, cells, checks, matrix
from judgepanel.votes.choices import OPTIONS, Thresholds
from judgepanel.votes.errors import IN_CHECKOUT
from judgepanel.words.text import capital, counted, fixed, interval, level, percent, signed

if TYPE_CHECKING:
    from judgepanel.decision.recommend_result import RecommendSpec
    from judgepanel.models.panel import Mixture
    from judgepanel.scoring.descriptive import WithLabels
    from judgepanel.studies.accumulate import ConstantPosition

CALIBRATOR_NAMES = {
    "none": "uncalibrated",
    "temperature": "temperature",
    "platt": "Platt",
    "beta": "beta",
    "beta_clipped": "beta (clipped)",
    "beta_l2": "beta (L2)",
    "beta_free": "beta (no penalty)",
    "beta_cv": "beta (penalty by CV)",
    "isotonic": "isotonic",
    "auto": "automatic",
}
CALIBRATED = {
    "none": "no calibrator",
    "temperature": "temperature scaling",
    "platt": "Platt scaling",
    "beta": "the beta calibrator",
    "beta_clipped": "the paper's clipped beta calibrator",
    "beta_l2": "the L2-penalised beta calibrator",
    "beta_free": "the beta calibrator without a penalty",
    "beta_cv": "the beta calibrator, penalty chosen by CV",
    "isotonic": "isotonic regression",
    "auto": "the automatic calibrator",
}
"""Names of calibrators within a sentence."""

AGGREGATOR_NAMES = {
    "majority": "majority vote",
    "accuracy_weighted": "accuracy-weighted vote",
    "log_odds": "log-odds",
    "one_coin": "one-coin",
    "dawid_skene": "Dawid–Skene",
    "dawid_skene_semi": "Dawid–Skene with labels",
    "stacking": "stacking",
    "joint": "joint",
    "stacking_monotone": "monotone stacking",
    "joint_monotone": "monotone joint",
    "one_coin_graded": "one-coin on grades",
    "joint_graded": "joint on grades",
    "average": "the recommended panel",
}
_LOGISTIC = frozenset({"stacking", "joint", "stacking_monotone", "joint_monotone", "joint_graded"})
"""Aggregators that fit log-odds to labels: without a calibrator they are no raw score."""
EVEN_SHARE = 0.4
"""Minority share from which labels count as balanced in the sentence on votes."""
CODING = "These figures measure the coding, not the judges."


def with_coding(text: str, measures_coding: bool) -> str:
    """Return an answer, followed by :data:`CODING` where its figures measure the coding."""
    return f"{text} {CODING}" if measures_coding else text


def first_calibrator(calibrators: Sequence[str]) -> str:
    """Return the calibrator to show first: beta if it was fitted."""
    return "beta" if "beta" in calibrators else str(calibrators[0])


def position_sentence(position: ConstantPosition) -> str:
    """Say that a constant position explains the score; precedes any statement about judges."""
    value, lo, hi = position.gap
    gap = f"{signed(value)} {interval(lo, hi, sign=True)}"
    return (
        f"A constant position explains this: on the file as given, 'always {position.label}' "
        f"alone gets NLL {fixed(position.nll, 3)}, which the panel is not shown to beat ({gap})."
    )


def if_positions_mean_nothing(position: ConstantPosition | None, text: str) -> str:
    """Return an answer on condition that judges prefer no position, if that could explain it."""
    if position is None or not position.explains:
        return text
    text = f"{text[0].lower()}{text[1:]}"
    return f"{position_sentence(position)} Only if no judge prefers a position: {text}"


def alpha_sentence(agreement: WithLabels, n_labelled: int) -> str:
    """Return Krippendorff's alpha of the judges, and on how many items agreement is counted."""
    alpha, n = agreement.alpha, agreement.n_items
    if math.isfinite(alpha.value):
        sentence = f"Krippendorff's alpha of the judges is {level(*alpha)}."
    else:
        sentence = "Krippendorff's alpha is not defined: no votes of one item can be compared."
    if n == n_labelled:
        return sentence
    return f"{sentence} Kappa, AC1 and alpha are counted on {n:,} labelled items drawn at random."


def votes_sentence(
    votes: VoteMatrix, *, group_duplicates: bool = False, repeats: checks.Check | None = None
) -> str:
    """Describe the votes and whether they are ready: copies of items must be kept together.

    ``repeats`` is the check of repeated items, if it has been made.
    """
    labelled = int(votes.labelled.sum())
    share = votes.minority_share
    size = f"{counted(votes.n_items, 'item')}, {counted(votes.n_judges, 'judge')}"
    if labelled == 0:
        return f"{size}, no labels."
    known = "all labelled" if labelled == votes.n_items else f"{labelled:,} labelled"
    if share == 0.0:
        balance = "every label is the same"
    elif share < matrix.BALANCED_SHARE:
        balance = f"lopsided ({percent(share)} of the rarer label)"
    elif share < EVEN_SHARE:
        balance = f"{percent(share)} of the rarer label"
    else:
        balance = "balanced"
    if share < matrix.BALANCED_SHARE and votes.task == "pairwise":
        state = "see item order"
    else:
        check = repeats or checks.check_repeats(votes, group_duplicates=group_duplicates)
        state = "items repeat" if check.outcome == "fail" else "ready"
    return f"{size}, {known}, {balance}: {state}."


SAME_PANEL = "same panel as all"
SAME_PROBABILITIES = "same probabilities as all"


def tie_words(k_lo: int, n_judges: int) -> str:
    """Return the words for a difference when an arm never differs from all judges.

    ``k_lo`` is the smallest panel of the arm in any split.
    """
    return SAME_PANEL if k_lo == n_judges else SAME_PROBABILITIES


def pipeline_name(aggregator: str, calibrator: str) -> str:
    """``one-coin + beta``, ``uncalibrated one-coin``, or ``joint`` without a calibrator."""
    if aggregator == "average" or (calibrator == "none" and aggregator in _LOGISTIC):
        return AGGREGATOR_NAMES[aggregator]
    if calibrator == "none":
        return f"{CALIBRATOR_NAMES[calibrator]} {AGGREGATOR_NAMES[aggregator]}"
    return f"{AGGREGATOR_NAMES[aggregator]} + {CALIBRATOR_NAMES[calibrator]}"


def calibrator_name(aggregator: str, calibrator: str) -> str:
    """Name the calibrator of a pipeline where its aggregator is named beside it."""
    without = aggregator in _LOGISTIC and calibrator == "none"
    return "none" if without else CALIBRATOR_NAMES[calibrator]


def panel_pipelines(panel: Mixture) -> str:
    """``joint``, or ``an average of 4 pipelines led by joint``."""
    main, size = panel.members[0], len(panel.members[0].columns)
    name = pipeline_name(main.model.aggregator, main.model.calibrator)
    if size != len(panel.judges):
        name += f" of {counted(size, 'judge')}"
    if len(panel.members) == 1:
        return name
    average = f"an average of {counted(len(panel.members), 'pipeline')}"
    return f"{average} led by {name}"


def in_words(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Return studies' warnings with calibrator names as elsewhere on the page."""
    words = []
    for sentence in warnings:
        name, _, rest = sentence.partition(" ")
        words.append(f"{capital(CALIBRATED[name])} {rest}" if name in CALIBRATED else sentence)
    return tuple(words)


def so_far(result: Any) -> str:
    """Return the start of an answer that some splits or halves are missing from; else nothing."""
    splits = splits_so_far(result)
    return f"So far, {splits}: " if splits else ""


def splits_so_far(result: Any) -> str:
    """Return how many splits or halves an answer is based on if some are missing; else nothing."""
    if getattr(result, "partial", False):
        for noun, name in (("splits", "splits"), ("halves", "rounds")):
            if hasattr(result, f"planned_{name}"):
                completed = getattr(result, f"n_{name}")
                planned = getattr(result, f"planned_{name}")
                return f"{completed:,} of {planned:,} {noun}"
    return ""


CHECK_MARKS = {
    "pass": "passes",
    "review": "needs review",
    "fail": "fails",
    "not applicable": "does not apply",
}
"""Outcomes of checks, following 'P0 Labels and order:'."""


def check_sentences(check: checks.Check) -> str:
    """Return a check's outcome, the reason, and what to do."""
    return f"{check.title}: {CHECK_MARKS[check.outcome]}. {check.why} {check.advice}"


def check_numbers(check: checks.Check) -> str:
    """Return the counts of a check."""
    return "; ".join(
        f"{name}: {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in check.numbers.items()
    )


def settings_words(settings: Settings) -> str:
    """Return the settings that differ from their defaults, such as ``10 splits, seed 7``."""
    sentence = {
        "orientation": f"order {settings.orientation.replace('_', ' ')}",
        "protocol": f"protocol {settings.protocol}",
        "judges": counted(len(settings.judges or ()), "chosen judge"),
        "splits": f"{settings.splits_text} splits",
        "fraction": f"{percent(settings.fraction)} calibrate",
        "seed": f"seed {settings.seed}",
        "group_duplicates": "duplicates grouped",
    }
    default = Settings()
    names = [field.name for field in fields(Settings)]
    return ", ".join(
        sentence[name] for name in names if getattr(settings, name) != getattr(default, name)
    )


PROGRAM = "./run cli" if IN_CHECKOUT else "judgepanel"
"""The command line: in a checkout of the repository, or where the package is installed."""
_DEFAULT = Settings()
Option = tuple[str, str | None]
"""An option and its value, None for one without a value."""


def recommend_command(
    file: str, spec: RecommendSpec, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the ``recommend`` command of a spec."""
    return study_command("recommend", file, spec, task=task, columns=columns)


def study_command(name: str, file: str, spec: Spec, *, task: Task, columns: tuple[str, ...]) -> str:
    """Return the command that runs a study, with the options that differ from their defaults."""
    # The recommendation has a command of its own, which writes the panel.
    command, out = f"study {name}", f"{name}.json"
    if name == "recommend":
        command, out = name, "panel.json"
    options = [*_shared(spec.settings, task, columns), *written_options(spec), ("--out", out)]
    return _command(command, [file], options)


def draw_command(
    file: str, spec: Spec, n: int, to: str, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the command that draws ``n`` items to label into the file ``to``."""
    options = [*_shared(spec.settings, task, columns), *written_options(spec)]
    return _command("estimate", [file], [*options, ("--draw", str(n)), ("--draw-to", to)])


def report_command(
    names: Sequence[str], file: str, settings: Settings, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the command that writes these studies into one report."""
    options = [*_shared(settings, task, columns), ("--studies", ",".join(names))]
    return _command("report", [file], [*options, ("--out", "report.html")])


def score_command(file: str) -> str:
    """Return the command that scores new votes with an exported panel."""
    return _command("score", ["panel.json", file], [("--out", "scored.csv")])


def inspect_command(
    file: str, settings: Settings = _DEFAULT, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the command that prints a file's checks."""
    options: list[Option] = [("--task", task), *_pairs(columns)]
    if settings.orientation != _DEFAULT.orientation:
        options.append(("--orientation", settings.orientation))
    options += _grouping(settings)
    return _command("inspect", [file], options)


def column_options(loaded: Loaded) -> tuple[str, ...]:
    """Return the options with which the command line reads the file the same way."""
    choices, roles, labels = loaded.choices, loaded.roles, loaded.labels
    written: list[tuple[str, str]] = []
    for option in OPTIONS:
        value = getattr(choices, option.choice)
        if option.choice == "id_column":
            value = value or roles.id_column
        if option.choice in ("label_column", "group_column"):
            value = value or getattr(roles, option.choice)
        if option.choice == "label_column" and labels is not None:
            written.append(("--labels", labels.file))
            value = labels.column
        if option.choice != "task":
            written += [(option.flag, text) for text in _values(option.flag, value)]
    if loaded.judge_file:
        written.append(("--judge-table", loaded.judge_file))
    return tuple(part for pair in written for part in pair)


def with_judge_file(columns: tuple[str, ...], file: str) -> tuple[str, ...]:
    """Return these options with another judge table."""
    pairs = zip(columns[::2], columns[1::2], strict=True)
    kept = [part for pair in pairs if pair[0] != "--judge-table" for part in pair]
    return (*kept, "--judge-table", file)


def _values(flag: str, value: Any) -> list[str]:
    """Return the values that an option is given with."""
    if value is None or value is False:
        return []
    if value is True:
        return [""]
    if isinstance(value, Thresholds):
        default = [] if value.default is None else [repr(value.default)]
        return [*default, *(f"{judge}={cut!r}" for judge, cut in value.by_judge.items())]
    if isinstance(value, Mapping):
        return [cells.words_text(value)] if value else []
    if isinstance(value, tuple):
        return [cells.join_names([name]) if flag == "--judge-columns" else name for name in value]
    return [value if isinstance(value, str) else repr(value)]


def quoted(word: str) -> str:
    """Return one word quoted for bash or zsh, on one line, without control characters."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_escaped(char) for char in word) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))


def _shared(settings: Settings, task: Task, columns: tuple[str, ...]) -> list[Option]:
    options: list[Option] = [("--task", task), *_pairs(columns)]
    options.append(("--orientation", settings.orientation))
    options += _grouping(settings)
    if settings.protocol != _DEFAULT.protocol:
        options.append(("--protocol", settings.protocol))
    options += [("--judge", name) for name in settings.judges or ()]
    options.append(("--splits", str(settings.splits or AUTO_SPLITS)))
    if settings.fraction != _DEFAULT.fraction:
        options.append(("--fraction", repr(float(settings.fraction))))
    return [*options, ("--seed", str(settings.seed))]


def _grouping(settings: Settings) -> list[Option]:
    return [("--group-duplicates", None)] if settings.group_duplicates else []


def _pairs(columns: tuple[str, ...]) -> list[Option]:
    return [(flag, text or None) for flag, text in zip(columns[::2], columns[1::2], strict=True)]


def _command(name: str, files: list[str], options: list[Option]) -> str:
    words = [f"./{file}" if file.startswith("-") else file for file in files]
    words += [f"{option}={value}" if value is not None else option for option, value in options]
    return f"{PROGRAM} {name} " + " ".join(quoted(word) for word in words)
