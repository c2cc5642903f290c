"""Runs of `collect` against malicious endpoints: their files and outcomes."""

import json
from collections.abc import Iterable
from pathlib import Path

from judgepanel.votes import Loaded, load_votes

ITEMS = 4


def judge(url: str, attack: str, **settings: object) -> str:
    known = {
        "name": attack, "model": attack, "base_url": url, "key_variable": "JUDGE_KEY",
        "attempts": 1, "concurrency": 2, "per_minute": 1_000_000,
    }  # fmt: skip
    lines = (f"{name} = {json.dumps(value)}" for name, value in {**known, **settings}.items())
    return "\n".join(("[[judge]]", *lines, ""))


def prepared(folder: Path, *judges: str, items: int = ITEMS) -> list[str]:
    """The arguments of a run; every pair has the label 1 for odd numbers."""
    rows = [
        {"id": f"q{n}", "prompt": "p", "output_1": "x", "output_2": "y", "label": n % 2}
        for n in range(items)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "judges.toml").write_text("\n".join(judges))
    files = [str(folder / name) for name in ("pairs.jsonl", "judges.toml")]
    return ["collect", *files, "--out", str(folder / "out")]


def pairs_file(folder: Path, instructions: Iterable[str]) -> Path:
    """Pairs of which the first response is good for odd numbers, as their labels say."""
    path = folder / "pairs.jsonl"
    rows = [
        {
            "item_id": f"q{n}", "instruction": text, "output_1": "good" if n % 2 else "bad",
            "output_2": "bad" if n % 2 else "good", "label": n % 2,
            "feat_kind": "x" if n % 3 else "y",
        }
        for n, text in enumerate(instructions)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def votes_in(folder: Path) -> Loaded:
    out = folder / "out"
    return load_votes(out / "votes.csv", judge_table=out / "judges.csv", need_labels=False)


def n_votes(loaded: Loaded, name: str) -> int:
    return int((loaded.votes.votes[:, loaded.votes.judges.index(name)] >= 0).sum())


def entries(folder: Path) -> list[dict]:
    lines = (folder / "out" / "outputs.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]
