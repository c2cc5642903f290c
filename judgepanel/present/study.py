"""A study's result as blocks for every renderer, in one order.

What the registry holds of a study: the study, its presentation, and its default specs.

Each presentation module ends with its ``ENTRY``.

The default pipeline of studies that use a single pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any

import numpy as np

from judgepanel.decision.recommend_result import Recommendation, RecommendSpec
from judgepanel.kernels import aggregation, calibration
from judgepanel.present import blocks
from judgepanel.studies.contract import Settings, Spec, Study
from judgepanel.studies.panel.recommended import AVERAGE, PanelAggregator
from judgepanel.studies.results import describe, description
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATED, in_words, so_far
from judgepanel.words.tables import Column
from judgepanel.words.text import counted, fixed

OFFERED: tuple[calibration.Calibrator, ...] = ("beta", "temperature", "none")
"""Calibrators that pages offer; the first is the paper's default."""
REFITTED = 20
"""Maximum splits of a study that fits a cross-fitted aggregator, or the recommended average, many
times per split."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline on the best ``panel`` judges, None for all; defaults to the paper's.

    ``recommended`` if it is the heaviest member of the recommended average: studies that support
    the average use it. ``alone`` if that average has no other member.
    """

    aggregator: aggregation.Aggregator = "one_coin"
    calibrator: calibration.Calibrator = "beta"
    panel: int | None = None
    recommended: bool = field(default=False, compare=False)
    alone: bool = field(default=False, compare=False)

    @property
    def of_panel(self) -> PanelAggregator:
        """The aggregator of studies that can show the recommended average itself."""
        return AVERAGE if self.recommended else self.aggregator


def pipeline_of(recommendation: Recommendation | None) -> Pipeline:
    """Return the heaviest recommended pipeline; the paper's default without a recommendation.

    A lean panel of one pipeline is not recommended again in every split, so pages show it alone.
    """
    if recommendation is None:
        return Pipeline()
    main = recommendation.model.main
    panel = None if len(main.judges) == recommendation.n_judges else len(main.judges)
    return Pipeline(
        aggregation.of_votes(main.aggregator),
        main.calibrator,
        panel,
        recommended=recommendation.price is None or recommendation.chosen.panel == AVERAGE,
        alone=not recommendation.averages,
    )


def affordable_splits(settings: Settings, aggregator: PanelAggregator) -> Settings:
    """Return settings with fewer splits for aggregators that need many fits per split."""
    if aggregator != AVERAGE and not aggregation.cross_fits(aggregator):
        return settings
    return replace(settings, splits=min(settings.most_splits, REFITTED))


def spec_under(
    kind: Callable[..., Any],
    settings: Settings,
    pipeline: Pipeline,
    *,
    average: bool = True,
    **options: Any,
) -> Any:
    """Return the spec of a study under a pipeline, with the splits that it can afford.

    With ``average`` it shows the recommended average itself, if there is one.
    """
    aggregator = pipeline.of_panel if average else pipeline.aggregator
    if average:
        settings = affordable_splits(settings, aggregator)
    declared = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    if "calibrator" in declared:
        options["calibrator"] = pipeline.calibrator
    return kind(settings=settings, aggregator=aggregator, **options)


def under_pipeline(kind: Callable[..., Any], *, average: bool = True) -> DefaultSpecs:
    """Return a function for the default specs of a study: :func:`spec_under`."""
    return lambda _, settings, pipeline: (spec_under(kind, settings, pipeline, average=average),)


def under_honest_protocol(kind: Callable[..., Any]) -> DefaultSpecs:
    """Return a function for the default specs of a study: none under the paper's protocol."""
    return lambda _, settings, __: (
        (kind(settings=settings),) if settings.protocol == "honest" else ()
    )


def panel_spec(kind: Callable[..., Any]) -> DefaultSpecs:
    """Return a function for the default specs of a study of one panel.

    They use the recommended average if there is one.
    """

    def specs(_: VoteMatrix, settings: Settings, pipeline: Pipeline) -> Specs:
        if pipeline.recommended:
            return (kind(settings=settings, aggregator=AVERAGE),)
        return (spec_under(kind, settings, pipeline, average=False, panel=pipeline.panel),)

    return specs


