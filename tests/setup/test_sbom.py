"""What an image is made of, as its list says."""

import json
import sys
from importlib.metadata import Distribution, version

import pytest

from judgepanel import __version__
from tests.setup.scripts import ROOT, script_module

SHA = "0" * 64
STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u1
Description: C library
 Status: not a field

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def installed(name):
    """An entry of pip's report."""
    return {
        "metadata": {"name": name},
        "download_info": {"archive_info": {"hashes": {"sha256": SHA}}},
    }


@pytest.fixture(scope="module")
def sbom():
    sys.path.insert(0, str(ROOT / ".ci"))
    yield script_module("sbom_script", ROOT / ".ci" / "sbom.py")
    sys.path.remove(str(ROOT / ".ci"))


@pytest.fixture(scope="module")
def listed(sbom):
    names = ("scikit-learn", "typing_extensions", "streamlit")
    bill = sbom.bill({"install": [installed(name) for name in names]}, STATUS)
    assert bill["metadata"]["component"]["version"] == __version__
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(set(references)) == len(references)
    return {component["name"]: component for component in bill["components"]}


def test_wheels_debians_packages_and_the_interpreter_are_listed(listed):
    names = ["libc6", "python", "scikit-learn", "streamlit", "typing-extensions"]
    assert sorted(listed) == names
    purl = f"pkg:pypi/typing-extensions@{version('typing_extensions')}"
    assert listed["typing-extensions"]["purl"] == purl
    assert listed["libc6"]["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64"


@pytest.mark.parametrize(
    ("field", "licence"),
    [
        ("License-Expression: BSD-3-Clause", {"expression": "BSD-3-Clause"}),
        (
            "Classifier: License :: OSI Approved :: BSD License",
            {"license": {"name": "BSD License"}},
        ),
    ],
)
def test_a_wheel_has_its_hash_and_its_licence(sbom, tmp_path, monkeypatch, field, licence):
    folder = tmp_path / "package-1.0.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.4\nName: package\nVersion: 1.0\n{field}\n"
    (folder / "METADATA").write_text(metadata, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (wheel,) = sbom.wheels({"install": [installed("package")]})
    assert wheel["hashes"] == [{"alg": "SHA-256", "content": SHA}]
    assert wheel["licenses"] == [licence]


def test_libraries_that_a_wheel_brings_are_listed_without_itself(sbom, tmp_path):
    folder = tmp_path / "package-1.0.dist-info"
    (folder / "sboms").mkdir(parents=True)
    (folder / "RECORD").write_text("package-1.0.dist-info/sboms/own.cdx.json,,\n", "utf-8")
    openssl = {"type": "library", "name": "openssl", "version": "4.0.3"}
    components = [
        {"type": "library", "name": "package", "version": "1.0", "purl": "pkg:pypi/package@1.0"},
        {**openssl, "bom-ref": "a", "purl": "pkg:generic/openssl@4.0.3?download_url=x"},
    ]
    text = json.dumps({"bomFormat": "CycloneDX", "components": components})
    (folder / "sboms" / "own.cdx.json").write_text(text, "utf-8")
    purl = "pkg:generic/openssl@4.0.3"
    assert sbom.bundled(Distribution.at(folder)) == [{**openssl, "purl": purl}]
