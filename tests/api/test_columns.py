"""Every column of every study's table has a description, and every description has a column."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.registry import STUDIES, columns_reference
from judgepanel.studies.results import COMMON, describe, described, own_columns
from judgepanel.studies.runner import run
from tests.present.results import spec_of, votes

ROOT = Path(__file__).resolve().parents[2]


@cache
def columns(name):
    table = pd.DataFrame({"family": list("aabbcc"), "cost": np.arange(1.0, 7.0)})
    priced = replace(votes(), judge_table=table)
    spec = spec_of(name)
    spec = replace(spec, feature="kind") if name == "slice_transfer" else spec
    return tuple(run(STUDIES[name], priced, spec, jobs=1).frame().columns)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_column_is_described_in_a_sentence(name):
    table = described(STUDIES[name], columns(name))
    assert table["column"].tolist() == list(columns(name))
    assert all(text[0].isupper() or text[0] in "(12p" for text in table["description"])
    assert table["description"].str.endswith(".").all()


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_no_column_is_described_that_a_study_does_not_have(name):
    assert set(own_columns(STUDIES[name])) <= set(columns(name))


def test_what_is_described_for_all_studies_occurs_in_some():
    shared = [set(columns(name)) - set(own_columns(study)) for name, study in STUDIES.items()]
    assert set(COMMON) <= set().union(*shared)


def test_a_column_without_a_description_is_refused():
    with pytest.raises(KeyError, match="the column puzzle of the study jury is not described"):
        describe(STUDIES["jury"], "puzzle")
    with pytest.raises(KeyError, match="the column puzzle_lo of the study jury"):
        describe(STUDIES["jury"], "puzzle_lo")


def test_the_page_of_columns_is_what_the_descriptions_say():
    page = (ROOT / "docs" / "columns.md").read_text("utf-8")
    assert page == columns_reference(), "docs/columns.md is out of date: ./run reference writes it"
