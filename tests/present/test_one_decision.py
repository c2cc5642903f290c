"""Pages, report and terminal agree on which judges to keep."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision import lean, recommend_result
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.analysis_report import AnalysisReport, Finding, analysis_document
from judgepanel.present.blocks import Answer, Facts, Paragraph
from judgepanel.present.decide import candidate_rows, panel_curve, recommend, value
from judgepanel.present.decide.candidate_rows import candidate_name
from judgepanel.present.decide.cards import rule_sentence
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import pipeline_of, study_blocks
from judgepanel.present.trust.scope import ScopeView
from judgepanel.render.text import markdown_text, terminal_text
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE
from judgepanel.studies.decide.what_if import WHAT_IF
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.runner import run
from judgepanel.studies.trust import corruption, label_budget
from judgepanel.studies.trust.scope import SCOPE
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import SimulationSpec, one_class, sample_votes, simulate
from judgepanel.words.text import percent, with_interval
from tests.helpers import larger

ADVICE = re.compile(r"\b(keep|drop|curate)\b", re.IGNORECASE)
PAPERS_DEFAULT = ("one_coin", "beta")
KINDS = (
    {},
    {"n_families": 2, "family_rho": 0.7},
    {"copies": 3, "copy_flip": 0.05},
    {"anti_experts": 2},
    {"broken": 2},
    {"accuracy_low": 0.5, "accuracy_high": 0.6},
    {"parse_rate": 0.6},
    {"structural_judges": 2, "structural_share": 0.6},
    {"task": "pointwise", "base_rate": 0.1},
    {"one_class": True},
)
WORLDS = [(kind, seed) for kind in range(len(KINDS)) for seed in range(5)]


def world(kind, seed):
    rng = np.random.default_rng((kind, seed))
    options = dict(KINDS[kind])
    coded = options.pop("one_class", False)
    spec = SimulationSpec(
        n_items=int(rng.integers(50, 90)), n_judges=int(rng.integers(5, 8)), seed=seed, costs=False
    )
    votes = simulate(replace(spec, **options))
    return one_class(votes) if coded else votes


def evidence(votes, splits):
    """Results of the studies that advise on judges, with their specs."""
    settings = Settings(splits=splits)
    specs = {
        RECOMMEND: RecommendSpec(settings, folds=2),
        PANEL_CURVE: PANEL_CURVE.spec(settings=settings),
        SCOPE: SCOPE.spec(settings=settings),
    }
    return {
        study.name: Finding(study, spec, run(study, votes, spec, jobs=1))
        for study, spec in specs.items()
    }


def blocks_of(finding, view):
    return study_blocks(PRESENTATIONS[finding.study.name], finding.result, finding.spec, view)


def texts(blocks):
    return [block.text for block in blocks if isinstance(block, Answer | Paragraph)]


def check(votes, splits=2):
    """Fail on two statements about which judges to keep that do not go together."""
    results = evidence(votes, splits)
    decided = results[RECOMMEND.name].result
    decision = recommend.recommendation_sentence(decided)
    panel = blocks_of(results[RECOMMEND.name], candidate_rows.RecommendationView(votes))
    curve = blocks_of(results[PANEL_CURVE.name], panel_curve.PanelCurveView(recommendation=decided))
    scope = blocks_of(results[SCOPE.name], ScopeView(recommendation=decided))
    report = markdown_text(
        analysis_document(
            AnalysisReport(
                "votes", "votes.csv", (), (), votes, Settings(splits=splits),
                tuple(results.values()), (), (), (), "2026-01-01T00:00:00+00:00",
            )
        )
    )  # fmt: skip
    assert texts(panel)[0] == decision
    assert decision.split(";")[0] in terminal_text(panel)
    for page in (curve, scope):
        assert any(text.startswith(recommend.decision_sentence(decided)) for text in texts(page))
    assert decision in plain(report)
    _both_cards_are_the_same_on_page_sheet_and_terminal(
        decided, panel, plain(report), terminal_text(panel)
    )
    _notes_of_pages_say_the_decision(decided)
    _one_figure_for_one_thing(decided, results[PANEL_CURVE.name].result, results[SCOPE.name].result)
    _what_beats_or_loses_to_the_panel_is_the_same_on_page_sheet_and_terminal(
        decided, texts(panel), plain(report), terminal_text(panel)
    )
    _only_the_decision_gives_advice(texts(curve))
    _a_better_row_is_explained(decided)
    _a_check_that_drops_judges_knows_of_the_decision(results[SCOPE.name].result, scope, decided)


def plain(markdown):
    return html.unescape(markdown).replace("\\", "")


def _both_cards_are_the_same_on_page_sheet_and_terminal(decided, panel, report, terminal):
    """Best is the panel of the decision, and one card is recommended, by the rule, everywhere."""
    cards = recommend_result.cards_of(decided, lean.PRICE)
    assert set(cards.best.reading.judges) == set(decided.model.judges)
    assert cards.best.reading.nll == decided.nll
    (facts,) = (block for block in panel if isinstance(block, Facts))
    assert sum(name.endswith("(recommended)") for name, _ in facts.pairs) == 1
    assert f"{cards.marked} (recommended)" in dict(facts.pairs)
    assert dict(facts.pairs)["Which of them"] == rule_sentence(cards)
    for name, words in facts.pairs:
        assert f"{name}: {words}" in report
        assert f"{name}: {words}" in terminal


def _notes_of_pages_say_the_decision(decided):
    """What stands above the answers of Confidence, Label budget, Scope and Robustness."""
    decision, main = recommend.recommendation_sentence(decided), decided.model.main
    assert recommend.pipeline_sentence(decided, AVERAGE, "none").endswith(decision)
    other = recommend.pipeline_sentence(decided, "majority", "isotonic")
    assert decision in other
    heaviest = recommend.pipeline_sentence(decided, main.aggregator, main.calibrator)
    advice = recommend.advice_sentence(decided)
    assert heaviest.endswith(advice)
    assert advice.rstrip(".").split(";")[0] in decision[:1].lower() + decision[1:].replace("O", "o")
    if decided.averages:
        weight = percent(decided.model.members[0].weight)
        assert f"the main pipeline of the recommended average ({weight} of the weight" in heaviest
        assert " pipelines led by " in decision
    else:
        assert "the recommended pipeline" in heaviest


def _one_figure_for_one_thing(decided, curve, scope):
    """The base rate, and all judges under the paper's default, wherever they are shown."""
    assert curve.null_nll == pytest.approx(decided.null_nll, abs=1e-12)
    assert scope.null_nll == pytest.approx(decided.null_nll, abs=1e-12)
    all_judges = float(curve.nll.value[curve.row("beta"), -1])
    assert all_judges == pytest.approx(float(decided.reference.nll.value), abs=1e-9)
    if scope.saturation is not None and (scope.aggregator, scope.calibrator) == PAPERS_DEFAULT:
        assert float(scope.saturation.nll.value[-1]) == pytest.approx(all_judges, abs=1e-9)


