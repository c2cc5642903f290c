"""Result files and the registry behind them."""

import dataclasses
import json
import math

import pytest

from judgepanel import ENGINE, __version__
from judgepanel.present.registry import STUDIES, study_named
from judgepanel.studies import codec, contract
from judgepanel.votes import InputError
from tests.helpers import same_values
from tests.present.results import result_of, spec_of, votes


@pytest.fixture(scope="module", params=sorted(STUDIES))
def made(request):
    study, spec, result = STUDIES[request.param], spec_of(request.param), result_of(request.param)
    return study, spec, votes(), result, codec.result_content(study, votes(), spec, result)


def test_a_result_file_says_what_was_asked_of_which_votes(made):
    study, spec, votes, result, content = made
    assert content["study"] == study.name
    assert (content["engine"], content["judgepanel"]) == (ENGINE, __version__)
    assert codec.from_plain(type(spec), content["spec"]) == spec
    assert content["votes"] == {
        "n_items": 80,
        "n_judges": 6,
        "n_labelled": 80,
        "sha256": votes.sha256,
        "orientation": result.orientation,
    }
    assert content["warnings"] == list(result.warnings)
    assert content["summary"]["orientation"] == result.orientation


def test_its_table_is_the_frame_to_the_bit(made):
    _, _, _, result, content = made
    frame = result.frame()
    read = json.loads(codec.result_json(content))["table"]
    assert len(read) == len(frame)
    for row, (_, expected) in zip(read, frame.iterrows(), strict=True):
        assert list(row) == list(frame.columns)
        for name, value in row.items():
            wanted = expected[name]
            missing = isinstance(wanted, float) and math.isnan(wanted)
            assert value is None if missing else value == wanted


def test_spec_and_result_are_stored_without_loss(made):
    study, spec, _, result, _ = made
    for kind, value in ((study.spec, spec), (study.result, result)):
        text = json.dumps(codec.to_plain(value), allow_nan=False)
        same_values(codec.from_plain(kind, json.loads(text)), value)


def test_no_number_of_it_is_nan_or_infinite(made):
    content = made[-1]
    text = codec.result_json(content)
    assert json.loads(text, parse_constant=pytest.fail) == content
    assert text.endswith("}\n")


def test_the_registry_names_each_study_by_its_own_name():
    assert {name: study_named(name).name for name in STUDIES} == {name: name for name in STUDIES}
    assert all(study_named(name) is study for name, study in STUDIES.items())
    for study in STUDIES.values():
        assert dataclasses.is_dataclass(study.spec)
        assert study.spec().settings == contract.Settings()
        assert study.title
        assert study.question.endswith("?")


def test_an_unknown_study_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"found 'nothing'.*allowed: panel_curve, recommend"):
        study_named("nothing")
