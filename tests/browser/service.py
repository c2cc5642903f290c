"""Analyses created directly in a server's data folder, so that a test starts where it matters."""

from contextlib import closing
from pathlib import Path

from judgepanel.service.basics import LOCAL
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes


def prepared(home: Path, name: str, splits: int = 4, owner: str = LOCAL) -> str:
    """The id of a new analysis of a sample with few splits."""
    return prepared_votes(home, sample_bytes(name), f"{name}_votes.csv", splits, owner)


def prepared_votes(
    home: Path, data: bytes, file: str, splits: int = 4, owner: str = LOCAL, **settings: str
) -> str:
    """The id of a new analysis of these votes."""
    with closing(SqlWorkspace(home=home)) as space:
        chosen = Settings(splits=splits, **settings)
        return space.owned_by(owner).create(load_votes(data, name=file), chosen, file).id
