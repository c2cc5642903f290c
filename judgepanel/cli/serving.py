"""`app`: serve the dashboard, from a checkout or from the installed wheel."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from judgepanel.service.basics import DatabaseProblem, check_address
from judgepanel.votes import InputError
from judgepanel.votes.errors import APP_FOLDER, require

HOME = "JUDGEPANEL_HOME"


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command; Streamlit options are passed through."""
    parser.add_argument("--port", type=int, metavar="N", help="default: 8501")
    parser.add_argument("--address", metavar="HOST", help="default: localhost, this machine only")
    about = f"the data folder (default: ${HOME})"
    parser.add_argument("--home", type=Path, metavar="DIR", help=about)
    parser.set_defaults(command=run_app, handed_on=())


def run_app(options: argparse.Namespace) -> int:
    """Run the command: Streamlit replaces this process."""
    words = [sys.executable, "-m", "streamlit", "run", "app.py"]
    if options.port is not None:
        if options.port not in range(65536):
            raise InputError("--port is not a port", value=options.port, allowed="0 to 65535")
        words.append(f"--server.port={options.port}")
    if options.address is not None:
        words.append(f"--server.address={options.address}")
    if options.home is not None:
        os.environ[HOME] = str(options.home.absolute())
    words += options.handed_on
    # Refused here is what the server would refuse after Streamlit has printed an address. Who signs
    # in may also be set in Streamlit's secrets, which only Streamlit can find.
    if os.environ.get("JUDGEPANEL_ACCESS") == "team":
        require("authlib", "signing in")
    try:
        check_address()
    except DatabaseProblem as error:
        raise InputError(str(error).rstrip(".")) from None
    os.chdir(APP_FOLDER)  # Streamlit reads the configuration in its working directory.
    if os.name == "nt":  # A process that replaces itself appears to have ended to its shell there.
        return subprocess.run(words, check=False).returncode
    os.execv(sys.executable, words)  # noqa: S606
