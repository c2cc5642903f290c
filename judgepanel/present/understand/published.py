"""Figures printed in arXiv 2605.09702 ('calibrate, don't curate'), with their location.

Only printed figures are included. The RewardBench 2 column of the calibrator design table is not,
because its raw NLL (.560) belongs to a different panel from that of the other tables (1.454). NLL
is in nats per item, over 100 random half-and-half splits; 'beta' is the paper's beta calibrator
with lambda = .01.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

PAPER = "arXiv 2605.09702"
UNCALIBRATED = "Table 1, uncalibrated results"
CROSS = "aggregator x calibrator table, section 4.4"
MAIN = "section 4.2, main result"
DESIGN = "calibrator design table, appendix"
AGGREGATORS = "aggregator comparison, appendix"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark of the paper: its items, and the judges of the paper's main panel."""

    name: str
    n_items: int
    n_judges: int


@dataclass(frozen=True, slots=True)
class Published:
    """One figure: ``step`` is the claim's step of that recipe, ``panel`` ``top-3`` or ``all``."""

    data: str
    step: str
    panel: str
    nll: float
    source: str


DATA_SETS: tuple[DataSet, ...] = (
    DataSet("JudgeBench", 350, 38),
    DataSet("RewardBench", 2985, 104),
    DataSet("RewardBench 2", 1865, 174),
    DataSet("LLMBar", 419, 53),
)

PUBLISHED: tuple[Published, ...] = (
    Published("JudgeBench", "raw_one_class", "top-3", 0.501, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "top-5", 0.589, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "top-10", 0.801, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "all", 1.224, UNCALIBRATED),
    Published("JudgeBench", "paper", "top-3", 0.019, CROSS),
    Published("JudgeBench", "paper", "top-5", 0.019, MAIN),
    Published("JudgeBench", "paper", "top-10", 0.017, CROSS),
    Published("JudgeBench", "paper", "all", 0.016, MAIN),
    Published("JudgeBench", "paper_temperature", "all", 0.545, DESIGN),
    Published("RewardBench", "raw_one_class", "top-3", 0.200, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "top-5", 0.214, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "top-10", 0.257, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "all", 0.411, UNCALIBRATED),
    Published("RewardBench", "paper", "top-3", 0.008, CROSS),
    Published("RewardBench", "paper", "top-5", 0.007, MAIN),
    Published("RewardBench", "paper", "top-10", 0.007, CROSS),
    Published("RewardBench", "paper", "all", 0.006, MAIN),
    Published("RewardBench", "paper_temperature", "all", 0.229, DESIGN),
    Published("RewardBench 2", "raw_one_class", "top-3", 0.520, CROSS),
    Published("RewardBench 2", "raw_one_class", "top-5", 0.679, CROSS),
    Published("RewardBench 2", "raw_one_class", "top-10", 0.861, CROSS),
    Published("RewardBench 2", "raw_one_class", "all", 1.454, CROSS),
    Published("RewardBench 2", "paper", "top-3", 0.014, CROSS),
    Published("RewardBench 2", "paper", "top-5", 0.013, MAIN),
    Published("RewardBench 2", "paper", "top-10", 0.011, CROSS),
    Published("RewardBench 2", "paper", "all", 0.006, MAIN),
    Published("LLMBar", "raw_one_class", "all", 0.777, DESIGN),
    Published("LLMBar", "paper", "top-5", 0.014, MAIN),
    Published("LLMBar", "paper", "all", 0.012, MAIN),
    Published("LLMBar", "paper_temperature", "all", 0.378, DESIGN),
)

VOTE_FRACTION = MappingProxyType(
    {"JudgeBench": 0.022, "RewardBench": 0.020, "RewardBench 2": 0.021, "LLMBar": 0.023}
)
"""NLL of the plain vote fraction of all judges under beta, from the paper's aggregator comparison:
the figures of four data sets differ by .003."""


def published_of(data: str) -> Iterator[Published]:
    """Yield the figures of one data set, in the order of the claim's steps."""
    return (figure for figure in PUBLISHED if figure.data == data)


def looks_like(n_items: int) -> DataSet | None:
    """Return the benchmark with this number of items, if any; panels of judges vary."""
    return next((data for data in DATA_SETS if data.n_items == n_items), None)
