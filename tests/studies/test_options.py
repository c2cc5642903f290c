"""Options of a spec: what a command writes reads back, and an error is one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.present.registry import STUDIES
from judgepanel.studies.contract import Settings
from judgepanel.studies.options import read_spec, spec_options_of, written_options
from judgepanel.votes import InputError


@dataclass(frozen=True, slots=True)
class Spec:
    settings: Settings = Settings()
    side: Literal["left", "right"] = "left"
    share: float | None = None
    shares: tuple[float, ...] = (0.1, 0.5)
    sizes: tuple[int, ...] | None = field(
        default=None, metadata={"option": "k", "words": {"every": ()}, "help": "sizes"}
    )
    names: tuple[str, ...] = ()
    both: bool = True


class One:
    spec = Spec


NAMES = ("a", "b c", "d-e", "llama-3, 70b", 'the "best"', "two\nlines")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SPECS = st.builds(
    Spec,
    side=st.sampled_from(("left", "right")),
    share=st.none() | NUMBERS,
    shares=st.lists(NUMBERS, max_size=3).map(tuple),
    sizes=st.none() | st.lists(st.integers(), max_size=3).map(tuple),
    names=st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple),
    both=st.booleans(),
)


@given(SPECS)
def test_what_is_written_reads_back(spec):
    fields_by_option = {option.flag: option.field for option in spec_options_of(Spec)}
    if spec.share is None or spec.sizes is None:  # None is said by leaving the option out
        assert spec.share != Spec().share or "--share" not in dict(written_options(spec))
    given_texts = {fields_by_option[option]: text for option, text in written_options(spec)}
    assert read_spec(One, Settings(), given_texts) == spec


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("share", "x", "--share takes a number (found 'x'); allowed: for instance 0.1"),
        ("shares", "1,,2", "--shares takes numbers (found '1,,2')"),
        ("sizes", "1.5", "--k takes whole numbers (found '1.5'); allowed: for instance 3,5,10"),
        ("sizes", "", "--k is empty"),
        ("both", "maybe", "--both is a yes or no (found 'maybe'); allowed: yes, no"),
    ],
)
def test_text_that_is_no_value_is_refused(name, text, says):
    with pytest.raises(InputError) as refused:
        read_spec(One, Settings(), {name: text})
    assert says in str(refused.value)


def test_a_word_stands_for_its_value():
    assert read_spec(One, Settings(), {"sizes": "every"}).sizes == ()


def test_a_name_given_twice_counts_once():
    assert read_spec(One, Settings(), {"names": "a, b,a,"}).names == ("a", "b")


def test_a_knob_without_text_is_a_mistake_of_the_study():
    @dataclass(frozen=True)
    class Wrong:
        settings: Settings = Settings()
        inner: Settings = Settings()

    with pytest.raises(TypeError, match="no text"):
        spec_options_of(Wrong)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_what_no_option_may_be_is_refused(name):
    spec = STUDIES[name].spec
    for option in spec_options_of(spec):
        if option.choices:
            known = f"unknown {option.noun}.*magic.*{option.choices[0]}"
            with pytest.raises(InputError, match=known):
                spec(**{option.field: ("magic",) if option.several else "magic"})
        for names in ((), option.choices[:1] * 2) if option.once else ():
            with pytest.raises(InputError, match=f"one {option.noun} or more, each once"):
                spec(**{option.field: names})
        if option.field == "panels":
            with pytest.raises(InputError, match="at least one judge"):
                spec(panels=(0,))
        if option.field == "aggregator" and "average" in option.choices:
            with pytest.raises(InputError, match="in-sample scores"):
                spec(settings=Settings(protocol="paper"), aggregator="average")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("label_budget", {"beside": "one_coin"}, "both aggregators are the same"),
        ("label_budget", {"have": 0}, "out of range"),
        ("label_budget", {"have": 10**7 + 1}, "out of range"),
        ("label_budget", {"budgets": (1,)}, "at least 2 labels"),
        ("label_budget", {"within": 0.0}, "out of range"),
        ("label_budget", {"target": -1.0}, "must be above 0"),
        ("label_budget", {"target": float("nan")}, "must be above 0"),
        ("fraction_sweep", {"shares": (0.5,)}, "two calibration shares"),
        ("fraction_sweep", {"shares": (0.5, 0.5)}, "each once"),
        ("fraction_sweep", {"shares": (0.5, 1.0)}, "out of range"),
        ("fraction_sweep", {"within": 1.0}, "out of range"),
        ("difficulty_transfer", {"share": 0.6}, "share of easy"),
        ("difficulty_transfer", {"strata": 1}, "strata must be 2"),
        ("difficulty_transfer", {"most": 1.0}, "largest importance weight"),
        ("slice_transfer", {"quantiles": 1}, "2 parts or more"),
        ("permutation", {"permutations": 0}, "number of permutations"),
        ("permutation", {"splits_each": 1}, "2 splits or more"),
        ("corruption", {"flips": (0.3, 0.2)}, "the levels of damage must rise"),
        ("corruption", {"flips": ()}, "the levels of damage must rise"),
        ("corruption", {"flips": (0.0, 0.2)}, "the levels of damage must rise"),
        ("corruption", {"absent": (0.5, 1.0)}, "the levels of damage must rise"),
        ("corruption", {"concentrated": 0.3}, "too few judges to carry that many flips"),
        ("narrow_band", {"widths": ()}, "widths of the simulation out of range"),
        ("narrow_band", {"widths": (1.5,)}, "widths of the simulation out of range"),
        ("narrow_band", {"rhos": (1.0,)}, "correlations of the simulation out of range"),
        ("narrow_band", {"shares": (0.0,)}, "shares of the simulation out of range"),
        ("narrow_band", {"sizes": (0,)}, "a panel needs at least one judge"),
        ("narrow_band", {"replicates": 1}, "number of replicates out of range"),
        ("narrow_band", {"replicates": 10001}, "number of replicates out of range"),
        ("reliability_weighting", {"strength": 0.0}, "the strength of weights is out of range"),
        ("reliability_weighting", {"strength": 1.5}, "the strength of weights is out of range"),
        ("reliability_weighting", {"margin": 0.0}, "a margin must be above 0"),
        ("reliability_weighting", {"relative": -1.0}, "a margin must be above 0"),
        ("distortion", {"weak": 0.0}, "the levels of noise must rise"),
        ("distortion", {"weak": 0.5, "strong": 0.2}, "the levels of noise must rise"),
        ("distortion", {"turned": 1.0}, "the share of scores turned around is out of range"),
        ("value", {"permutations": 10}, "orders come in four designs of pairs"),
        ("value", {"permutations": 1008}, "orders come in four designs of pairs"),
        ("value", {"copied": ("judge001", "judge001")}, "given twice"),
        ("curators", {"curators": ("best",)}, "unknown curator"),
        ("curators", {"folds": 1}, "too few inner folds"),
        ("curators", {"size": 0}, "size is too small"),
        ("curators", {"groups": 13}, "number of groups out of range"),
        ("curators", {"settings": Settings(protocol="paper")}, "in-sample scores"),
        ("cost", {"budget": -1.0}, "budget is not a price"),
        ("cost", {"points": 1}, "number of budgets out of range"),
        ("cost", {"points": 31}, "number of budgets out of range"),
        ("cost", {"folds": 1}, "too few inner folds"),
        ("cost", {"steps": -1}, "steps is too small"),
        ("cost", {"settings": Settings(protocol="paper")}, "in-sample scores"),
        ("escalation", {"thresholds": (0.4,)}, "threshold is out of range"),
        ("escalation", {"thresholds": (float("nan"),)}, "threshold is out of range"),
        ("escalation", {"share": 0.0}, "share is out of range"),
        ("escalation", {"tolerance": -0.1}, "tolerance is out of range"),
        ("escalation", {"cheapest": 0}, "at least one judge"),
        ("escalation", {"cheapest": 2, "cheap": ("a",)}, "not both"),
        ("escalation", {"steps": -1}, "steps is too small"),
        ("escalation", {"settings": Settings(protocol="paper")}, "in-sample scores"),
        ("reliability", {"panel": 0}, "at least one judge"),
        ("selective", {"confidences": (0.4,)}, "a confidence is out of range"),
        ("recommend", {"folds": 1}, "too few inner folds"),
        ("recommend", {"budget": 0.0}, "budget"),
        ("recommend", {"budget": float("nan")}, "budget"),
        ("recommend", {"conformal": -0.1}, "share held out"),
        ("recommend", {"conformal": 1.0}, "share held out"),
        ("recommend", {"conformal": float("nan")}, "share held out"),
        ("recommend", {"price": 0.04}, r"largest loss accepted.*0\.04.*0\.005, 0\.01, 0\.02"),
        ("recommend", {"settings": Settings(protocol="paper")}, "in-sample scores"),
        ("what_if", {"keep": ()}, "at least one judge"),
        ("what_if", {"against": ()}, "at least one judge"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(name, options, says):
    with pytest.raises(InputError, match=says):
        STUDIES[name].spec(**options)


def test_the_ends_of_a_range_are_accepted():
    STUDIES["value"].spec(permutations=1_000)
    STUDIES["curators"].spec(groups=12)
    STUDIES["cost"].spec(points=30)
    STUDIES["narrow_band"].spec(replicates=10_000)


def test_every_study_has_knobs_that_read_and_write():
    for study in STUDIES.values():
        assert study.spec().settings == Settings()
        for option in spec_options_of(study.spec):
            if option.default is not None:
                assert option.read(option.written(option.default)) == option.default
