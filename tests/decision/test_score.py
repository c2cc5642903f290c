"""Scoring: sets, warnings, figures on labels; training rows must not give figures."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.cli import main
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json, script
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.score import score
from judgepanel.decision.training_items import SETS, slices
from judgepanel.kernels.aggregation import KERNELS
from judgepanel.models.calibrators import SplitConformal
from judgepanel.scoring.conformal import LEVELS, SET_NAMES, labels_needed
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes, write_votes
from judgepanel.words.outputs import labelled_sentence, scored_text
from tests.helpers import OF_SNIPPET, flip_items, make_votes, panel_from, snippet_scores

SHARE = 0.3


def renamed(votes, prefix="new"):
    return replace(votes, item_ids=tuple(f"{prefix}{i}" for i in range(votes.n_items)))


def panel_of(votes, result, spec, model=None):
    result = replace(result, model=model) if model else result
    return load_panel(panel_json(export_panel(result, votes, spec, ())))


VOTES = make_votes(0, 240, 14, missing=0.05, low=0.6, high=0.75)
"""Training rows first, then as many from the same judges."""


OLD = VOTES.with_items(np.arange(120))


NEW = VOTES.with_items(np.arange(120, 240))


SPEC = RecommendSpec(settings=Settings(splits=2), conformal=SHARE)


@pytest.fixture(scope="module")
def result():
    return run(RECOMMEND, OLD, SPEC, jobs=1)


@pytest.fixture(scope="module")
def panel(result):
    return panel_of(OLD, result, SPEC)


def plain_sets(panel, p):
    label_set = OF_SNIPPET["label_set"]
    return [[label_set(panel.content, entry, level) for entry in p] for level in LEVELS]


@pytest.mark.parametrize("policy", ["as_given", "randomized", "symmetric"])
@pytest.mark.parametrize(
    ("aggregator", "calibrator"),
    [("majority", "beta"), ("one_coin", "isotonic"), *((name, "temperature") for name in KERNELS)],
)
def test_sets_agree_in_library_snippet_and_estimator(result, policy, aggregator, calibrator):
    parts = slices(OLD, SHARE, 0)
    model = panel_from(parts.fitted, 6, aggregator, calibrator, orientation=policy)
    panel = panel_of(OLD, replace(result, orientation=policy), SPEC, model)
    scored = score(panel, NEW)
    assert [list(prediction_set) for prediction_set in scored.sets] == plain_sets(
        panel, scored.p.tolist()
    )
    slice_p = model.score(parts.held_out.with_judges(model.judges).votes)
    for level, texts in zip(LEVELS, scored.sets, strict=True):
        sets = SplitConformal(level).fit(slice_p, parts.held_out.labels).predict_kinds(scored.p)
        assert list(texts) == [SETS[kind] for kind in sets]
    assert [name.replace(" ", "") for name in SET_NAMES] == list(SETS)


def test_under_symmetric_a_swap_has_the_mirrored_set(result):
    model = panel_from(slices(OLD, SHARE, 0).fitted, 7, "joint", orientation="symmetric")
    panel = panel_of(OLD, replace(result, orientation="symmetric"), SPEC, model)
    mirror = {"{}": "{}", "{0}": "{1}", "{1}": "{0}", "{0,1}": "{0,1}"}
    turned = flip_items(NEW, np.ones(NEW.n_items, bool))
    for first, other in zip(score(panel, NEW).sets, score(panel, turned).sets, strict=True):
        assert [mirror[text] for text in first] == list(other)
    flipped = flip_items(OLD, np.arange(OLD.n_items) % 2 == 0)
    again = panel_of(flipped, replace(result, orientation="symmetric"), SPEC, model)
    levels = [entry.content["conformal"]["levels"] for entry in (panel, again)]
    assert levels[0] == levels[1]


def test_what_is_held_out_moves_nothing_that_is_chosen_or_fitted(result):
    assert slices(OLD, SHARE, 0).held_out.n_items == 36
    assert result.model.n_fit == result.n_items == 84
    plain = replace(SPEC, conformal=0.0)
    fitted = run(RECOMMEND, slices(OLD, SHARE, 0).fitted, plain, jobs=1)
    # Copies of items are looked for among all that are labelled.
    alike = replace(fitted, warnings=result.warnings, repeats=result.repeats)
    assert to_plain(alike) == to_plain(result)


def test_groups_are_held_out_whole_and_unlabelled_companions_leave_too():
    votes = make_votes(3, 100, 4, groups=25)
    labels = votes.labels.copy()
    labels[::5] = -1
    votes = replace(votes, labels=labels)
    parts = slices(votes, 0.25, 0)
    assert parts.held_out.labelled.all()
    assert not set(parts.held_out.groups) & set(parts.fitted.groups)
    assert abs(parts.held_out.n_items - 20) <= 5
    assert slices(votes, 0.0, 0).fitted is votes
    assert slices(votes, 0.25, 1).held_out.item_ids != parts.held_out.item_ids


def test_too_few_labels_make_full_sets_and_say_how_many_are_needed():
    votes = make_votes(1, 40, 4)
    spec = RecommendSpec(settings=Settings(splits=2), conformal=0.15)
    recommendation = run(RECOMMEND, votes, spec, jobs=1)
    sentence = f"has 6 labels, and sets at 90% need {labels_needed(0.9)}"
    assert any(sentence in line for line in recommendation.warnings)
    panel = panel_of(votes, recommendation, spec)
    low, high = panel.content["conformal"]["levels"]
    assert low["threshold"] is not None
    assert (high["threshold"], high["labels_needed"]) == (None, 9)
    scored = score(panel, NEW.with_judges(votes.judges))
    assert set(scored.sets[1]) == {"{0,1}"}
    assert plain_sets(panel, scored.p.tolist())[1] == list(scored.sets[1])


def test_without_a_share_sets_stay_blank(result):
    panel = panel_of(OLD, result, RecommendSpec(settings=Settings(splits=2)))
    assert panel.content["conformal"] is None
    scored = score(panel, NEW)
    assert set(scored.sets[0]) == set(scored.sets[1]) == {""}
    assert plain_sets(panel, [0.5]) == [[""], [""]]


def test_new_labels_give_an_nll_with_interval_and_null(panel):
    scored = score(panel, renamed(NEW))
    figures = scored.labelled.figures
    losses = -np.log(np.where(NEW.labels == 1, scored.p, 1 - scored.p))
    assert figures.nll.value == pytest.approx(losses.mean())
    own = np.mean(scored.p * (1 - scored.p) * np.log(scored.p / (1 - scored.p)) ** 2)
    spread = max(losses.var(ddof=1), own)
    assert figures.nll.hi - figures.nll.value == pytest.approx(
        1.98 * (spread / 120) ** 0.5, rel=0.01
    )
    prior = panel.model.prior
    null = np.where(NEW.labels == 1, prior, 1 - prior)
    assert figures.null_nll == pytest.approx(-np.log(null).mean())
    assert (scored.labelled.n, scored.labelled.n_seen, scored.labelled.checked) == (120, 0, True)
    assert scored_text(scored, "s.csv").startswith("120 items scored")
    sentence = labelled_sentence(scored.labelled)
    assert sentence.startswith("On 120 labelled items that the panel has not seen: NLL ")
    assert score(panel, replace(NEW, labels=np.full(120, -1, np.int8))).labelled is None


def test_seen_items_never_count_in_the_nll(panel):
    both = renamed(NEW)
    mixed = replace(
        both,
        votes=np.concatenate([both.votes, OLD.votes[:60]]),
        labels=np.concatenate([both.labels, OLD.labels[:60]]),
        item_ids=(*both.item_ids, *OLD.item_ids[:60]),
    )
    scored = score(panel, mixed)
    assert not scored.seen.rows[:120].any()
    assert scored.labelled.n_seen == 60
    assert scored.labelled.figures.nll.value == pytest.approx(
        score(panel, both).labelled.figures.nll.value, abs=1e-12
    )
    n = int(scored.seen.rows.sum())
    assert any(line.startswith(f"{n} of 180 items have the id") for line in scored.warnings)
    held_out = f"{60 - n} of 180 items were held out to make the sets"
    assert any(line.startswith(held_out) for line in scored.warnings)
    assert "60 labelled items that took part in making it left out" in labelled_sentence(
        scored.labelled
    )


def test_the_votes_of_the_fit_give_no_nll(panel):
    for file in (OLD, OLD.with_judges(OLD.judges[::-1]), renamed(OLD)):
        scored = score(panel, file)
        assert scored.labelled.figures is None
        assert "it would flatter" in labelled_sentence(scored.labelled)
        assert any("seen items flatter" in line for line in scored.warnings)


def test_one_class_labels_are_marked_unless_the_panel_cannot_profit(panel):
    turned = renamed(flip_items(NEW, NEW.labels == 0))
    assert score(panel, turned).labelled.measures_coding
    assert "measures the coding" in labelled_sentence(score(panel, turned).labelled)
    even = load_panel(panel_json({**panel.content, "orientation": "symmetric"}))
    assert not score(even, turned).labelled.measures_coding


def absent_line(panel, votes):
    (line,) = [line for line in score(panel, votes).warnings if "panel judges are absent" in line]
    return line


def without(votes, judges):
    return votes.with_judges([name for name in votes.judges if name not in set(judges)])


def test_absent_judges_come_with_the_nll_measured_without_them(panel):
    judges = panel.model.judges
    default = panel.content["figures"]["nll"]
    rise = panel.content["absence"]["single"][1]["delta"]
    line = absent_line(panel, without(NEW, [judges[1]]))
    assert f"1 of {len(judges)} panel judges" in line
    assert f"measured with only it absent, the NLL changes by {rise:+.3f}" in line
    assert f"to about {default + rise:.3f} from {default:.3f}." in line
    bare = load_panel(panel_json({**panel.content, "absence": None}))
    line = absent_line(bare, without(NEW, judges[:3]))
    assert line.endswith("the panel's figures do not hold for this loss.")


def loss(n_absent, delta, **more):
    figures = {"n_absent": n_absent, "share": 0.1, "nll": 0.4, "delta": delta, "lo": delta - 0.1}
    return {**figures, "hi": delta + 0.1, "df": 50.0, "item_sd": 0.5, "main_nll": 0.4, **more}


@pytest.fixture
def vendors(panel):
    """The panel of 14 with vendors of 5, 4 and 4 judges, and numbers up to 10 measured."""
    content = json.loads(panel_json(panel.content))
    n_judges = len(content["judges"])
    content["absence"] = {
        **content["absence"],
        "groups": [
            {"kind": "family", "name": "A", "judges": [0, 1, 2, 3, 4], "figures": loss(5, 0.02)},
            {"kind": "family", "name": "B", "judges": [5, 6, 7, 8], "figures": loss(4, 0.01)},
            {"kind": "cluster", "name": "1", "judges": [9, 10, 11, 12], "figures": loss(4, 0.3)},
        ],
        "several": [loss(3, 0.05), loss(min(10, n_judges - 1), 0.06)],
    }
    content["figures"] |= {"nll": 0.5, "nll_lo": 0.45, "nll_hi": 0.55, "null_nll": 0.693}
    return load_panel(panel_json(content))


@pytest.mark.parametrize(
    ("gone", "says"),
    [
        (range(5), "measured with family 'A' absent, the NLL changes by +0.020"),
        ((9, 10, 11), "the nearest that was measured: with cluster '1' absent (3 of its 4 judges"),
        (range(4), "with 10 of 14 judges absent, drawn at random"),
        ((0, 5, 9), "the nearest that was measured: with 3 of 14 judges absent, drawn at random"),
        (range(9), "this absence was not measured, and the panel's figures do not hold for it"),
        (range(5, 13), "this absence was not measured, and the panel's figures do not hold for it"),
    ],
)
def test_the_nearest_absence_that_was_measured_is_quoted(vendors, gone, says):
    """Exactly these; else the worst of those that are near; else it was not measured."""
    judges = vendors.model.judges
    assert len(judges) == 14
    assert says in absent_line(vendors, without(NEW, [judges[j] for j in gone]))


def test_worse_than_the_base_rate_is_said_in_so_many_words(vendors):
    judges = vendors.model.judges
    above = absent_line(vendors, without(NEW, judges[9:13]))
    assert "That is worse than the base rate alone (0.693)" in above
    assert "base rate" not in absent_line(vendors, without(NEW, judges[:5]))
    few = without(NEW, judges[:5]).with_items(np.arange(10))
    assert "That may be worse than the base rate alone (0.693)" in absent_line(vendors, few)


def test_sets_promise_nothing_with_judges_absent(panel):
    sentence = "nothing promises how often they hold the label"
    assert sentence in " ".join(score(panel, without(NEW, panel.model.judges[:2])).warnings)
    assert sentence not in " ".join(score(panel, NEW).warnings)


def test_judges_whose_column_is_there_but_silent_are_absent(panel):
    judges = panel.model.judges
    cast = NEW.votes.copy()
    cast[:, NEW.judges.index(judges[1])] = -1
    silent = absent_line(panel, replace(NEW, votes=cast))
    assert silent == absent_line(panel, without(NEW, [judges[1]]))


def test_the_fallback_is_used_item_by_item_and_said(panel):
    judges = panel.model.judges
    fallback = {"kind": "one_coin", "few": 1.0, "all": 3.0, "beyond": 0.4}
    content = {**panel.content, "fallback": fallback | {"weights": [1.0] * len(judges)}}
    held = load_panel(panel_json(content))
    assert not score(held, NEW).fallback.any()
    cast = NEW.votes.copy()
    columns = [NEW.judges.index(name) for name in judges[:8]]
    cast[np.ix_(np.arange(30), columns)] = -1
    partly = replace(NEW, votes=cast)
    scored = score(held, partly)
    plain = score(panel, partly)
    assert scored.fallback[:30].all()
    assert scored.p[~scored.fallback].tolist() == plain.p[~scored.fallback].tolist()
    assert (scored.p[:30] != plain.p[:30]).any()
    assert scored.frame()["fallback"].tolist() == scored.fallback.astype(int).tolist()
    n = int(scored.fallback.sum())
    assert any(
        f"{n} of 120 items were scored by the panel's fallback" in w for w in scored.warnings
    )
    assert scored.p.tolist() == snippet_scores(content, partly)


def test_drifted_votes_are_named(panel):
    cast = NEW.votes.copy()
    cast[:, NEW.judges.index(panel.model.judges[0])] = 1
    scored = score(panel, replace(renamed(NEW), votes=cast))
    assert any(line.startswith("These votes are not like") for line in scored.warnings)
    assert scored.drift.significant[0].judge == panel.model.judges[0]
    assert not score(panel, renamed(NEW)).drift.significant


def test_the_command_line_writes_and_says_the_same(panel, tmp_path, capsys, monkeypatch):
    (tmp_path / "panel.json").write_text(panel_json(panel.content), encoding="utf-8")
    write_votes(renamed(NEW), tmp_path / "new.csv")
    files = [str(tmp_path / name) for name in ("panel.json", "new.csv", "s.csv")]
    assert main(["score", *files[:2], "--out", files[2]]) == 0
    printed = capsys.readouterr().out
    scored = score(panel, renamed(NEW))
    assert printed == scored_text(scored, "s.csv") + "\n"
    with (tmp_path / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["p"]) for row in rows] == scored.p.tolist()
    for name, texts in zip(("set_80", "set_90"), scored.sets, strict=True):
        assert [row[name] for row in rows] == list(texts)
    monkeypatch.chdir(tmp_path)
    exec(compile(script(), "script", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own text
    p, *sets = capsys.readouterr().out.split()
    assert {0 < float(p) < 1, *(prediction_set in SETS for prediction_set in sets)} == {True}
    assert len(sets) == 2


def test_recommend_takes_the_share_on_the_command_line(tmp_path, capsys):
    write_votes(OLD, tmp_path / "old.csv")
    out = tmp_path / "panel.json"
    options = ["--splits", "2", "--jobs", "1", "--conformal", "0.3", "--out", str(out)]
    assert main(["recommend", str(tmp_path / "old.csv"), *options]) == 0
    content = json.loads(out.read_text("utf-8"))
    assert (content["conformal"]["n"], content["n_fit"]) == (36, 84)
    assert content["figures"]["note"].endswith("on all 84 that were not held out.")


@pytest.mark.parametrize(
    ("aggregator", "calibrator", "k"),
    [
        ("majority", "isotonic", 20), ("one_coin", "beta", 65), ("dawid_skene", "temperature", 30),
        ("stacking", "none", 30), ("joint", "temperature", 65), ("joint_monotone", "none", 65),
    ],
)  # fmt: skip
def test_llmbar_halves_round_trip_bit_for_bit(real_votes, result, aggregator, calibrator, k):
    votes = load_votes(real_votes("llmbar_votes.csv")).votes
    half = np.random.default_rng(0).permutation(votes.n_items) < votes.n_items // 2
    past, fresh = votes.with_items(half), votes.with_items(~half)
    fitted = slices(past, SHARE, 0).fitted
    model = panel_from(fitted, k, aggregator, calibrator)
    left = tuple(name for name in votes.judges if name not in set(model.judges))
    export = replace(result, left_out=left, orientation=prepare(fitted, Settings()).oriented.policy)
    panel = panel_of(past, export, SPEC, model)
    assert panel_json(panel.content) == panel_json(load_panel(panel_json(panel.content)).content)
    assert panel.model == model or aggregator == "joint" or calibrator == "isotonic"
    scored = score(panel, fresh)
    assert scored.p.tolist() == model.score(fresh.with_judges(model.judges).votes).tolist()
    plain = snippet_scores(panel.content, fresh)
    assert scored.p.tolist() == plain
    assert [list(prediction_set) for prediction_set in scored.sets] == plain_sets(panel, plain)
    assert not scored.seen.rows.any()
    assert scored.labelled.figures.nll.value < scored.labelled.figures.null_nll
    assert score(panel, past).labelled.figures is None
