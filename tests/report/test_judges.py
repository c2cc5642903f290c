"""What the study of judges says in words agrees with its numbers."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.judges.clusters import FamilyAgreement
from judgepanel.report.judges import (
    cluster_table,
    families_sentence,
    judges_sentence,
    judges_text,
    redundancy_table,
    worth_sentences,
)
from judgepanel.studies.judges.judges import JUDGES, JudgesSpec
from judgepanel.studies.judges.judges_result import Estimate
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.studies.judges.test_judges import family_votes


@pytest.fixture(scope="module")
def found():
    return run(JUDGES, family_votes(), JudgesSpec(Settings(splits=6)), jobs=1)


def test_the_answer_names_judges_their_worth_and_their_clusters(found):
    stated = replace(found, effective=Estimate(2.84, 2.61, 3.06))
    assert judges_sentence(stated) == (
        "9 judges are worth about 2.8 [2.6, 3.1] independent ones; they form 3 clusters that err "
        "together."
    )


def test_clusters_that_do_not_last_are_not_claimed(found):
    shaky = replace(found, stability=np.full(9, 0.2))
    assert judges_sentence(shaky).endswith("; no cluster is stable.")
    none = replace(found, cluster=np.arange(1, 10))
    assert judges_sentence(none).endswith("; no clusters stand out.")


def test_nothing_is_claimed_without_pairs(found):
    nan = float("nan")
    unknown = replace(found, effective=Estimate(nan, nan, nan), correlation=Estimate(nan, nan, nan))
    assert "cannot be said" in judges_sentence(unknown)
    assert worth_sentences(unknown) == ""
    assert "one judge only" in judges_sentence(replace(found, n_effective=1))


@pytest.mark.parametrize(
    ("rand", "begins"),
    [(0.9, "The clusters are nearly"), (0.4, "The clusters follow"), (0.1, "The clusters are not")],
)
def test_families_are_judged_by_the_rand_index(found, rand, begins):
    stated = replace(found, families=FamilyAgreement(rand, 0.6, 0.2, 9, 3))
    sentence = families_sentence(stated)
    assert sentence.startswith(begins)
    assert "0.60 on average, of two families 0.20" in sentence
    assert families_sentence(replace(found, families=None)) is None


def test_the_cluster_table_counts_families(found):
    table = cluster_table(found)
    assert table["judges"].tolist() == [4, 3, 2]
    assert table["families"].tolist() == ["fam0 4", "fam1 3", "fam2 2"]


def test_names_cannot_break_the_lines_of_a_terminal(found):
    names = tuple(f"\x1b[31mline\nbreak{j}" for j in range(9))
    hostile = replace(found, judges=names, nearest=names, family=names)
    text = judges_text(hostile)
    assert "\x1b" not in text
    assert len(redundancy_table(hostile)) == 9
    assert len(text.splitlines()) == len(judges_text(found).splitlines())
