"""What README says of the command line is so: names exist, examples run."""

import argparse
import itertools
import re
import shlex
import shutil
from pathlib import Path

import pytest

from judgepanel.cli import _parser, main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", README, flags=re.M | re.S)
EXAMPLES = [
    shlex.split(line)[2:]
    for block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("./run cli ")
]


def subcommands():
    (found,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


def options_of(parser):
    return {option for action in parser._actions for option in action.option_strings}


OPTIONS = set().union(*(options_of(parser) for parser in subcommands().values()))


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
    knobs = options_of(subcommands()["simulate"]) - {"--out", "--sample", "--seed"}
    missing = {o for o in OPTIONS - knobs - {"--help"} if o.startswith("--") and o not in README}
    assert not missing


def test_the_option_table_says_which_commands_take_an_option():
    for names, commands, _ in table("| option | for | what |"):
        listed = set(re.findall(r"`(\w+)", commands))
        wanted = set(subcommands()) - listed if commands.startswith("all but") else listed
        for option in re.findall(r"--[a-z-]+", names):
            for command in wanted & set(subcommands()):
                assert option in options_of(subcommands()[command]), (option, command)


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


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_the_python_of_a_page_runs(page, folder, monkeypatch):
    """Blocks of one page share their names; an assertion of the page that fails, fails here."""
    monkeypatch.chdir(folder)
    text = (ROOT / "docs" / page).read_text("utf-8")
    names = {"__name__": "page"}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own pages
