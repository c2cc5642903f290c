"""The scope checks in words: the answer, the filter, tables, and harmless names."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.models.panel import mixture_of
from judgepanel.present.blocks import Answer, Figure, Heading, Method, Paragraph, Table
from judgepanel.present.study import Pipeline
from judgepanel.present.trust import group_change, scope
from judgepanel.present.trust.group_change import group_sentence, group_table, members_sentence
from judgepanel.render.text import terminal_text
from judgepanel.scoring.inference import verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.group_change import GROUP_CHANGE, GroupChange, GroupChangeSpec
from judgepanel.studies.trust.scope import SCOPE, ScopeSpec
from judgepanel.votes.simulate import sample_votes
from judgepanel.words.sentences import check_numbers, check_sentences
from tests.helpers import drawn, make_votes, with_grades

FEW = ScopeSpec(Settings(splits=4), others=("majority",))


@pytest.fixture(scope="module")
def hard():
    return run(SCOPE, sample_votes("hard_panel"), FEW, jobs=1)


def outcomes(result, **wanted):
    """The result with other outcomes."""
    checks = [
        replace(check, outcome=wanted[check.code]) if check.code in wanted else check
        for check in result.checks
    ]
    return replace(result, checks=tuple(checks))


def test_the_recommended_panel_is_named_and_the_alternatives_with_their_calibrator():
    (spec,) = scope.default_specs(None, Settings(splits=2), Pipeline(recommended=True))
    assert (spec.aggregator, spec.calibrator) == ("average", "temperature")
    votes = make_votes(2, 80, 6)
    text = terminal_text(scope.present(run(SCOPE, votes, spec, jobs=1), spec))
    assert "No other aggregator is shown to beat the recommended panel" in text
    assert "At every point the panel is recommended again, from the judges kept." in text
    assert "The other aggregators of P3 have temperature scaling." in text
    (groups,) = group_change.default_specs(votes, Settings(splits=2), Pipeline(recommended=True))
    assert groups.aggregators == spec.compared
    named = replace(groups, by="judges", group=("judge001",))
    text = terminal_text(group_change.present(run(GROUP_CHANGE, votes, named, jobs=1), named))
    assert "in the recommended panel" in text
    assert "The recommended panel is chosen again, with the group and without it" in text


def test_what_the_filter_would_cost_names_its_pipeline_unless_it_is_what_is_recommended(hard):
    votes, settings = sample_votes("hard_panel"), Settings(splits=2)
    decided = run(RECOMMEND, votes, RecommendSpec(settings, folds=2), jobs=1)
    assert decided.averages
    spec = GroupChangeSpec(settings, by="filter", aggregators=("joint",), calibrator="none")
    filtered = run(GROUP_CHANGE, votes, spec, jobs=1)
    assert scope.kept_sentence(hard, decided, filtered).endswith(" under joint: not shown to help.")
    averaged = replace(filtered, aggregators=("average",))
    assert "under" not in scope.kept_sentence(hard, decided, averaged)
    main = decided.model.main
    of_main = replace(filtered, aggregators=(main.aggregator,))
    assert " under " in scope.kept_sentence(hard, decided, of_main)
    alone = replace(decided, model=mixture_of([main], [1.0]))
    assert "under" not in scope.kept_sentence(hard, alone, of_main)


def test_the_answer_counts_and_names_the_worst(hard):
    assert scope.scope_sentence(hard) == (
        "Not yet: judge 'fam4-judge14' gives a verdict on 51 % of the items."
    )
    assert not scope.safe(hard)


def test_judges_that_do_no_harm_are_a_reservation_and_nothing_that_blocks(hard):
    checked = outcomes(hard, P0="pass", P1="fail", P2="review", P3="pass")
    assert scope.scope_sentence(checked).startswith("Not yet: judge 'fam4-judge14' ")
    sentence = scope.scope_sentence(checked, harmless=True)
    assert sentence.startswith("Safe to use, with 2 reservations. The first: judge 'fam4-judge14' ")
    also = "Also: by the estimate the better half of the judges does as well as all."
    assert scope.checks_sentence(checked, harmless=True) == also
    blocked = scope.checks_sentence(checked)
    assert blocked.startswith("Drop judges with a verdict on ")
    assert blocked.endswith(also)
    assert scope.scope_sentence(outcomes(hard, P0="fail"), harmless=True).startswith("Not yet: ")


def test_quick_checks_give_a_verdict_that_says_it_is_not_the_last(hard):
    assert scope.preliminary_sentence(hard) == (
        "Safe so far, with 2 reservations; the first: judge 'fam4-judge14' gives a verdict on "
        "51 % of the items."
    )
    constant = outcomes(hard, P0="fail", P1="fail")
    assert scope.preliminary_sentence(constant).startswith("Not yet: ")
    fine = outcomes(hard, P0="pass", P1="pass", P2="pass", P3="pass")
    assert scope.preliminary_sentence(fine) == "Safe so far: P0 and P1 raise no objection."
    ordered = outcomes(hard, P0="pass", P1="not applicable")
    assert scope.preliminary_sentence(ordered) == "Safe so far: P0 raises no objection."
    neither = outcomes(hard, P0="not applicable", P1="not applicable")
    assert scope.preliminary_sentence(neither) == "P0 and P1 do not apply."


def test_several_judges_without_verdicts_are_counted_and_not_named(hard):
    parsed = np.where(np.arange(len(hard.judges)) < 3, 0.85, 1.0)
    sentence = scope.scope_sentence(replace(hard, parsed=parsed))
    assert sentence == "Not yet: 3 judges give a verdict on less than 90 % of the items."


def test_when_all_pass_the_answer_claims_no_more_than_was_looked_at(hard):
    fine = outcomes(hard, P0="pass", P1="pass", P2="pass", P3="pass")
    course = hard.saturation
    texts = {}
    for outcome in ("inconclusive", "equivalent"):
        held = list(course.outcome)
        held[course.last] = outcome
        changed = replace(course, outcome=tuple(held))
        texts[outcome] = scope.checks_sentence(replace(fine, saturation=changed))
    assert scope.scope_sentence(fine) == "Safe to use: all 4 checks pass."
    assert texts["equivalent"] == ""
    assert "matter is undecided" in texts["inconclusive"]
    sizes = np.where(course.sizes == course.sizes[course.last], course.n_judges - 1, course.sizes)
    single = replace(course, sizes=sizes, outcome=("inconclusive",) * len(course.outcome))
    sentence = scope.checks_sentence(replace(fine, saturation=single))
    assert sentence == "Whether the last judge matters is undecided."
    assert scope.safe(fine)


def test_a_check_that_does_not_apply_is_not_a_failure(hard):
    fine = outcomes(hard, P0="pass", P1="not applicable", P2="pass", P3="pass")
    assert scope.scope_sentence(fine) == "Safe to use: all 3 checks that apply pass."
    assert scope.checks_sentence(fine) == "Whether the last 3 judges matter is undecided."
    assert scope.safe(fine)


def test_the_filter_says_whom_and_why(hard):
    assert scope.filter_sentence(hard) == (
        "The filter drops 2 judges: 'fam4-judge14' (a verdict on 51 % of the items), "
        "'fam5-judge30' (one verdict on nearly every item)."
    )
    assert "drops no judge" in scope.filter_sentence(replace(hard, suggested=()))


def test_tables_have_their_null_and_every_row(hard):
    assert scope.parse_table(hard)["judge"].texts()[0] == "fam4-judge14"
    assert scope.curve_table(hard)["judges kept"].numbers.tolist() == list(range(3, 31, 3))
    assert (scope.switch_table(hard)["base rate"].numbers > 0.69).all()


def test_every_check_is_presented_with_its_words_numbers_and_figures(hard):
    blocks = scope.present(hard, FEW)
    for check in hard.checks:
        place = blocks.index(Heading(check.title, 3))
        assert blocks[place + 1] == Paragraph(check_sentences(check))
        assert blocks[place + 2] == Paragraph(check_numbers(check), quiet=True)
    captions = [block.caption for block in blocks if isinstance(block, Table)]
    assert captions[:3] == ["Every judge.", "Every share.", "Every aggregator."]
    assert sum(isinstance(block, Figure) for block in blocks) == 3
    assert blocks[-2] == Paragraph(scope.filter_sentence(hard))
    assert isinstance(blocks[-1], Method)
    assert all(f" {code}: " in blocks[-1].text for code in ("P0", "P1", "P2", "P3"))


def test_a_report_leaves_out_the_sentences_and_a_page_the_figures_too(hard):
    report = scope.present(hard, FEW, scope.ScopeView(sentences=False))
    titles = [block.text for block in report if isinstance(block, Heading)]
    assert titles == [check.title for check in hard.checks[1:]]
    assert Paragraph(check_sentences(hard.checks[1])) not in report
    page = scope.present(hard, FEW, scope.ScopeView(sentences=False, figures=False))
    assert [type(block) for block in page] == [Answer, Paragraph, Method]


def intervals(*figures):
    """The same interval for one aggregator."""
    return Interval(*(np.array([figure]) for figure in figures))


def changed(lo, hi, **more):
    value = (lo + hi) / 2
    decided = verdict(lo, hi, 0.006, identical=lo == hi == 0)
    fields = {
        "aggregators": ("joint",), "nll_with": intervals(0.3, 0.2, 0.4), "p": np.array([0.5]),
        "nll_without": intervals(0.3 + value, 0.2, 0.4), "delta": intervals(value, lo, hi),
        "verdicts": (decided,),
        "by": "judges", "name": "the judges named", "members": ("a", "b"), "added": False,
        "calibrator": "beta", "null_nll": 0.693, "constant_nll": 0.693,
        "n_judges": 9, "n_calibration": 50.0, "orientation": "as_given", "protocol": "honest",
        "one_class": False, "measures_coding": False, "n_items": 100, "n_evaluation": 50.0,
        "n_splits": 4, "planned_splits": 4, "seed": 0, "warnings": (),
    }  # fmt: skip
    return GroupChange(**{**fields, **more})


@pytest.mark.parametrize(
    ("lo", "hi", "says"),
    [
        (0.01, 0.03, "Keep the judges named (2 judges): leaving it out costs +0.020"),
        (-0.03, -0.01, "Leave out the judges named (2 judges): leaving it out saves 0.020"),
        (-0.004, 0.03, "Keeping the judges named (2 judges) loses at most 2 %"),
        (-0.03, 0.004, "The other 7 judges alone lose at most 2 %"),
        (-0.03, 0.03, "Undecided whether to keep the judges named"),
        (0.0, 0.0, "the same probabilities"),
    ],
)
def test_every_verdict_on_a_group_has_its_sentence(lo, hi, says):
    assert says in group_sentence(changed(lo, hi), "joint")


def test_an_added_group_is_added_or_not():
    assert group_sentence(changed(0.01, 0.03, added=True), "joint").startswith("Add ")
    assert group_sentence(changed(-0.03, -0.01, added=True), "joint").startswith("Do not add ")


def test_a_group_is_presented_with_its_members_figure_and_table():
    change = changed(0.01, 0.03)
    blocks = group_change.present(change, GroupChangeSpec(by="judges", group=("a", "b")))
    assert blocks[0] == Answer(group_sentence(change, "joint"))
    assert blocks[1] == Paragraph(members_sentence(change))
    assert [type(block) for block in blocks[2:]] == [Figure, Table, Method]
    assert group_table(change)["base rate"].numbers.tolist() == [0.693]


def test_aggregators_that_decide_otherwise_are_told_apart():
    first, other = changed(0.01, 0.03), changed(-0.03, 0.03)
    both = replace(
        first,
        aggregators=("joint", "majority"),
        verdicts=first.verdicts + other.verdicts,
        **{
            name: Interval.joined([getattr(first, name), getattr(other, name)])
            for name in ("nll_with", "nll_without", "delta")
        },
        p=np.array([0.5, 0.5]),
    )
    blocks = group_change.present(both, GroupChangeSpec(by="judges", group=("a", "b")))
    assert blocks[1] == Paragraph(group_sentence(both, "majority"))
    assert blocks[1].text.startswith("Undecided whether to keep the judges named")


def test_a_group_of_nobody_is_one_sentence():
    (answer,) = group_change.present(changed(0.0, 0.0, members=()), GroupChangeSpec())
    assert isinstance(answer, Answer)
    assert "is empty, so nothing" in answer.text


def test_the_method_speaks_of_grades_only_where_judges_give_some():
    votes = make_votes(3, 80, 6)
    methods = []
    for matrix in (votes, with_grades(votes)):
        result = run(SCOPE, matrix, FEW, jobs=1)
        methods += [block for block in scope.present(result, FEW) if isinstance(block, Method)]
    assert ["order of grades" in method.text for method in methods] == [False, True]


def test_a_judge_whose_grades_are_in_reverse_order_is_in_the_answer():
    votes = with_grades(make_votes(3, 200, 6))
    grades = votes.grades.copy()
    grades[:, 0] = 0.55 - 0.1 * votes.labels + 0.004 * (np.arange(200) % 10)
    verdicts, thresholds = votes.votes.copy(), votes.thresholds.copy()
    verdicts[:, 0], thresholds[0] = grades[:, 0] > 0.42, 0.42
    reverse = replace(votes, votes=verdicts, grades=grades, thresholds=thresholds)
    result = run(SCOPE, reverse, FEW, jobs=1)
    assert "In reverse order: the grades of 'judge000'" in result.check("P1").why
    read = replace(result, parsed=np.ones(6))
    answer = scope.scope_sentence(outcomes(read, P0="pass", P2="pass", P3="pass"))
    assert "the grades of some judges contradict their votes or the labels" in answer


def test_the_curve_has_a_point_a_share_and_the_band_of_1_per_cent(hard):
    curve = hard.saturation
    interval, band, line = scope.curve_figure(curve).data
    assert line.text[-1] == "all judges"
    nll = curve.nll.value[-1]
    assert sorted(set(band.y)) == pytest.approx([0.99 * nll, 1.01 * nll])
    np.testing.assert_array_equal(interval.y[: len(curve.sizes)], curve.nll.hi)
    names = [interval.name, band.name, line.name]
    assert names == ["95 % interval", "within 1 % of all", "best judges kept"]


def test_every_judge_has_one_mark_of_its_kind(hard):
    figure = scope.parse_figure(hard)
    assert sum(len(trace.x) for trace in figure.data) == 30
    names = [trace.name for trace in figure.data]
    assert names == ["90 % or more (29)", "filter: 70 % or less (1)"]
    assert len({trace.marker.symbol for trace in figure.data}) == 2


def test_aggregators_are_rows_with_and_without_those_that_miss_votes(hard):
    figure = scope.switch_figure(hard)
    assert figure.layout.yaxis.ticktext == ("one-coin", "majority vote")
    names = ["all judges", "without those that miss votes", "base rate"]
    assert [trace.name for trace in figure.data] == names
    assert figure.data[1].error_x.array is None


def test_a_group_has_both_panels_and_their_intervals():
    spec = GroupChangeSpec(Settings(splits=2), "family", ("fam1",), ("one_coin", "majority"))
    result = run(GROUP_CHANGE, sample_votes("hard_panel"), spec, jobs=1)
    blocks = group_change.present(result, spec)
    (figure,) = [block.figure for block in blocks if isinstance(block, Figure)]
    assert [trace.name for trace in figure.data[:2]] == ["with the group", "without it"]
    np.testing.assert_allclose(drawn(figure.data[0]), tuple(result.nll_with))
    np.testing.assert_allclose(drawn(figure.data[1]), tuple(result.nll_without))
