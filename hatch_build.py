"""Dependencies of the wheel: the lines of requirements.txt, which stays their only list."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class RequirementsHook(MetadataHookInterface):
    """Reads requirements.txt, comments left out."""

    def update(self, metadata: dict[str, Any]) -> None:
        lines = (Path(self.root) / "requirements.txt").read_text("utf-8").splitlines()
        wanted = (line.partition("#")[0].strip() for line in lines)
        metadata["dependencies"] = [line for line in wanted if line]