Present = Callable[..., list[blocks.Block]]
"""``present(result, spec)`` or ``present(result, spec, view)``: returns a result as blocks."""
Specs = tuple[Any, ...]
"""Specs to look for, the most complete first."""
DefaultSpecs = Callable[[VoteMatrix, Settings, Pipeline], Specs]
"""Returns the specs to look for under a pipeline."""
SpecAfter = Callable[[RecommendSpec, Recommendation], Spec]
"""Returns the spec of a study that needs a recommendation."""
View = Callable[..., Any]
"""``view(votes, spec)``: returns what the votes add to a result, as ``present`` takes it."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """A study and its presentation.

    ``default`` returns the specs that pages request initially, by default those with the settings
    of the analysis alone; ``after`` the spec of a study that needs a recommendation. A study with
    neither (``by_hand``) is computed only on request. ``view`` returns what the votes add to the
    result, None if it is shown without them. ``single`` is why a study shows one pipeline
    where an average is recommended, empty if it shows the average or no pipeline of the analysis.
    """

    study: Study[Any, Any, Any]
    present: Present
    default: DefaultSpecs | None = None
    after: SpecAfter | None = None
    view: View | None = None
    by_hand: bool = False
    single: str = ""

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    def specs(
        self, votes: VoteMatrix, settings: Settings, recommendation: Recommendation | None = None
    ) -> tuple[Spec, ...]:
        """Return the specs to look for, recommended pipeline first, the most complete first."""
        if self.by_hand:
            return ()
        if self.after is not None:
            if recommendation is None:
                return ()
            return (self.after(RecommendSpec(settings=settings), recommendation),)
        pipelines = dict.fromkeys((pipeline_of(recommendation), Pipeline()))
        specs = (self.under(votes, settings, pipeline) for pipeline in pipelines)
        return tuple(dict.fromkeys(chain.from_iterable(specs)))

    def under(self, votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> tuple[Spec, ...]:
        """Return the specs under one pipeline, the most complete first."""
        if self.default is None:
            return (self.study.spec(settings=settings),)
        return self.default(votes, settings, pipeline)


def study_blocks(
    entry: Presentation,
    result: Any,
    spec: Spec,
    view: Any = None,
    *,
    command: str = "",
    known: Collection[str] = (),
) -> list[blocks.Block]:
    """Return the blocks of a result, for any renderer.

    Parameters
    ----------
    entry : Entry
        The study in the registry.
    result, spec : Result, Spec
        What was computed, and under which spec.
    view : object, optional
        View options as ``entry.present`` takes them; None for the default.
    command : str
        The command that reproduces it; empty if the reader has just run it.
    known : collection of str
        Warnings that were shown before, which are not repeated.

    Returns
    -------
    list of Block
        The answer, its caveats, figures and tables, the method and the command.
    """
    content = entry.present(result, spec) if view is None else entry.present(result, spec, view)
    content = _answered(content, result, caveats(result.warnings, known))
    content = _with_run(content, result)
    content = [_described(entry.study, block) for block in content]
    return [*content, blocks.Command(command)] if command else content


def at_a_glance(content: Iterable[blocks.Block]) -> tuple[str, blocks.Figure | None]:
    """Return the first answer among blocks and the first figure, if there are any."""
    listed = list(blocks.flat(content))
    answers = (block.text for block in listed if isinstance(block, blocks.Answer))
    figures = (block for block in listed if isinstance(block, blocks.Figure))
    return next(answers, ""), next(figures, None)


def described_table(study: Study[Any, Any, Any], table: blocks.Table) -> blocks.Table:
    """Return the table with descriptions of its columns from the study's frame."""
    texts = {heading: _help(study, heading, column) for heading, column in table.columns.items()}
    known = {heading: text for heading, text in texts.items() if text}
    return replace(table, help=known | dict(table.help))


def _help(study: Study[Any, Any, Any], heading: str, column: Column) -> str:
    if column.of:
        return describe(study, column.of)
    return description(study, heading.lower().replace(" ", "_"))


def _described(study: Study[Any, Any, Any], block: blocks.Block) -> blocks.Block:
    if isinstance(block, blocks.Box | blocks.Row):
        return replace(block, blocks=tuple(_described(study, part) for part in block.blocks))
    return described_table(study, block) if isinstance(block, blocks.Table) else block


def caveats(warnings: Iterable[str], known: Collection[str] = ()) -> list[blocks.Caveat]:
    """Return distinct warnings that were not shown before."""
    fresh = dict.fromkeys(warning for warning in warnings if warning not in known)
    return [blocks.Caveat(sentence) for sentence in in_words(tuple(fresh))]


def _answered(
    content: list[blocks.Block], result: Any, limits: Sequence[blocks.Caveat]
) -> list[blocks.Block]:
    """Say in the first answer how much it rests on, and insert caveats right after it.

    They precede all figures that they limit. A study without a result answers with its last
    warning, which is not repeated.
    """
    for place, block in enumerate(content):
        if isinstance(block, blocks.Answer):
            answer = blocks.Answer(so_far(result) + block.text)
            new = [limit for limit in limits if limit.text != block.text]
            return [*content[:place], answer, *new, *content[place + 1 :]]
    return [*limits, *content]


def _with_run(content: list[blocks.Block], result: Any) -> list[blocks.Block]:
    """Append the base rate and the size of the run to the method."""
    line = run_line(result)
    for place, block in enumerate(content):
        if isinstance(block, blocks.Method):
            return [*content[:place], blocks.Method(f"{block.text} {line}"), *content[place + 1 :]]
    return [*content, blocks.Method(line)] if line else content


def run_line(result: Any) -> str:
    """Return the base rate and the run: items, splits, pipeline, orientation, seed, if present.

    The claim, which has a constant's NLL as well, has a base rate for each coding; its own
    sentences give them.
    """
    parts = []
    null = np.ravel(np.asarray(getattr(result, "null_nll", np.nan), dtype=float))
    null = null[np.isfinite(null)]
    if len(null) and not hasattr(result, "constant_nll"):
        low, high = fixed(float(null.min()), 3), fixed(float(null.max()), 3)
        parts.append(f"base rate alone: NLL {low}" + (f" to {high}" if low != high else ""))
    if hasattr(result, "n_items"):
        parts.append(counted(int(result.n_items), "labelled item"))
    if hasattr(result, "planned_splits"):
        so_far = f"{result.n_splits:,} of " if result.partial else ""
        parts.append(f"{so_far}{counted(result.planned_splits, 'split')}")
    for name, noun in (("n_calibration", "calibrate"), ("n_evaluation", "evaluate")):
        if isinstance(getattr(result, name, None), int | float):
            parts.append(f"{getattr(result, name):,.0f} items {noun}")
    if getattr(result, "aggregator", None) in AGGREGATOR_NAMES:
        parts.append(AGGREGATOR_NAMES[result.aggregator])
    averaged = getattr(result, "aggregator", None) == AVERAGE
    if not averaged and getattr(result, "calibrator", None) in CALIBRATED:
        parts.append(CALIBRATED[result.calibrator])
    for name in ("orientation", "protocol", "seed"):
        if hasattr(result, name):
            parts.append(f"{name} {str(getattr(result, name)).replace('_', ' ')}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. Intervals are 95 %." if text else ""
