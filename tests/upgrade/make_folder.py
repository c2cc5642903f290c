"""A data folder as an earlier version left it; run by make_data.sh with that version's code."""

import dataclasses
import json
import sqlite3
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from judgepanel import ENGINE
from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes

try:
    from judgepanel.decision.registry import STUDIES
except ImportError:
    from judgepanel.present.registry import ENTRIES

    STUDIES = {name: entry.study for name, entry in ENTRIES.items()}

ASKED = ("panel_curve", "recommend", "judges", "claim", "reliability", "calibrator_design")
kind, name, data = sys.argv[1], sys.argv[2], Path(sys.argv[3])
loaded = load_votes(data / "votes.csv")
settings = Settings(splits=12, seed=3)
home = Path(tempfile.mkdtemp()) / "home"
if kind == "files":
    from judgepanel.service.files import FileWorkspace

    space = FileWorkspace(home)
else:
    from judgepanel.service.sql import SqlWorkspace

    home.mkdir()
    space = SqlWorkspace(f"sqlite:///{home}/judgepanel.db")

analysis = space.create(loaded, settings, "votes.csv")
results = []
for title, study in STUDIES.items():
    if title not in ASKED:
        continue
    spec = study.spec(settings)
    space.submit(study, loaded.votes, spec)
    while space.result(study, analysis.votes_sha256, spec) is None:
        job = space.partial(study, analysis.votes_sha256, spec)
        if job is not None and job.status in ("failed", "cancelled"):
            raise SystemExit(f"{title}: {job.message}")
        time.sleep(0.05)
    results.append(title)
about = {
    "id": analysis.id,
    "engine": ENGINE,
    "votes_sha256": analysis.votes_sha256,
    "results": sorted(results),
}
if kind == "sql":
    about["name"] = space.rename(analysis.id, "Before the upgrade").name
    made = space.decide(analysis.id, "Keep six", "ann", "As all agree")
    about["decision"] = dataclasses.asdict(made)
space.close()
(data / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n")
if kind == "sql":
    with sqlite3.connect(home / "judgepanel.db") as database:
        (data / f"{name}.sql").write_text("\n".join(database.iterdump()) + "\n")
else:
    with zipfile.ZipFile(data / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(home.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(home).as_posix())
