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


def test_every_study_has_knobs_that_read_and_write():
    for study in STUDIES.values():
        assert study.spec().settings == Settings()
        for option in spec_options_of(study.spec):
            if option.default is not None:
                assert option.read(option.written(option.default)) == option.default
