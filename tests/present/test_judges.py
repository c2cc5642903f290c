"""The study of judges in words agrees with its numbers."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.redundancy import FamilyAgreement
from judgepanel.models.panel import mixture_of
from judgepanel.present.blocks import Figure, Heading
from judgepanel.present.understand import judges
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.judges import JUDGES, JudgesSpec
from judgepanel.words.sentences import so_far
from tests.studies.judges.test_judges import family_votes


@pytest.fixture(scope="module")
def result():
    return run(JUDGES, family_votes(), JudgesSpec(Settings(splits=6)), jobs=1)


def test_the_answer_names_judges_their_worth_and_their_clusters(result):
    stated = replace(result, effective=Interval(2.84, 2.61, 3.06))
    assert judges.judges_sentence(stated) == (
        "9 judges are worth about 2.8 [2.6, 3.1] independent ones; they form 3 clusters of judges "
        "that err together."
    )


def test_clusters_that_do_not_last_are_not_claimed(result):
    shaky = replace(result, stability=np.full(9, 0.2))
    assert judges.judges_sentence(shaky).endswith("; no cluster is stable.")
    none = replace(result, cluster=np.arange(1, 10))
    assert judges.judges_sentence(none).endswith("; no clusters stand out.")


def test_nothing_is_claimed_without_pairs(result):
    nan = float("nan")
    none = Interval(nan, nan, nan)
    unknown = replace(result, effective=none, correlation=none)
    assert "cannot be said" in judges.judges_sentence(unknown)
    assert judges.worth_sentences(unknown) == ""
    assert "only one judge" in judges.judges_sentence(replace(result, n_effective=1))


@pytest.mark.parametrize(
    ("rand", "begins"),
    [(0.9, "The clusters are nearly"), (0.4, "The clusters follow"), (0.1, "The clusters are not")],
)
def test_families_are_judged_by_the_rand_index(result, rand, begins):
    stated = replace(result, families=FamilyAgreement(rand, 0.6, 0.2, 9, 3))
    sentence = judges.families_sentence(stated)
    assert sentence.startswith(begins)
    assert "0.60 on average, of two families 0.20" in sentence
    assert judges.families_sentence(replace(result, families=None)) == ""


def test_the_cluster_table_counts_families(result):
    table = judges.cluster_table(result)
    assert table["judges"].texts() == ["4", "3", "2"]
    assert table["families"].texts() == ["fam0 4", "fam1 3", "fam2 2"]


def test_the_page_gets_every_column_and_documents_those_that_answer(result):
    short, whole = judges.judges_table(result), judges.judges_table(result, every_column=True)
    assert list(short) == list(whole)[: len(list(short))]
    assert {"judge", "accuracy", "of", "cluster", "nearest"} <= set(short)
    assert {"weight: one-coin", "ability", "coverage"} <= set(whole) - set(short)
    assert (np.diff(short["accuracy"].numbers) <= 0).all()


def test_the_judge_looked_at_is_marked_on_the_map(result):
    spec, judge = JudgesSpec(Settings(splits=6)), result.judges[0]
    n_traces = []
    for view in (judges.JudgesView(), judges.JudgesView(judge)):
        blocks = judges.present(result, spec, view)
        n_traces.append(len(next(b.figure for b in blocks if isinstance(b, Figure)).data))
    assert n_traces[1] == n_traces[0] + 2


def test_without_pairs_there_is_a_sentence_in_place_of_the_map(result):
    alone = replace(result, order=result.order[:1])
    blocks = judges.present(alone, JudgesSpec(Settings(splits=6)))
    assert not [block for block in blocks if isinstance(block, Figure)]
    assert any("No two judges voted" in getattr(block, "text", "") for block in blocks)


def test_an_answer_on_some_of_the_halves_says_so(result):
    assert so_far(result) == ""
    assert so_far(replace(result, n_rounds=2)) == "So far, 2 of 6 halves: "


def test_the_table_says_what_the_recommended_panel_does_with_each_judge(result):
    votes = family_votes()
    settings = Settings(splits=2, judges=votes.judges[:3])
    outcome = run(RECOMMEND, votes, RecommendSpec(settings, folds=2), jobs=1)
    table = judges.judges_table(result, recommendation=outcome)
    decisions = dict(zip(table["judge"].texts(), table["decision"].texts(), strict=True))
    assert {name for name, word in decisions.items() if word == "keep"} == set(outcome.model.judges)
    assert set(decisions.values()) == {"keep", "leave out"}
    blocks = judges.present(result, JudgesSpec(), judges.JudgesView(recommendation=outcome))
    above = blocks[blocks.index(Heading("All judges", 3)) + 1]
    assert above.text.startswith("Recommended panel: ")


def test_weights_in_an_average_say_of_which_pipeline_and_how_much_of_it_uses_the_judge(result):
    votes = family_votes()
    outcome = run(RECOMMEND, votes, RecommendSpec(Settings(splits=2), folds=2), jobs=1)
    main = outcome.model.main
    both = replace(outcome, model=mixture_of([main, main], [0.75, 0.25]))
    table = judges.judges_table(result, recommendation=both)
    assert {"weight in the main pipeline", "in the average"} <= set(table)
    assert set(filter(None, table["in the average"].texts())) == {"100 %"}
    single = replace(outcome, model=mixture_of([main], [1.0]))
    assert "weight in the panel" in judges.judges_table(result, recommendation=single)
