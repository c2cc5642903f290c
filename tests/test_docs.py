"""README and documentation are right about the command line: names exist, examples run."""

import argparse
import contextlib
import io
import itertools
import re
import shlex
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.cli.options import command_parser
from judgepanel.decision.panel_file import SNIPPET
from judgepanel.present.registry import STUDIES, reference
from judgepanel.studies.options import spec_options_of
from judgepanel.votes import limits

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (ROOT / "docs" / "command_line.md").read_text("utf-8")
"""The page of all commands and options."""
SAID = "\n".join(
    [*((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/numbers.md")), COMMANDS]
)
"""The pages with examples of commands."""
BLOCKS = re.findall(r"^```bash\n(.*?)^```", SAID, flags=re.M | re.S)
SHOWN = re.compile(r"^```bash\n([^`]+)```\n\n```text\n([^`]+)```$", re.MULTILINE)
EXAMPLES = [
    list(words)
    for words in dict.fromkeys(
        tuple(shlex.split(line)[2:])
        for block in BLOCKS
        for line in block.replace("\\\n", " ").splitlines()
        if line.startswith("./run cli ")
    )
]


def below(parser):
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return action.choices


@cache
def subcommands():
    return below(command_parser(complete=True))


def options_of(parser):
    return {option for action in parser._actions for option in action.option_strings}


STUDY_OPTIONS = set().union(*map(options_of, below(subcommands()["study"]).values()))
OPTIONS = STUDY_OPTIONS.union(*(options_of(parser) for parser in subcommands().values()))
KNOBS = {option.flag for study in STUDIES.values() for option in spec_options_of(study.spec)}


def table(start):
    """Rows of the table whose head begins so, cells apart."""
    lines = COMMANDS[COMMANDS.index(start) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def test_every_command_is_in_the_table_and_no_other():
    named = {re.match(r"`(\w+)", row[0])[1] for row in table("| command | what |")}
    assert named == set(subcommands())


def test_every_option_that_is_named_exists():
    foreign = {"--help", "--version", "--server"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", SAID)) - foreign
    assert named
    assert named <= OPTIONS


def test_every_option_of_a_command_is_described():
    options = KNOBS | options_of(subcommands()["simulate"]) - {"--out", "--sample", "--seed"}
    wanted = {option for option in OPTIONS - options - {"--help"} if option.startswith("--")}
    assert not {option for option in wanted if option not in COMMANDS}


def test_the_option_table_says_which_commands_take_an_option():
    for names, commands, _ in table("| option | for | what |"):
        listed = set(re.findall(r"`(\w+)", commands))
        wanted = set(subcommands()) - listed if commands.startswith("all but") else listed
        for option in re.findall(r"--[a-z-]+", names):
            for command in wanted & set(subcommands()):
                # Of ``study``, those that all studies take.
                takers = below(subcommands()["study"]).values() if command == "study" else ()
                taken = set.intersection(*map(options_of, takers or [subcommands()[command]]))
                assert option in taken, (option, command)


def test_the_page_of_studies_is_what_the_studies_say():
    page = (ROOT / "docs" / "studies.md").read_text("utf-8")
    assert page == reference(), "docs/studies.md is out of date: write it with ./run reference"


def test_the_page_of_the_panel_file_shows_the_snippet_that_is_handed_out():
    assert f"```python\n{SNIPPET}```" in (ROOT / "docs" / "panel_file.md").read_text("utf-8")


def test_every_knob_of_a_study_says_what_it_is():
    for study in STUDIES.values():
        for option in spec_options_of(study.spec):
            assert option.help, (study.name, option.flag)


def test_there_are_examples():
    assert {words[0] for words in EXAMPLES} >= {"inspect", "curve", "recommend", "score"}


@dataclass(frozen=True)
class Ran:
    """An example that has run: its words, exit code, what it printed and the files it named."""

    words: list[str]
    code: int
    printed: str
    folder: Path
    written: str | None


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """All examples, one after the other in one folder beside the samples, each run once."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    scored, runs = folder / "scored.csv", []
    for words in EXAMPLES:
        out = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out):
            code = main(words)
        written = scored.read_text("utf-8") if scored.exists() else None
        runs.append(Ran(words, code, out.getvalue(), folder, written))
    return runs


def test_the_examples_run_one_after_the_other(ran):
    assert len(ran) == len(EXAMPLES)
    for command in ran:
        assert command.code == 0, command.words
        assert command.printed
        for option, name in itertools.pairwise(command.words):
            assert option != "--out" or (command.folder / name).stat().st_size > 0


def test_what_is_shown_of_the_command_line_is_what_it_prints(ran):
    """Every line shown begins a line that is printed or written; `...` stands for anything."""
    examples = SHOWN.findall(SAID)
    assert len(examples) >= 4
    missing = []
    for commands, displayed in examples:
        text = ""
        for command in commands.splitlines():
            words = shlex.split(command)
            assert words[:2] == ["./run", "cli"]
            entry = next(command for command in ran if command.words == words[2:])
            text += entry.printed + (entry.written or "")
        real = [" ".join(line.split()) for line in text.splitlines()]
        for line in filter(None, (" ".join(line.split()) for line in displayed.splitlines())):
            pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
            missing += [] if any(pattern.match(line) for line in real) else [line]
    assert missing == []


def test_the_limits_of_files_are_those_of_the_reader():
    wanted = (
        f"{limits.MAX_UPLOAD_MB} MB a file (as it is sent), "
        f"{limits.MAX_UNPACKED // 10**6} MB unpacked, "
        f"{limits.MAX_CELLS // 10**6} million cells, {limits.MAX_COLUMNS:,} columns"
    )
    assert wanted in (ROOT / "docs" / "files.md").read_text("utf-8")
