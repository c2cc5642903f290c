"""Panel files, and votes to score with them, that are refused."""

import json

import pytest

from judgepanel.votes import load_votes


def changed(**keys):
    return lambda content: json.dumps({**content, **keys})


def inside(part, **keys):
    return lambda content: json.dumps({**content, part: {**content[part], **keys}})


def with_a_third_judge(content):
    """One more judge, counted like the second, whom no member uses."""

    def longer(value):
        if isinstance(value, dict):
            return {key: longer(entry) for key, entry in value.items()}
        return [*value, value[-1]] if isinstance(value, list) else value

    judges, profile = [*content["judges"], "j3"], longer(content["profile"])
    profile["n_votes"][-1] = 0  # Nobody has more votes than there were judges.
    return json.dumps({**content, "judges": judges, "profile": profile, "absence": None})


def member(**parts):
    """The only member with other parts, or with some keys of the aggregator changed."""

    def change(content):
        (whole,) = content["members"]
        return json.dumps({**content, "members": [{**whole, **parts}]})

    return change


def counted(**keys):
    def change(content):
        (whole,) = content["members"]
        return member(aggregator={**whole["aggregator"], **keys})(content)

    return change


JOINT = {
    "kind": "joint", **{name: [1, 1] for name in ("correct", "voted")},
    **{name: [0.5, 0.5] for name in ("weights", "shares")}, "intercept": 0.0, "prototypes": ["1."],
    "pull": [0.1],
}  # fmt: skip
SCALE = {"threshold": 0.5, "edges": [0.2], "lowest": 0.0, "highest": 1.0, "far": 3, "effect": 1}
GRADED = {"kind": "one_coin_graded", "correct": [1, 1], "voted": [1, 1], "levels": [[0.5, 1], [1]]}
LOSS = {
    **{"n_absent": 1, "share": 0.5, "nll": 0.5, "delta": 0.1, "lo": 0.0, "hi": 0.2},
    **{"df": 9.0, "item_sd": 0.3, "main_nll": 0.5},
}
GROUP = {"kind": "family", "name": "vendor", "judges": [0, 1], "figures": LOSS}
FALLBACK = {"kind": "one_coin", "weights": [1, 1], "few": 1.0, "all": 2.0, "beyond": 0.4}
ABSENCE = {
    **{"nll": 0.4, "single": [LOSS, LOSS], "groups": [], "several": [LOSS]},
    **{"n_calibration": 12, "n_evaluation": 12, "n_splits": 2},
}


def scaled(**keys):
    """The first judge gives grades, on a scale with other keys."""
    return changed(grades=[{**SCALE, **keys}, None])


def calibrated(**keys):
    return member(calibrator=keys)


def fallen_back(**keys):
    return changed(fallback={**FALLBACK, **keys})


def lacking(**keys):
    """Other figures of absent judges."""
    return changed(absence={**ABSENCE, **keys})


