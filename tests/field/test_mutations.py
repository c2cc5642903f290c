"""Two hundred tables with roles, words, orders, runs, failures, leaks and nesting drawn by chance.

Each is read as its generator knows, or refused; none is read silently wrong.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from judgepanel.votes import InputError, load_votes
from judgepanel.votes.matrix import orient
from tests.field.layouts import table
from tests.field.world import MISSING, World

N, BLOCKS, A_BLOCK = 60, 10, 20
FEWEST_READ = 12
"""Of the tables of a block; a reader that refuses all would be of no use."""
ID_NAMES = ("item_id", "id", "question_id", "Prompt ID", "sample_id", "pair", "qid")
LABEL_NAMES = ("label", "gold", "truth", "gold_label", "human_label", "ground_truth", "Gold (A/B)")
JUDGE_NAMES = ("judge", "rater", "annotator", "model", "worker")
VERDICT_NAMES = ("verdict", "vote", "choice", "decision", "preference")
WORDS = (("0", "1"), ("B", "A"), ("fail", "pass"), ("no", "yes"), ("model_b", "model_a"))
NAMES = ("gpt-x", "claude-y", "llama 70b", "Ann", "mistral", "rm_1")

Row = dict[str, Any]


@dataclass
class Draft:
    """A table on the way: its records, what is right, and which columns are no judges."""

    world: World
    judges: tuple[str, ...]
    words: tuple[str, str]
    id_name: str
    label_name: str
    truth: np.ndarray
    rows: list[Row]
    long: bool
    leaks: tuple[str, ...] = ()
    nested: bool = False
    notes: list[str] = field(default_factory=list)

    def say(self, vote):
        return "" if vote < 0 else self.words[vote]


def drafted(seed):
    accuracy = np.random.default_rng(seed).uniform(0.62, 0.92, 3 + seed % 3).tolist()
    world = World.of(seed, N, accuracy)
    judges, words = tuple(NAMES[: len(accuracy)]), WORDS[seed % len(WORDS)]
    id_name, label_name, truth = world.pick(*ID_NAMES), world.pick(*LABEL_NAMES), world.votes.copy()
    truth[world.rng.random(truth.shape) < 0.05] = MISSING
    draft = Draft(world, judges, words, id_name, label_name, truth, [], long=seed % 2 == 1)
    for i, label, _ in world:
        item = {draft.id_name: f"q{i:03}", draft.label_name: draft.say(label)}
        votes = zip(draft.judges, draft.truth[i].tolist(), strict=True)
        if draft.long:
            names = (JUDGE_NAMES[seed % 5], VERDICT_NAMES[seed % 4])
            draft.rows += [
                item | dict(zip(names, (j, draft.say(v)), strict=True)) for j, v in votes
            ]
        else:
            draft.rows.append(item | {judge: draft.say(vote) for judge, vote in votes})
    return draft


def plain(draft):
    """Nothing more."""


def texts_and_times(draft):
    for k, row in enumerate(draft.rows):
        row["comment"] = draft.world.text()
        row["created_at"] = f"2026-02-{1 + k % 28:02}T10:00:00Z"
        row["status"] = "ok"


def measurements(draft):
    for row in draft.rows:
        row["duration_seconds"] = round(float(draft.world.rng.random()) * 90, 2)
        row["n_tokens"] = int(draft.world.rng.integers(10, 900))


def places(draft):
    """Verdicts by place: the order shown says which response stood first."""
    if not draft.long or draft.words[1] not in ("A", "model_a"):
        return
    verdict = next(name for name in VERDICT_NAMES if name in draft.rows[0])
    name = draft.world.pick("order", "swapped", "is_flipped", "position")
    words = {"order": ("AB", "BA"), "swapped": ("false", "true"), "is_flipped": (0, 1),
             "position": ("A first", "B first")}[name]  # fmt: skip
    for row in draft.rows:
        turned = draft.world.some(0.5)
        row[name] = words[turned]
        if turned and row[verdict]:
            row[verdict] = draft.words[1 - draft.words.index(row[verdict])]


def runs(draft):
    if not draft.long:
        return
    verdict = next(name for name in VERDICT_NAMES if name in draft.rows[0])
    name = draft.world.pick("run", "seed", "trial", "attempt")
    more = []
    for row in draft.rows:
        said = row[verdict]
        other = draft.words[1 - draft.words.index(said)] if said else ""
        votes = [said, said, other if draft.world.some(0.3) else said]
        more += [row | {name: k, verdict: vote} for k, vote in enumerate(votes, 1)]
    draft.rows = more


def failures(draft):
    """An error beside a verdict: the verdict does not count."""
    if not draft.long:
        for row in draft.rows:
            for j, judge in enumerate(draft.judges):
                if draft.world.some(0.1):
                    row[judge] = draft.world.pick("NA", "null", "-1", "")
                    draft.truth[int(row[draft.id_name][1:]), j] = MISSING
        return
    judge = next(name for name in JUDGE_NAMES if name in draft.rows[0])
    verdict = next(name for name in VERDICT_NAMES if name in draft.rows[0])
    for row in draft.rows:
        row["error"] = ""
        if draft.world.some(0.15):
            row["error"] = "Timeout: the model did not answer"
            row[verdict] = draft.words[0]
            draft.truth[int(row[draft.id_name][1:]), draft.judges.index(row[judge])] = MISSING


def leak(name, cell):
    """A further column of a wide table that knows the label, or is computed from judges."""

    def add(draft):
        if draft.long:
            return
        draft.leaks = (name,)
        for i, row in enumerate(draft.rows):
            row[name] = cell(draft, i, int(draft.world.labels[i]))

    return add


def _majority(draft, i, _):
    votes = draft.truth[i][draft.truth[i] >= 0]
    return draft.say(int(2 * votes.sum() > len(votes))) if len(votes) else ""


MUTATIONS: dict[str, Callable[[Draft], None]] = {
    "plain": plain,
    "texts": texts_and_times,
    "measurements": measurements,
    "places": places,
    "runs": runs,
    "failures": failures,
    "copy": leak("final", lambda draft, _, label: draft.say(label)),
    "complement": leak("other", lambda draft, _, label: draft.say(1 - label)),
    "one-hot": leak("winner_a", lambda _d, _i, label: label),
    "one-hot of the other": leak("winner_b", lambda _d, _i, label: 1 - label),
    "score of the label": leak("gold_score", lambda _d, _i, label: label),
    "majority": leak("consensus_vote", _majority),
    "negation": leak("not Ann", lambda draft, i, _: draft.say(
        1 - int(draft.truth[i, 0]) if draft.truth[i, 0] >= 0 else MISSING)),
    "constant": leak("baseline", lambda draft, _i, _l: draft.say(1)),
}  # fmt: skip


def written(draft, seed):
    """Return the table as a file: its columns in any order; or records, nested up to two deep."""
    names = list(dict.fromkeys(name for row in draft.rows for name in row))
    names = [names[k] for k in draft.world.rng.permutation(len(names))]
    form = seed % 7
    if form in (3, 4):
        records = [{name: row.get(name, "") for name in names} for row in draft.rows]
        content: Any = records if form == 3 else {"meta": {"n": N}, "data": {"results": records}}
        return "t.json", json.dumps(content).encode()
    if form == 5 and not draft.long:
        kept = (draft.id_name, draft.label_name)
        records = [
            {name: row[name] for name in names if name in kept}
            | {"votes": {name: row[name] for name in names if name not in kept}}
            for row in draft.rows
        ]
        return "t.jsonl", "\n".join(map(json.dumps, records)).encode()
    rows = [[row.get(name, "") for name in names] for row in draft.rows]
    if form != 6:
        rows = [rows[k] for k in draft.world.rng.permutation(len(rows))]
    return "t.csv", table([names, *rows])


def wrong(draft, loaded):
    """Return what is wrong with votes that were read; empty if they are right."""
    votes = loaded.votes
    judges = [name.removeprefix("votes.").removesuffix(".verdict") for name in votes.judges]
    # A constant judge may stay where nothing is swapped: it is named, and says nothing.
    strangers = set(judges) - set(draft.judges) - {"baseline"}
    if strangers:
        return f"judges {sorted(strangers)}"
    if lost := set(draft.judges) - set(judges):
        return f"without {sorted(lost)}"
    if set(votes.item_ids) != {f"q{i:03}" for i in range(N)}:
        return f"items {votes.item_ids[:3]}"
    rows = [votes.item_ids.index(f"q{i:03}") for i in range(N)]
    if votes.labels[rows].tolist() != draft.world.labels.tolist():
        return "labels"
    cells = votes.votes[rows][:, [judges.index(name) for name in draft.judges]]
    if not np.array_equal(cells, draft.truth):
        return f"{int((cells != draft.truth).sum())} votes"
    return ""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_table_is_read_silently_wrong(block):
    problems, read = [], 0
    for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK):
        draft = drafted(seed)
        kinds = list(MUTATIONS)
        chosen = {kinds[seed % len(kinds)], draft.world.pick(*kinds[:6])}
        for kind in sorted(chosen):
            MUTATIONS[kind](draft)
        name, data = written(draft, seed)
        try:
            loaded = load_votes(data, name=name)
        except InputError:
            continue
        read += 1
        problem = wrong(draft, loaded)
        used = orient(loaded.votes).votes.judges
        if problem or set(draft.leaks) & set(used):
            problems.append(f"{seed} {sorted(chosen)} {name}: {problem or used}")
    assert not problems, "\n".join(problems)
    assert read >= FEWEST_READ


def _forms(draft):
    """The same wide table in other layouts: their contents, and what the user says."""
    key, label = draft.id_name, draft.label_name
    names = (label, *draft.judges)
    columns = {name: {row[key]: row[name] for row in draft.rows} for name in names}
    records = [{name: row[name] for name in (key, label)} for row in draft.rows]

    def with_votes(make, name="votes"):
        return [record | {name: make(row)} for record, row in zip(records, draft.rows, strict=True)]

    labels = table([["item", "label"], *([r[key], r[label]] for r in draft.rows)])
    apart = {"labels": labels, "transpose": True}
    turned = [["judge", *columns[label]], *([name, *columns[name].values()] for name in names)]
    lists = [
        record | {"judges": [*draft.judges], "verdicts": [row[name] for name in draft.judges]}
        for record, row in zip(records, draft.rows, strict=True)
    ]
    return {
        "items by judge": ("t.json", columns, {}),
        "items by judge, two deep": ("t.json", {"results": {"by_judge": columns}}, {}),
        "judges by item": (
            "t.json", {row[key]: {n: row[n] for n in names} for row in draft.rows}, {}),
        "lists of columns": (
            "t.json", {n: [row[n] for row in draft.rows] for n in (key, *names)}, {}),
        "a list of votes": ("t.json", with_votes(lambda row: [
            {"judge": name, "verdict": row[name]} for name in draft.judges]), {}),
        "votes by judge": ("t.json", with_votes(lambda row: {
            name: {"verdict": row[name], "reason": "why"} for name in draft.judges}), {}),
        "parallel lists": ("t.json", lists, {}),
        "judges as rows": ("t.csv", turned, {"transpose": True}),
        "judges as rows, labels apart": ("t.csv", [turned[0], *turned[2:]], apart),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_the_same_votes_are_read_from_every_layout(seed):
    draft = drafted(seed)
    for layout, (name, content, given) in _forms(draft).items():
        data = json.dumps(content).encode() if name.endswith("json") else table(content)
        assert (layout, wrong(draft, load_votes(data, name=name, **given))) == (layout, "")
