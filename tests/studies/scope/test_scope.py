"""The four checks on samples with known problems, and the study's contract."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.prefixes import rank
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel.recommended import recommended_on
from judgepanel.studies.runner import run
from judgepanel.studies.trust.scope import SCOPE, ScopeSpec, compared_splits
from judgepanel.votes import InputError
from judgepanel.votes.simulate import find_sample, sample_votes, simulate
from judgepanel.words.sentences import check_numbers
from tests.helpers import make_votes

CURVE_ONLY = ScopeSpec(Settings(splits=10), others=())


def outcomes(result):
    return {check.code: check.outcome for check in result.checks}


@pytest.fixture(scope="module")
def hard():
    return run(SCOPE, sample_votes("hard_panel"), ScopeSpec(Settings(splits=4)), jobs=1)


def test_the_hard_sample_triggers_what_it_was_built_with(hard):
    assert outcomes(hard)["P0"] == "review"
    assert outcomes(hard)["P1"] == "fail"
    assert outcomes(hard)["P2"] in ("review", "fail")
    assert outcomes(hard)["P3"] == "review"
    assert "'fam4-judge14' gives a verdict on 51 %" in hard.check("P1").why
    assert hard.check("P1").numbers["shown below chance"] == 2
    assert hard.partly == ("fam4-judge14",)
    assert "Switch to joint" in hard.check("P3").advice


def test_the_filter_names_the_unreadable_and_the_broken_judge(hard):
    assert [entry.judge for entry in hard.suggested] == ["fam4-judge14", "fam5-judge30"]


def test_clean_panels_pass_everything():
    spec = find_sample("clean_pairwise").spec
    panels = [simulate(replace(spec, seed=seed)) for seed in range(300, 308)]
    checks = ScopeSpec(Settings(splits=20), others=())
    sound = [run(SCOPE, votes, checks, jobs=1).counted("pass") == 4 for votes in panels]
    assert sum(sound) >= 7


def test_one_class_labels_fail_p0_and_flatter_nothing():
    result = run(SCOPE, sample_votes("one_class"), CURVE_ONLY, jobs=1)
    assert outcomes(result)["P0"] == "fail"
    assert result.orientation == "symmetric"
    assert result.null_nll == pytest.approx(np.log(2))
    assert result.saturation.nll.value.min() > 0.15


def test_p1_says_which_judges_it_does_not_test_where_pairs_are_swapped():
    """Included, the broken judge would be below chance only because of how the file was coded."""
    votes = sample_votes("one_class")
    never = np.zeros((votes.n_items, 1), np.int8)
    broken = replace(
        votes,
        votes=np.hstack([votes.votes, never]),
        judges=(*votes.judges, "broken"),
        judge_table=None,
    )
    p1 = run(SCOPE, broken, CURVE_ONLY, jobs=1).check("P1")
    assert p1.outcome == "pass"
    assert p1.numbers["set aside, not tested"] == 1
    assert p1.why.endswith(
        "'broken' is set aside and not tested: one verdict throughout is right in exactly one of "
        "the two orders of a pair, so it is at chance."
    )


def test_sparse_votes_have_no_parse_rate():
    result = run(SCOPE, sample_votes("sparse_humans"), CURVE_ONLY, jobs=1)
    assert outcomes(result)["P1"] == "not applicable"
    assert result.partly == result.judges
    assert f"All {result.n_judges} judges miss 5 %" in result.check("P3").why


def test_the_papers_floor_stands_beside_our_check():
    result = run(SCOPE, make_votes(2, 60, 6), CURVE_ONLY, jobs=1)
    name = "the paper's P2 (NLL of all above 0.005)"
    assert result.check("P2").numbers[name] == "passes"
    assert f"{name}: passes" in check_numbers(result.check("P2"))


def test_a_panel_of_one_has_no_course_and_no_gaps_to_compare():
    votes = make_votes(1, 60, 3).with_judges(["judge000"])
    result = run(SCOPE, votes, ScopeSpec(Settings(splits=2), others=()), jobs=1)
    assert outcomes(result)["P2"] == outcomes(result)["P3"] == "not applicable"
    assert result.saturation is None


def test_the_recommended_panel_is_recommended_again_from_the_judges_of_every_point():
    votes, settings = make_votes(2, 80, 6, missing=0.0), Settings(splits=2)
    spec = ScopeSpec(settings, "average", "temperature", others=("majority",))
    result = run(SCOPE, votes, spec, jobs=1)
    recommendation = run(RECOMMEND, votes, RecommendSpec(settings), jobs=1)
    ballots, sizes = prepare(votes, settings).ballots, result.saturation.sizes.tolist()
    nll, times = np.zeros((len(sizes), 80)), np.zeros(80)
    for number in range(2):
        one_split = split(ballots.units, number)
        best = rank(ballots, one_split.calibration, "accuracy")
        times[one_split.evaluation] += 1
        for row, k in enumerate(sizes):
            kept = tuple(votes.judges[j] for j in sorted(best[:k]))
            average = recommended_on(votes, replace(settings, judges=kept), one_split)
            signs = ballots.signs[one_split.evaluation]
            nll[row, one_split.evaluation] += item_nll(average.logits, signs)
    levels = (nll[:, times > 0] / times[times > 0]).mean(axis=1)
    assert result.saturation.nll.value == pytest.approx(levels, rel=1e-9)
    assert result.saturation.nll.value[-1] == pytest.approx(float(recommendation.nll.value))
    average, majority = result.switch
    assert average.nll.value == pytest.approx(levels[-1])
    plain = replace(spec, aggregator="majority", others=())
    alone = run(SCOPE, votes, plain, jobs=1).switch[0]
    assert float(majority.nll.value) == float(alone.nll.value)
    with pytest.raises(InputError, match="in-sample scores"):
        replace(spec, settings=Settings(protocol="paper"))


def test_the_table_has_every_judge_share_and_aggregator(hard):
    frame = hard.frame()
    assert set(frame["check"]) == {"P0", "P1", "P2", "P3"}
    assert (frame["quantity"] == "parse rate").sum() == 30
    assert ((frame["check"] == "P2") & (frame["quantity"] == "NLL")).sum() == 10
    assert set(frame[frame["quantity"] == "switch to it"]["subject"]) == {
        "one_coin",
        "dawid_skene",
        "joint",
    }
    assert (frame["null_nll"] > 0.69).all()


@pytest.mark.parametrize(
    ("n", "wanted"), [(4, (0, 4)), (20, (0, 20)), (22, (2, 22)), (100, (5, 25))]
)
def test_twenty_splits_compare_aggregators_after_the_first_chunk_if_they_can(n, wanted):
    chosen = compared_splits(n)
    assert (chosen.start, chosen.stop) == wanted


def test_aggregators_to_compare_are_named_once():
    with pytest.raises(InputError, match=r"the comparison needs one aggregator.*allowed: "):
        ScopeSpec(others=("joint", "joint"))