BROKEN = {
    "not JSON": (lambda _: "{", "cannot be read as JSON"),
    "empty": (lambda _: "", "cannot be read as JSON"),
    "a list": (lambda _: "[]", "not a panel file"),
    "other JSON": (lambda _: '{"a": 1}', "not a panel file … written by judgepanel"),
    "version 7": (changed(version=7), "unknown version … '7' … version 6"),
    **{
        f"version {old}": (changed(version=old), "before the first release … export the panel")
        for old in (1, 5)
    },
    "grades of a judge too few": (changed(grades=[SCALE]), "grades has 1 entries for 2 judges"),
    "bands that fall": (scaled(edges=[0.3, 0.2]),
        "grades in the panel file are out of order … edges that rise"),
    "a range that is turned": (scaled(lowest=2.0), "out of order … not above the highest"),
    "more votes far from the threshold than votes": (scaled(far=10**9),
        "counts of the panel's grades exceed its votes"),
    "an endless threshold": (scaled(threshold=1e300),
        "grades[0].threshold of the panel is out of range"),
    "a scale of another kind": (scaled(unit="points"), "$.grades[0] … 'unit' was unexpected"),
    "levels without bands": (member(aggregator=GRADED),
        "another number of levels than of bands … '2' … 1, one for each band"),
    "levels of a judge too few": (member(aggregator=GRADED | {"levels": [[0.5]]}),
        "aggregator.levels has 1 entries for 2 judges"),
    "an endless level": (member(aggregator=GRADED | {"levels": [[1e300], [0.5]]}),
        "levels of the panel is out of range"),
    "no members": (changed(members=[]), "$.members"),
    "members without judges": (member(columns=[]), "$.members[0].columns"),
    "a member of strangers": (member(columns=[0, 2]), "members[0].columns … '2' … 0 to 1"),
    "a judge counted twice": (member(columns=[0, 0]), "$.members[0].columns … non-unique"),
    "a judge that nobody uses": (with_a_third_judge, "no member of the panel uses a judge … 'j3'"),
    "half an average": (member(weight=0.5), "do not add up to 1 … '0.5'"),
    "a weight below 0": (member(weight=-1), "$.members[0].weight"),
    "a short fallback": (fallen_back(weights=[1]), "fallback.weights has 1 entries for 2 judges"),
    "a fallback that weighs nothing": (fallen_back(weights=[0, 0]),
        "no judge of the panel's fallback weighs anything"),
    "a fallback without a temperature": (fallen_back(few=0), "$.fallback.few"),
    "a group that is the whole panel": (lacking(groups=[GROUP]),
        "not a part of the panel … 'vendor'"),
    "a short profile": (inside("profile", ones=[1]), "profile.ones has 1 entries … 2 are"),
    "a profile of more ones than votes": (inside("profile", ones=[24, 10**9]),
        "counts in the panel's profile exceed"),
    "a hash too few": (inside("training", votes=[]), "training.votes has 0 entries"),
    "a hash that is none": (inside("training", votes=["x"] * 24), "$.training.votes … 'x'"),
    "absent judges too few": (lacking(single=[LOSS]),
        "absence.single has 1 entries where 2 are needed"),
    "nobody left": (lacking(several=[{**LOSS, "n_absent": 2}]), "no judge is left"),
    "an endless loss": (lacking(nll=10**400), "$.absence.nll"),
    "half a slice": (changed(conformal={"share": 0.2}), "$.conformal"),
    "a slice without levels": (changed(conformal={"share": .2, "n": 3, "levels": [], "rows": None}),
        "$.conformal.levels"),
    "version true": (changed(version=True), "version"),
    "unknown key": (changed(magic=1), "'magic' was unexpected"),
    "missing key": (lambda content: json.dumps({k: v for k, v in content.items() if k != "prior"}),
        "'prior' is a required property"),
    "unknown aggregator": (member(aggregator={"kind": "oracle"}),
        "unknown kind of aggregator … 'oracle' … one_coin … joint"),
    "unknown calibrator": (calibrated(kind="auto"),
        "unknown kind of calibrator … 'auto' … none, temperature, platt, beta"),
    "no kind": (member(calibrator={}), "unknown kind of calibrator"),
    "unknown parameter": (calibrated(kind="temperature", slope=1, magic=2),
        ".calibrator … 'magic' was unexpected"),
    "negative temperature": (calibrated(kind="temperature", slope=-1),
        ".calibrator.slope … -1 is less than the minimum"),
    "increasing b": (calibrated(kind="beta", a=1, b=1, c=0), ".calibrator"),
    "knots that fall": (calibrated(kind="isotonic", logits=[0, 1], p=[0.7, 0.6], odd=False),
        "knots … p not falling"),
    "knots that jump": (calibrated(kind="isotonic", logits=[1, 1], p=[0.5, 0.6], odd=False),
        "knots … logits rising"),
    "a short prototype": (member(aggregator=JOINT | {"prototypes": ["1"]}),
        "a prototype of the panel has 1 votes for 2 judges"),
    "an odd prototype": (member(aggregator=JOINT | {"prototypes": ["1x"]}),
        ".aggregator.prototypes … '1x' does not match"),
    "a prototype too many": (member(aggregator=JOINT | {"pull": []}),
        "aggregator.pull has 0 entries for 1 prototypes"),
    "text for a number": (calibrated(kind="temperature", slope="1"), "'1' is not of type 'number'"),
    "NaN": (calibrated(kind="temperature", slope=float("nan")), "NaN is not a number"),
    "infinite": (lambda c: changed(prior=0.5)(c).replace('"prior": 0.5', '"prior": 1e999'),
        "1e999"),
    "huge": (calibrated(kind="temperature", slope=10**400), "calibrator.slope … out of range"),
    "weights too few": (counted(voted=[3]), "aggregator.voted has 1 entries"),
    "more right than votes": (counted(correct=[25, 0], voted=[24, 24]),
        "right more often than it voted … '25' … at most 24"),
    "judge twice": (changed(judges=["j1", "j1"]), "$.judges … non-unique"),
    "no judges": (changed(judges=[]), "$.judges"),
    "prior 0": (changed(prior=0), "$.prior"),
    "key twice": (lambda content: json.dumps(content)[:-1] + ', "prior": 0.1}',
        "'prior' is given twice"),
    "a fraction for an index": (member(columns=[0.0, 1.0]), "0.0 is not of type 'integer'"),
    "too many rows": (changed(warnings=["x"] * 100001), "too many entries … 100,000 in a list"),
    "too large": (changed(warnings=["x" * (64 << 20)]), "64 MB … far more than judgepanel"),
    "deep": (lambda _: "[" * 100000, "cannot be read as JSON"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_panel_is_refused(refused, content, panel, votes, tmp_path, case):
    change, parts = BROKEN[case]
    panel.write_text(change(content))
    line = refused("score", panel, votes, "--out", tmp_path / "s.csv")
    assert line.startswith("judgepanel: panel.json")
    for part in parts.split(" … "):
        assert part in line


def test_votes_of_strangers_are_refused(refused, panel, tmp_path):
    (tmp_path / "other.csv").write_text("item_id,u,v\na,1,0\nb,0,1\n")
    line = refused("score", panel, tmp_path / "other.csv", "--out", tmp_path / "s.csv")
    assert "none of the panel's judges is in this file" in line
    assert "'u, v'" in line
    assert "allowed: at least one of 'j" in line


def test_a_scored_file_with_a_bad_vote_is_refused_with_its_place(refused, panel, tmp_path):
    (tmp_path / "new.csv").write_text("item_id,j1,j2\na,1,0\nb,2,1\n")
    line = refused("score", panel, tmp_path / "new.csv", "--out", tmp_path / "s.csv")
    assert "new.csv, row 3, column 'j1': not a verdict, in a column of numbers from 1 to 2" in line


def test_the_panel_scores_what_is_right(cli, panel, votes, tmp_path):
    """The files above are refused for what was changed in them."""
    assert cli("score", panel, votes, "--out", tmp_path / "s.csv").status == 0
    assert load_votes(votes).votes.n_items == 24
