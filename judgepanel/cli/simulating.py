"""`simulate`: writes a simulated panel."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import fields
from pathlib import Path

from judgepanel.cli.reading import check_out
from judgepanel.votes import InputError
from judgepanel.votes.simulate import SIMULATED, SimulationSpec, sample_votes, simulate, write_panel
from judgepanel.votes.table import check_size
from judgepanel.words.outputs import write_whole
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.text import printable

_OPTION_TYPES = {int: int, float: float}


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command: a sample, or all fields of a simulation."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--sample", choices=[sample.name for sample in SIMULATED])
    defaults = SimulationSpec()
    for option in fields(SimulationSpec):
        value = getattr(defaults, option.name)
        if type(value) in _OPTION_TYPES or isinstance(value, str):
            parser.add_argument(
                "--" + option.name.replace("_", "-"), type=type(value), default=None, metavar="X"
            )
    parser.set_defaults(command=run_simulate)


def run_simulate(options: argparse.Namespace) -> None:
    """Run the command: simulate, write complete files, and print."""
    check_out(options)
    spec_options = {
        option.name: getattr(options, option.name)
        for option in fields(SimulationSpec)
        if getattr(options, option.name, None) is not None
    }
    if options.sample is not None and spec_options:
        raise InputError(
            "a sample is fixed",
            value=", ".join(spec_options),
            allowed="--sample alone, or options alone",
        )
    spec = None if options.sample else SimulationSpec(**spec_options)
    if spec is not None:
        check_size(spec.n_items, spec.n_judges)
    votes = sample_votes(options.sample) if spec is None else simulate(spec)
    target = options.out.resolve()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".simulate-") as beside:
        write_panel(votes, Path(beside) / target.name)
        files = sorted(Path(beside).iterdir(), key=lambda path: path.name != target.name)
        for file in files:
            write_whole(target.parent / file.name, file.read_bytes())
    print(votes_sentence(votes))
    print(printable("Written: " + " and, beside it, ".join(file.name for file in files) + "."))
