"""Dependencies of the wheel and its extras: requirements.txt, which stays their only list."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class RequirementsHook(MetadataHookInterface):
    """Reads requirements.txt; a comment that begins with [names] puts its line there."""

    def update(self, metadata: dict[str, Any]) -> None:
        lines = (Path(self.root) / "requirements.txt").read_text("utf-8").splitlines()
        core: list[str] = []
        extras: dict[str, list[str]] = {}
        for line in lines:
            wanted, _, comment = (part.strip() for part in line.partition("#"))
            named = re.match(r"\[([\w, ]+)\]", comment)
            lists = [core]
            if named:
                lists = [extras.setdefault(name.strip(), []) for name in named[1].split(",")]
            for listed in lists if wanted else []:
                listed.append(wanted)
        everything = [wanted for listed in extras.values() for wanted in listed]
        metadata["dependencies"] = core
        metadata["optional-dependencies"] = extras | {"all": list(dict.fromkeys(everything))}
