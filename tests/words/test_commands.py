"""A printed command, run by a real shell and the real parser, gives the spec it came from."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.cli.options import command_parser
from judgepanel.cli.studying import spec_of
from judgepanel.decision.recommend import RecommendSpec
from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.prefixes import RANKINGS
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.panel.recommended import LISTS
from judgepanel.votes import TASKS
from judgepanel.votes.matrix import POLICIES, PROTOCOLS
from judgepanel.words import sentences

HOSTILE = (
    *("-votes.csv", "--out=x", "-", "a b.csv", "it's.csv", "$(touch x).csv", "`id`.csv", "a;b&c|d"),
    *("new\nline", "\x1b[201~\nrm", "tab\t", "\u202egnp.csv", "\\back", "!history", "~", "*", "-1"),
    *("=cmd()", "emoji 🦜", "עברית", "'", '"', "a=b", "x" * 300, "\x07\x9b0", "@file", "\x1b1f"),
)
TEXTS = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1, max_size=12
)
NAMES = st.one_of(st.sampled_from(HOSTILE), TEXTS)
FILES = NAMES.filter(lambda name: name not in (".", "..") and "/" not in name)
SETTINGS = st.builds(
    Settings,
    orientation=st.sampled_from(POLICIES),
    protocol=st.sampled_from(PROTOCOLS),
    judges=st.none() | st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple),
    splits=st.integers(2, 10_000),
    fraction=st.floats(0, 1, exclude_min=True, exclude_max=True),
    seed=st.integers(0, 2**70),
    group_duplicates=st.booleans(),
)
SYMMETRIC_AND_GROUPED = Settings(orientation="symmetric", group_duplicates=True)
SIZES = st.lists(st.integers(1, 10**6), max_size=4).map(tuple)
CURVES = st.builds(
    PanelCurveSpec,
    settings=SETTINGS,
    aggregator=st.sampled_from(AGGREGATORS),
    calibrators=st.lists(st.sampled_from(CALIBRATORS), min_size=1, unique=True).map(tuple),
    ranking=st.sampled_from(RANKINGS),
    ks=st.none() | SIZES,
    compare=SIZES,
)
COLUMNS = st.dictionaries(
    st.sampled_from(("--id-column", "--label-column", "--group-column")), NAMES
).map(lambda named: tuple(part for pair in named.items() for part in pair))


def words_of(command):
    """What bash hands to the program."""
    assert command.isprintable()
    start = "./run cli "
    assert command.startswith(start)
    script = f"set +H; printf '%s\\0' {command.removeprefix(start)}"
    ran = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C"}
    )
    assert ran.stderr == b""
    return [word.decode() for word in ran.stdout.split(b"\0")[:-1]]


def parsed(command):
    return command_parser().parse_args(words_of(command))


def columns_of(options):
    named = {
        "--id-column": next(iter(options.id_column), None),
        "--label-column": options.label_column,
        "--group-column": options.group_column,
    }
    return {option: name for option, name in named.items() if name is not None}


def pairs(columns):
    return dict(zip(columns[::2], columns[1::2], strict=True))


@settings(max_examples=80)
@given(FILES, CURVES, st.sampled_from(TASKS), COLUMNS)
def test_a_curve_command_reads_back_to_its_spec(file, spec, task, columns):
    options = parsed(sentences.study_command("panel_curve", file, spec, task=task, columns=columns))
    assert options.study is PANEL_CURVE
    assert str(options.votes) == file
    assert options.task == task
    assert columns_of(options) == pairs(columns)
    assert spec_of(options) == spec


@settings(max_examples=40)
@given(FILES, SETTINGS, st.sampled_from(sorted(LISTS)), st.sampled_from(TASKS), COLUMNS)
def test_a_recommend_command_reads_back_to_its_spec(file, shared, candidates, task, columns):
    honest = Settings(
        shared.orientation, "honest", shared.judges, shared.splits, shared.fraction, shared.seed
    )
    spec = RecommendSpec(honest, candidates)
    options = parsed(sentences.recommend_command(file, spec, task=task, columns=columns))
    assert (str(options.votes), str(options.out)) == (file, "panel.json")
    assert columns_of(options) == pairs(columns)
    assert spec_of(options) == spec


@pytest.mark.parametrize("file", HOSTILE)
def test_score_and_inspect_commands_name_the_file(file):
    options = parsed(sentences.score_command(file))
    assert (str(options.panel), str(options.votes)) == ("panel.json", file)
    columns = ("--id-column", file)
    options = parsed(
        sentences.inspect_command(file, SYMMETRIC_AND_GROUPED, task="pairwise", columns=columns)
    )
    read = (str(options.votes), options.id_column, options.orientation)
    assert read == (file, [file], "symmetric")
    assert options.group_duplicates


@pytest.mark.parametrize("word", HOSTILE)
def test_a_quoted_word_is_harmless_on_one_line(word):
    assert sentences.quoted(word).isprintable()


def test_a_plain_command_stays_plain():
    spec = PanelCurveSpec(ks=(), compare=(2, 3))
    command = sentences.study_command("panel_curve", "votes.csv", spec, task="pairwise", columns=())
    assert command == (
        "./run cli study panel_curve votes.csv --task=pairwise --orientation=auto --splits=auto "
        "--seed=0 --k=every --top=2,3 --out=panel_curve.json"
    )


def test_a_subset_of_judges_is_named_in_the_command():
    spec = RecommendSpec(Settings(judges=("b", "a"), fraction=0.3))
    command = sentences.recommend_command("v.csv", spec, task="pointwise", columns=())
    assert "--judge=b --judge=a" in command
    assert "--fraction=0.3" in command