def _averages_are_one(votes, decided, splits):
    """The recommended panel has its expected NLL, and its name, on every page that shows it.

    So does a panel picked by hand, on the page and in its file.
    """
    settings = Settings(splits=splits)
    shown = pipeline_of(decided)
    budget, scope, damage = (
        replace(PRESENTATIONS[study.name].under(votes, settings, shown)[0], **quick)
        for study, quick in (
            (label_budget.LABEL_BUDGET, {"budgets": (), "panels": ()}),
            (SCOPE, {"others": ()}),
            (corruption.CORRUPTION, {"flips": (0.4,), "absent": (0.4,), "panels": ()}),
        )
    )
    assert {spec.aggregator for spec in (budget, scope, damage)} == {AVERAGE}
    names = tuple(sorted((*decided.model.judges, *decided.left_out)))
    spec = RecommendSpec(settings)
    by_hand = replace(value.what_if_spec(spec, decided, names), keep=names[1:])
    compared = run(WHAT_IF, votes, by_hand, jobs=1)
    exported = run(RECOMMEND, votes, value.picked_spec(votes, spec, by_hand), jobs=1)
    assert float(compared.kept.nll.value) == pytest.approx(float(exported.nll.value), rel=1e-9)
    levels = [
        float(compared.against.nll.value),
        run(label_budget.LABEL_BUDGET, votes, budget, jobs=1).nll.value[0, -1, -1],
        run(SCOPE, votes, scope, jobs=1).saturation.nll.value[-1],
        run(corruption.CORRUPTION, votes, damage, jobs=1).nll.value[-1, 0],
    ]
    assert levels == pytest.approx([float(decided.nll.value)] * len(levels), rel=1e-9)


def _what_beats_or_loses_to_the_panel_is_the_same_on_page_sheet_and_terminal(
    decided, page, report, terminal
):
    reference, rival = decided.delta, decided.runner_up
    claims = [f"{with_interval(*reference, sign=True)} NLL"]
    if rival.name != decided.chosen.name:
        claims += [candidate_name(rival), with_interval(*rival.behind, sign=True)]
    for claim in claims:
        assert any(claim in text for text in page)
        assert claim in report
        assert claim in terminal


def _only_the_decision_gives_advice(sentences):
    for text in sentences:
        assert text.startswith("Recommended panel") or not ADVICE.search(text), text


def _a_better_row_is_explained(decided):
    best = min(
        (row for row in decided.candidates if row.allowed), key=lambda row: float(row.nll.value)
    )
    if float(best.nll.value) < float(decided.chosen.nll.value) and decided.averages:
        assert decided.runner_up == best
        assert "Its figure is flattered" in recommend.rival_sentence(decided)


def _a_check_that_drops_judges_knows_of_the_decision(result, blocks, decided):
    panel = set(decided.model.judges)
    answer, reasons = texts(blocks)[:2]
    if any(drop.judge in panel for drop in result.suggested):
        assert "the recommended panel keeps" in reasons
    elif result.suggested:
        assert "the recommended panel leaves" in reasons
    assert answer.startswith(("Safe to use", "Not yet"))


@pytest.mark.parametrize(("kind", "seed"), WORLDS)
def test_simulated_votes_get_one_decision(kind, seed):
    check(world(kind, seed))


@pytest.mark.parametrize("name", ["clean_pairwise", "hard_panel", "one_class", "sparse_humans"])
def test_samples_get_one_decision(name):
    check(sample_votes(name))


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_recommended_panel_is_the_same_panel_on_all_pages(kind):
    votes, settings = world(kind, 0), Settings(splits=2)
    decided = run(RECOMMEND, votes, RecommendSpec(settings), jobs=1)
    _averages_are_one(votes, decided, settings.splits)


@pytest.mark.parametrize(
    "name", ["llmbar", larger("rewardbench"), larger("sentpop"), larger("mozafari")]
)
def test_real_votes_get_one_decision(name, real_votes):
    votes = load_votes(real_votes(f"{name}_votes.csv")).votes
    check(votes.with_items(np.arange(0, votes.n_items, 1 if name == "llmbar" else 3)))
