"""What an image is made of, as CycloneDX JSON: `sbom.py REPORT` prints it.

REPORT is what `pip install --report` wrote: each wheel with its SHA-256. Debian's packages come
from dpkg, licences and what a wheel bundles from the metadata of the installed packages.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from licences import licence_of

ROOT = Path(__file__).resolve().parents[1]
DPKG = Path("/var/lib/dpkg/status")
Component = dict[str, Any]


def bundled(package: Distribution) -> list[Component]:
    """What a wheel says it was linked with: the components of the SBOM files in its metadata."""
    parts: dict[str, Component] = {}
    for file in package.files or ():
        if file.parent.name == "sboms" and file.name.endswith(".json"):
            listed = json.loads(Path(str(file.locate())).read_text("utf-8")).get("components", [])
            for part in listed:
                # References between the parts of that file would have no meaning here.
                kept = {name: part[name] for name in ("type", "name", "version") if name in part}
                purl = str(part.get("purl", "")).partition("?")[0]
                if not purl.startswith("pkg:pypi/"):
                    parts[purl or part["name"]] = kept | ({"purl": purl} if purl else {})
    return [parts[key] for key in sorted(parts)]


def wheels(report: dict[str, Any]) -> Iterator[Component]:
    """A component for each wheel that pip installed."""
    for item in report["install"]:
        package = distribution(item["metadata"]["name"])
        name = re.sub(r"[-_.]+", "-", package.name).lower()
        expression = package.metadata.get("License-Expression")
        licence = {"license": {"name": licence_of(package)}}
        hashes = item["download_info"]["archive_info"]["hashes"]
        parts = bundled(package)
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{package.version}",
            "name": name,
            "version": package.version,
            "purl": f"pkg:pypi/{name}@{package.version}",
            "hashes": [{"alg": "SHA-256", "content": hashes["sha256"]}],
            "licenses": [{"expression": expression} if expression else licence],
            **({"components": parts} if parts else {}),
        }


def system(status: str) -> Iterator[Component]:
    """A component for each installed package of Debian, from dpkg's status file."""
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            where = f"{name}@{version.replace('+', '%2B')}?arch={fields['Architecture']}"
            yield {
                "type": "library",
                "bom-ref": f"pkg:deb/debian/{where}",
                "name": name,
                "version": version,
                "purl": f"pkg:deb/debian/{where}",
            }


def bill(report: dict[str, Any], status: str) -> dict[str, Any]:
    """The whole document; the same image gives the same bytes."""
    source = (ROOT / "judgepanel" / "__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"', source, re.MULTILINE)
    python = platform.python_version()
    interpreter = {
        "type": "platform",
        "bom-ref": f"pkg:generic/python@{python}",
        "name": "python",
        "version": python,
        "purl": f"pkg:generic/python@{python}",
    }
    components = [interpreter, *wheels(report), *system(status)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "judgepanel",
                "name": "judgepanel",
                "version": version,
                "licenses": [{"expression": "MIT"}],
            }
        },
        "components": sorted(components, key=lambda component: str(component["purl"])),
    }


if __name__ == "__main__":
    installed = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    print(json.dumps(bill(installed, DPKG.read_text("utf-8")), indent=1))
