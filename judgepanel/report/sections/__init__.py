"""What a report shows of every study: the pages' sentences, figures and tables, as blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from judgepanel.report.document import Block
from judgepanel.report.sections.decide import DECIDE
from judgepanel.report.sections.robustness import ROBUSTNESS
from judgepanel.report.sections.trust import TRUST
from judgepanel.report.sections.understand import UNDERSTAND

SECTIONS: Mapping[str, Callable[[Any], list[Block]]] = MappingProxyType(
    {**DECIDE, **TRUST, **ROBUSTNESS, **UNDERSTAND}
)
"""Result to blocks by the name of its study, in the order of the pages; the answer comes first."""

__all__ = ["SECTIONS"]
