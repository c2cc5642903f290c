"""A recommendation on grades uses the votes cut from them, and says so."""

from dataclasses import replace

import numpy as np

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


def test_a_recommendation_on_grades_is_that_of_their_votes_and_says_so():
    votes = make_votes(3, 60, 4)
    grades = np.where(votes.votes < 0, np.nan, 0.2 + 0.6 * votes.votes)
    graded = replace(votes, grades=grades, thresholds=np.full(votes.n_judges, 0.5))
    spec = RecommendSpec(settings=Settings(splits=2), folds=3)
    on_votes, on_grades = (run(RECOMMEND, given, spec, jobs=1) for given in (votes, graded))
    assert set(on_grades.warnings) - set(on_votes.warnings) == {
        "Judges gave grades: the recommended panel uses only the votes cut from them. The panel "
        "curve under one-coin on grades and joint on grades shows what the grades would add."
    }
    assert np.array_equal(on_grades.frame()["nll"], on_votes.frame()["nll"])
