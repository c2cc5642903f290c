"""What the registry holds of a study: the study, its presentation, and its default specs.

Each presentation module ends with its ``ENTRY``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import RecommendSpec
from judgepanel.present.blocks import Block
from judgepanel.present.pipeline import Pipeline, pipeline_of
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

Present = Callable[..., list[Block]]
"""``present(result, spec)`` or ``present(result, spec, view)``: returns a result as blocks."""
DefaultSpecs = Callable[[VoteMatrix, Settings, Pipeline], tuple[Spec, ...]]
"""Returns the specs to look for under a pipeline, the most complete first."""
SpecAfter = Callable[[RecommendSpec, Recommendation], Spec]
"""Returns the spec of a study that needs a recommendation."""
View = Callable[..., Any]
"""``view(votes, spec)``: returns what the votes add to a result, as ``present`` takes it."""


@dataclass(frozen=True, slots=True)
class Entry:
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
