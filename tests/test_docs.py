"""What README says of the command line is so: names exist, examples run."""

import argparse
import itertools
import re
import shlex
import shutil
from pathlib import Path

import pytest

from judgepanel.cli import _parser, main
from judgepanel.decision.registry import STUDIES
from judgepanel.decision.snippet import SNIPPET
from judgepanel.report.reference import reference
from judgepanel.studies.knobs import knobs_of

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", README, flags=re.M | re.S)
EXAMPLES = [
    shlex.split(line)[2:]
    for block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("./run cli ")
]


def below(parser):
    (found,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


def subcommands():
    return below(_parser())


def options_of(parser):
    return {option for action in parser._actions for option in action.option_strings}


def shared_options(command):
    """Options of a command; of ``study``, those that all studies take."""
    if command != "study":
        return options_of(subcommands()[command])
    return set.intersection(*map(options_of, below(subcommands()["study"]).values()))


STUDY_OPTIONS = set().union(*map(options_of, below(subcommands()["study"]).values()))
OPTIONS = STUDY_OPTIONS.union(*(options_of(parser) for parser in subcommands().values()))
KNOBS = {knob.option for study in STUDIES.values() for knob in knobs_of(study.spec)}


def table(start):
    """Rows of the table whose head begins so, cells apart."""
    lines = README[README.index(start) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def test_every_command_is_in_the_readme_and_no_other():
    named = {re.match(r"`(\w+)", row[0])[1] for row in table("| command | what |")}
    assert named == set(subcommands())


def test_every_option_the_readme_names_exists():
    foreign = {"--help", "--version"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - foreign
    assert named
    assert named <= OPTIONS


def test_every_option_of_a_command_is_in_the_readme():
    knobs = KNOBS | options_of(subcommands()["simulate"]) - {"--out", "--sample", "--seed"}
    missing = {o for o in OPTIONS - knobs - {"--help"} if o.startswith("--") and o not in README}
    assert not missing


def test_the_option_table_says_which_commands_take_an_option():
    for names, commands, _ in table("| option | for | what |"):
        listed = set(re.findall(r"`(\w+)", commands))
        wanted = set(subcommands()) - listed if commands.startswith("all but") else listed
        for option in re.findall(r"--[a-z-]+", names):
            for command in wanted & set(subcommands()):
                assert option in shared_options(command), (option, command)


def test_the_page_of_studies_is_what_the_studies_say():
    assert (ROOT / "docs" / "studies.md").read_text("utf-8") == reference()


def test_the_page_of_the_panel_file_shows_the_snippet_that_is_handed_out():
    assert f"```python\n{SNIPPET}```" in (ROOT / "docs" / "panel_file.md").read_text("utf-8")


def test_every_knob_of_a_study_says_what_it_is():
    for study in STUDIES.values():
        for knob in knobs_of(study.spec):
            assert knob.help, (study.name, knob.option)


def test_the_readme_has_examples():
    assert {words[0] for words in EXAMPLES} >= {"inspect", "curve", "recommend", "score"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The examples follow each other in one folder, beside the samples."""
    made = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "sample_data", made / "sample_data")
    return made


def test_the_examples_run_one_after_the_other(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for words in EXAMPLES:
        assert main(words) == 0, words
        assert capsys.readouterr().out
        for option, name in itertools.pairwise(words):
            assert option != "--out" or (folder / name).stat().st_size > 0
