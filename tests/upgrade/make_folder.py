"""A database as a version left it; run by make_data.sh with that version's code."""

import dataclasses
import json
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from judgepanel import ENGINE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes

ASKED = ("panel_curve", "recommend", "judges", "claim", "reliability", "calibrator_design")
name, data = sys.argv[1], Path(sys.argv[2])
loaded = load_votes(data / "votes.csv", task="pairwise")
settings = Settings(splits=12, seed=3)
with tempfile.TemporaryDirectory() as home:
    file = Path(home) / "judgepanel.db"
    space = SqlWorkspace(f"sqlite:///{file}")
    analysis = space.create(loaded, settings, "votes.csv")
    for title in ASKED:
        study = PRESENTATIONS[title].study
        spec = study.spec(settings)
        space.submit(study, loaded.votes, spec)
        while space.result(study, analysis.votes_sha256, spec) is None:
            job = space.partial(study, analysis.votes_sha256, spec)
            if job is not None and job.status in ("failed", "cancelled"):
                raise SystemExit(f"{title}: {job.message}")
            time.sleep(0.05)
    about = {
        "id": analysis.id,
        "engine": ENGINE,
        "votes_sha256": analysis.votes_sha256,
        "results": sorted(ASKED),
        "name": space.rename(analysis.id, "Before the upgrade").name,
        "decision": dataclasses.asdict(
            space.decide(analysis.id, "Keep six", "ann", "As all agree")
        ),
    }
    space.close()
    (data / f"{name}.database.json").write_text(json.dumps(about, indent=1) + "\n")
    with sqlite3.connect(file) as database:
        (data / f"{name}.sql").write_text("\n".join(database.iterdump()) + "\n")
