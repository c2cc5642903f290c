"""Licences of all dependencies allow use in MIT-licensed software; how to cite judgepanel."""

import re
import sys

import pytest
import yaml

from tests.setup.scripts import ROOT, output, script_module

PERMISSIVE = {
    *("MIT", "MIT License", "MIT-0", "MIT-CMU", "0BSD", "Zlib", "CC0-1.0", "PSF-2.0", "ISC"),
    *("BSD-2-Clause", "BSD-3-Clause", "BSD License", "3-Clause BSD License", "BSD"),
    *("Apache-2.0", "Apache License 2.0", "Apache Software License"),
    "Apache-2.0 WITH LLVM-exception",
    *("Python Software Foundation License", "Historical Permission Notice and Disclaimer (HPND)"),
}
USED_UNCHANGED = {
    "Mozilla Public License 2.0 (MPL 2.0)": {"certifi"},
    "MPL-2.0": {"certifi"},
    "LGPL-3.0-only": {"psycopg", "psycopg-binary"},
    "GNU Lesser General Public License v3 (LGPLv3)": {"psycopg", "psycopg-binary"},
}
"""Packages whose own files keep their licence; judgepanel imports them and ships none of them."""


@pytest.fixture(scope="module")
def script():
    return script_module("licences_script", ROOT / ".ci" / "licences.py")


def is_allowed(name, licence):
    """Whether one of the licences to choose from has only terms that are allowed."""
    unchanged = {term for term, packages in USED_UNCHANGED.items() if name in packages}
    choices = (set(choice.split(" AND ")) for choice in licence.split(" OR "))
    return any(terms <= PERMISSIVE | unchanged for terms in choices)


def test_every_locked_package_may_be_used_under_mit(script):
    result = script.licences()
    assert {"numpy", "pandas", "streamlit"} <= set(result)
    refused = {name: text for name, (_, text) in result.items() if not is_allowed(name, text)}
    assert refused == {}


def test_a_licence_that_asks_more_is_refused_and_either_of_two_is_enough():
    for licence in ("GPL-3.0-only", "MIT AND GPL-3.0-only", "unknown"):
        assert not is_allowed("package", licence)
    assert is_allowed("package", "GPL-3.0-only OR MIT")


def test_the_command_lists_name_version_and_licence():
    lines = output(sys.executable, ".ci/licences.py").splitlines()
    assert all(re.fullmatch(r"[\w.-]+ \S+: .+", line) for line in lines)
    assert any(line.startswith("numpy ") for line in lines)


def test_the_citation_names_the_software_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "type"} <= set(citation)
    assert (citation["title"], citation["license"]) == ("judgepanel", "MIT")
    (paper,) = citation["references"]
    assert paper["identifiers"][0]["value"] == "arXiv:2605.09702"
