"""The four checks on samples with known problems, and the study's contract."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import rank
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel.recommended import recommended_on
from judgepanel.studies.runner import run
from judgepanel.studies.trust import scope
from judgepanel.studies.understand.judge_table import ALPHA, drop_reason, legible, to_drop
from judgepanel.votes import InputError
from judgepanel.votes.simulate import find_sample, sample_votes, simulate
from judgepanel.words.sentences import check_numbers
from tests.helpers import make_votes

CURVE_ONLY = scope.ScopeSpec(Settings(splits=10), others=())


def outcomes(result):
    return {check.code: check.outcome for check in result.checks}


@pytest.fixture(scope="module")
def hard():
    return run(scope.SCOPE, sample_votes("hard_panel"), scope.ScopeSpec(Settings(splits=4)), jobs=1)


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
    checks = scope.ScopeSpec(Settings(splits=20), others=())
    sound = [run(scope.SCOPE, votes, checks, jobs=1).counted("pass") == 4 for votes in panels]
    assert sum(sound) >= 7


def test_one_class_labels_fail_p0_and_flatter_nothing():
    result = run(scope.SCOPE, sample_votes("one_class"), CURVE_ONLY, jobs=1)
    assert outcomes(result)["P0"] == "fail"
    assert (result.orientation, result.null_nll) == ("symmetric", pytest.approx(np.log(2)))
    assert result.saturation.nll.value.min() > 0.15


def test_p1_says_which_judges_it_does_not_test_where_pairs_are_swapped():
    """Included, the broken judge would be below chance only because of how the file was coded."""
    votes = sample_votes("one_class")
    never = np.zeros((votes.n_items, 1), np.int8)
    cast, judges = np.hstack([votes.votes, never]), (*votes.judges, "broken")
    broken = replace(votes, votes=cast, judges=judges, judge_table=None)
    p1 = run(scope.SCOPE, broken, CURVE_ONLY, jobs=1).check("P1")
    assert (p1.outcome, p1.numbers["set aside, not tested"]) == ("pass", 1)
    assert p1.why.endswith(
        "'broken' is set aside and not tested: one verdict throughout is right in exactly one of "
        "the two orders of a pair, so it is at chance."
    )


def test_sparse_votes_have_no_parse_rate():
    result = run(scope.SCOPE, sample_votes("sparse_humans"), CURVE_ONLY, jobs=1)
    assert outcomes(result)["P1"] == "not applicable"
    assert result.partly == result.judges
    assert f"All {result.n_judges} judges miss 5 %" in result.check("P3").why


def test_the_papers_floor_stands_beside_our_check():
    result = run(scope.SCOPE, make_votes(2, 60, 6), CURVE_ONLY, jobs=1)
    name = "the paper's P2 (NLL of all above 0.005)"
    assert result.check("P2").numbers[name] == "passes"
    assert f"{name}: passes" in check_numbers(result.check("P2"))


def test_a_panel_of_one_has_no_course_and_no_gaps_to_compare():
    votes = make_votes(1, 60, 3).with_judges(["judge000"])
    result = run(scope.SCOPE, votes, scope.ScopeSpec(Settings(splits=2), others=()), jobs=1)
    assert outcomes(result)["P2"] == outcomes(result)["P3"] == "not applicable"
    assert result.saturation is None


def test_the_recommended_panel_is_recommended_again_from_the_judges_of_every_point():
    votes, settings = make_votes(2, 80, 6, missing=0.0), Settings(splits=2)
    spec = scope.ScopeSpec(settings, "average", "temperature", others=("majority",))
    result = run(scope.SCOPE, votes, spec, jobs=1)
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
    alone = run(scope.SCOPE, votes, plain, jobs=1).switch[0]
    assert float(majority.nll.value) == float(alone.nll.value)
    with pytest.raises(InputError, match="in-sample scores"):
        replace(spec, settings=Settings(protocol="paper"))


def test_the_table_has_every_judge_share_and_aggregator(hard):
    frame = hard.frame()
    assert set(frame["check"]) == {"P0", "P1", "P2", "P3"}
    assert (frame["quantity"] == "parse rate").sum() == 30
    assert ((frame["check"] == "P2") & (frame["quantity"] == "NLL")).sum() == 10
    others = set(frame[frame["quantity"] == "switch to it"]["subject"])
    assert others == {"one_coin", "dawid_skene", "joint"}
    assert (frame["null_nll"] > 0.69).all()


@pytest.mark.parametrize(
    ("n", "wanted"), [(4, (0, 4)), (20, (0, 20)), (22, (2, 22)), (100, (5, 25))]
)
def test_twenty_splits_compare_aggregators_after_the_first_chunk_if_they_can(n, wanted):
    chosen = scope.compared_splits(n)
    assert (chosen.start, chosen.stop) == wanted


def test_aggregators_to_compare_are_named_once():
    with pytest.raises(InputError, match=r"the comparison needs one aggregator.*allowed: "):
        scope.ScopeSpec(others=("joint", "joint"))


def panel(*judges, n=100):
    """Ballots from (share right, share with a verdict) a judge, exact counts, in fixed places."""
    rng = np.random.default_rng(3)
    signs = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    votes = np.zeros((n, len(judges)), np.int8)
    for j, (right, parsed) in enumerate(judges):
        asked = rng.permutation(n)[: round(parsed * n)]
        good = asked[: round(right * len(asked))]
        votes[asked, j] = -signs[asked]
        votes[good, j] = signs[good]
    return Ballots(votes, signs, np.arange(n))


def check(*judges, aggregator="one_coin"):
    ballots = panel(*judges)
    names = tuple(f"judge{j}" for j in range(len(judges)))
    return scope.check_parse_rate(legible(ballots), names, aggregator)


GOOD, BELOW = (0.7, 1.0), (0.3, 1.0)
PANELS = {
    "all parse and know": ([GOOD, (0.8, 0.95), (0.6, 0.9)], "one_coin", "pass", ""),
    "below 90 %": (
        [GOOD, (0.8, 0.89), GOOD],
        "one_coin",
        "review",
        "'judge1' gives a verdict on 89 %.",
    ),
    "70 % or less": ([GOOD, (0.8, 0.7), GOOD], "one_coin", "fail", "a verdict on 70 % or less"),
    "turned round": ([GOOD, BELOW], "one_coin", "review", "Keep judges below chance"),
    "not by majority": ([GOOD, BELOW], "majority", "fail", "Drop judges below chance"),
    "not by weights": ([GOOD, BELOW], "accuracy_weighted", "fail", "Drop judges below chance"),
    "most not asked": (
        [(0.7, 0.2), (0.8, 0.1), (0.7, 0.9)],
        "one_coin",
        "not applicable",
        "not asked",
    ),
    "sparse, one below chance": ([(0.7, 0.3), (0.0, 0.3), (0.7, 0.3)], "one_coin", "review", ""),
}


@pytest.mark.parametrize("case", PANELS)
def test_p1_goes_by_verdicts_given_and_by_judges_below_chance(case):
    judges, aggregator, wanted, says = PANELS[case]
    result = check(*judges, aggregator=aggregator)
    assert result.outcome == wanted
    assert says in f"{result.why} {result.advice}"
    assert wanted != "not applicable" or "lowest parse rate" not in result.numbers


def test_coded_ties_are_no_parse_failures():
    """A judge that says tie on 30 % of the items has given a verdict on all of them."""
    ballots = panel((0.7, 1.0), (0.8, 0.7), (0.7, 1.0))
    blank = legible(ballots)
    coded = legible(replace(ballots, ties=ballots.votes == 0))
    assert blank.unreadable.tolist() == [False, True, False]
    assert not coded.unreadable.any()
    assert not coded.patchy.any()
    assert (coded.parsed[1], coded.covered[1]) == (1.0, 0.7)
    checked = scope.check_parse_rate(coded, ("a", "b", "c"), "one_coin")
    assert (checked.outcome, checked.numbers["coded ties"]) == ("pass", 30)
    assert "30 missing votes are coded ties" in checked.why
    assert "'b', on 30 % of the items" in checked.why
    some = legible(replace(ballots, ties=ballots.votes == 0), np.arange(50))
    assert some.parsed[1] == 1.0


def test_the_papers_rule_flags_one_wrong_vote_and_ours_does_not():
    legibility = legible(panel((0.7, 1.0), (0.0, 0.01)))
    assert legibility.wald_below.tolist() == [False, True]
    assert legibility.below.tolist() == [False, False]


def test_p_values_are_holms_of_the_exact_binomial():
    legibility = legible(panel((0.35, 1.0), (0.4, 1.0), (0.8, 1.0)))
    raw = [stats.binomtest(c, 100, alternative="less").pvalue for c in (35, 40, 80)]
    assert legibility.p_below == pytest.approx([3 * raw[0], 2 * raw[1], max(raw[2], 2 * raw[1])])


def test_coins_are_seldom_called_below_chance_and_the_papers_rule_often_does_so():
    rng = np.random.default_rng(5)
    ours = wald = 0
    for _ in range(300):
        votes = rng.choice([-1, 1], (15, 24)).astype(np.int8)
        legibility = legible(Ballots(votes, np.ones(15, np.int8), np.arange(15)), limits=False)
        ours += bool(legibility.below.any())
        wald += bool(legibility.wald_below.any())
    assert ours / 300 <= ALPHA + 0.02
    assert wald / 300 > 0.3


def test_the_filter_drops_the_unreadable_and_the_constant_and_says_why():
    ballots = panel((0.7, 1.0), (0.8, 0.6), (0.5, 1.0), (0.3, 1.0))
    ballots.votes[:, 2] = 1
    legibility = legible(ballots)
    assert to_drop(legibility, "one_coin").tolist() == [False, True, True, False]
    assert to_drop(legibility, "majority").tolist() == [False, True, True, True]
    reasons = [drop_reason(legibility, j) for j in (1, 2, 3)]
    assert reasons == [
        "a verdict on 60 % of the items",
        "one verdict on nearly every item",
        "below chance: right on 30 %",
    ]


def test_the_figures_of_some_rows_are_those_of_a_panel_of_these_rows():
    ballots = panel((0.7, 0.9), (0.5, 0.6))
    rows = np.arange(0, 100, 3)
    part = Ballots(ballots.votes[rows], ballots.signs[rows], np.arange(len(rows)))
    some, whole = legible(ballots, rows), legible(part)
    np.testing.assert_array_equal(some.parsed, whole.parsed)
    np.testing.assert_array_equal(some.p_below, whole.p_below)


def test_coins_that_err_by_whole_groups_are_seldom_called_below_chance():
    rng = np.random.default_rng(8)
    units, alarms = np.repeat(np.arange(30), 10), 0
    for _ in range(100):
        votes = rng.choice([-1, 1], (30, 24)).astype(np.int8)[units]
        legibility = legible(Ballots(votes, np.ones(300, np.int8), units), limits=False)
        alarms += bool(legibility.below.any())
    assert alarms / 100 <= ALPHA + 0.025


def test_a_judge_that_is_wrong_in_most_groups_is_still_found():
    rng = np.random.default_rng(9)
    units = np.repeat(np.arange(30), 10)
    votes = rng.choice([-1, 1], (300, 6), p=[0.7, 0.3]).astype(np.int8)
    assert legible(Ballots(votes, np.ones(300, np.int8), units)).below.all()


SIZES = np.arange(2, 21, 2)


LAST, HALF, FIFTH = 8, 4, 1


def line(last, half, fifth, *, se=0.001):
    """A curve with NLL .3 for all 20 judges; ``last``, ``half``, ``fifth`` are NLL(all) - NLL."""
    delta = np.zeros(10)
    delta[[LAST, HALF, FIFTH]] = last, half, fifth
    spread = np.full(10, se)
    lo, hi = delta - 1.66 * spread, delta + 1.66 * spread
    margin = scope.SATURATED * 0.3
    inside, outside = (lo > -margin) & (hi < margin), (lo > margin) | (hi < -margin)
    decided = np.select([inside, outside], ["equivalent", "different"], "inconclusive").tolist()
    nll, gap = Interval(0.3 - delta, 0.2 - delta, 0.4 - delta), Interval(delta, lo, hi, level=0.9)
    tests = (np.full(10, 0.5), tuple(decided), margin)
    return scope.Saturation(SIZES, nll, gap, spread, *tests, last=LAST, half=HALF, fifth=FIFTH)


def outcome(*deltas, **more):
    return scope.check_saturation(line(*deltas, **more), 400)


COURSES = {
    "gains to its last judge": ((-0.01, -0.05, -0.1), 0.001, "pass", "-25.0 % ["),
    "last tenth undecided": ((-0.003, -0.05, -0.1), 0.01, "pass", "undecided against 1 %"),
    "last tenth moves nothing": ((0.0, -0.05, -0.1), 0.0005, "review", "saturated"),
    "last tenth costs": ((0.01, -0.05, -0.1), 0.001, "fail", "The last 2 judges cost"),
    "worse half costs": ((-0.01, 0.02, -0.1), 0.001, "fail", "better half"),
    "estimate turns": ((-0.01, 0.02, -0.1), 0.02, "review", "would decide it; there are 400"),
    "and says so": ((-0.01, 0.02, -0.1), 0.02, "review", "stops gaining"),
    "gain not shown": ((-0.01, -0.01, -0.02), 0.02, "review", "Nothing shows that all judges beat"),
    "and needs labels": ((-0.01, -0.01, -0.02), 0.02, "review", "labelled items would decide it"),
    "gain of the wrong sign": ((0.002, 0.001, 0.01), 0.02, "review", "no number of labels"),
}


@pytest.mark.parametrize("course", COURSES)
def test_the_course_of_a_curve_decides_whether_more_judges_help(course):
    deltas, se, wanted, says = COURSES[course]
    result = outcome(*deltas, se=se)
    assert result.outcome == wanted
    assert says in f"{result.why} {result.advice}"


def test_labels_that_would_decide_the_last_tenth_are_counted():
    numbers = outcome(*COURSES["last tenth undecided"][0], se=0.01).numbers
    assert numbers["labels that would decide the last tenth"] > 10_000


def test_four_judges_have_no_last_tenth():
    few = replace(line(0, 0, 0), sizes=np.arange(-5, 5))
    assert scope.check_saturation(few, 400).outcome == "not applicable"


def test_a_single_split_decides_nothing():
    one_line = replace(line(-0.01, -0.05, -0.1), se=np.full(10, np.nan))
    assert scope.check_saturation(one_line, 400).outcome == "review"


@pytest.mark.parametrize("n", [1, 2, 5, 7, 24, 65, 148])
def test_the_curve_ends_at_all_and_holds_its_marks(n):
    sizes = scope.curve_sizes(n)
    assert sizes[-1] == n
    assert sizes[0] >= 1
    assert {max(1, n - max(1, int(0.1 * n + 0.5))), max(1, int(0.5 * n + 0.5))} <= set(sizes)
    assert (np.diff(sizes) > 0).all()


def test_labels_needed_give_a_power_of_80_per_cent():
    n = scope.labels_needed(0.01, 0.01, 100)
    reach = (1.645 + 0.842) ** 2
    assert 100 * reach <= n <= 110 * reach
    assert scope.labels_needed(0.02, 0.01, 100) < n
