"""What the command line refuses: status 2, one line on stderr, nothing written."""

import json
from dataclasses import replace

import pytest

from judgepanel.decision.panel_file import export_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import load_votes
from tests.helpers import single_panel

GOOD = "item_id,label,j1,j2\n" + "".join(
    f"i{n},{n % 2},{n % 2},{(n // 2) % 2}\n" for n in range(24)
)
FEW = ("--splits", "3", "--jobs", "1")

FILES = {
    "empty": ("", ["v.csv: the file is empty"]),
    "header only": ("item_id,label,j1\n", ["v.csv", "header but no rows"]),
    "ragged": (GOOD + "x,1,1\n", ["v.csv, row 26", "3 cells"]),
    "NUL": (GOOD + "x,1,\0,1\n", ["row 26", "NUL"]),
    "open quote": (GOOD + '"x,1,1,1\n', ["row 26", "never closed"]),
    "no label": ("item_id,j1\na,1\nb,0\n", ["no label column"]),
    "label 2": (GOOD + "x,2,1,1\n", ["row 26, column 'label'", "'2'", "allowed: 0, 1"]),
    "vote 0.3": (GOOD + "x,1,0.3,1\n", ["row 26, column 'j1'", "'0.3'", "allowed: 0, 1"]),
    "verdict maybe": (GOOD + "x,1,1,maybe\n", ["row 26, column 'j2'", "'maybe'"]),
    "item twice": (GOOD + "i0,1,1,1\n", ["row 26, column 'item_id'", "'i0'"]),
    "judge twice": (GOOD.replace("j2", "j1"), ["row 1, column 'j1'", "twice"]),
    "no judges": ("item_id,label\na,1\nb,0\n", ["no judge columns"]),
    "no labels": ("item_id,label,j1\na,,1\nb,,0\n", ["column 'label'", "missing"]),
    "one of a class": (GOOD.replace(",1,", ",0,") + "x,1,1,1\n", ["only one item has the label"]),
    "infinity": ("item_id,label,feat_x,j\na,1,inf,1\nb,0,1,0\n", ["column 'feat_x'", "'inf'"]),
    "binary": (bytes(range(256)), ["v.csv", "binary"]),
}


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def refused(cli, tmp_path):
    """Runs a command that must be refused and returns its one line."""

    def run(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        ran = cli(*arguments)
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert ran.status == 2
        assert after == before
        assert "Traceback" not in ran.err
        assert ran.error.startswith("judgepanel")
        assert ran.out == ""
        return ran.error

    return run


@pytest.mark.parametrize("command", ["inspect", "curve", "recommend"])
@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_refused_with_its_place(refused, tmp_path, command, case):
    content, parts = FILES[case]
    path = tmp_path / "v.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = () if command == "inspect" else ("--out", tmp_path / "out.json", *FEW)
    line = refused(command, path, *out)
    for part in parts:
        assert part in line


OPTIONS = {
    "unknown study": (
        "study nothing V",
        ["study", "'nothing'", "panel_curve", "recommend"],
    ),
    "unknown calibrator": (
        "curve V --calibrators none,magic",
        ["unknown calibrator", "'magic'", "none, temperature"],
    ),
    "no calibrator": ("curve V --calibrators=", ["needs one calibrator or more"]),
    "unknown aggregator": (
        "curve V --aggregator magic",
        ["unknown aggregator", "'magic'", "one_coin"],
    ),
    "unknown ranking": ("curve V --ranking cost", ["unknown ranking", "'cost'", "accuracy"]),
    "unknown task": ("curve V --task triple", ["--task", "'triple'", "pointwise"]),
    "one split": ("curve V --splits 1", ["splits", "'1'", "2..10000"]),
    "too many splits": ("curve V --splits 10001", ["'10001'", "2..10000"]),
    "half a split": ("curve V --splits 1.5", ["--splits", "'1.5'"]),
    "negative seed": ("curve V --seed -1", ["seed", "'-1'"]),
    "all calibrate": ("curve V --fraction 1", ["share", "'1.0'", "between 0 and 1"]),
    "none calibrate": ("curve V --fraction 0", ["share", "'0.0'"]),
    "fraction nan": ("curve V --fraction nan", ["share", "'nan'"]),
    "no workers": ("curve V --jobs 0", ["--jobs", "'0'", "1 or more"]),
    "panel of nobody": ("curve V --k 0", ["at least one judge", "'0'", "1 or more"]),
    "no panel size": ("curve V --k=", ["--k"]),
    "odd panel sizes": ("curve V --k 1,,2", ["--k", "'1,,2'", "3,5,10"]),
    "top x": ("curve V --top x", ["--top", "'x'", "3,5,10"]),
    "top 0": ("curve V --top 0", ["at least one judge", "'0'"]),
    "missing file": ("curve nowhere.csv", ["nowhere.csv", "no such file"]),
    "a folder": ("curve D", ["folder, not a file"]),
    "no such column": ("curve V --label-column best", ["column 'best'", "item_id, label, j1"]),
    "no such judge": ("curve V --judge j9", ["'j9'", "no such judge"]),
    "a judge twice": ("curve V --judge j1 --judge j1", ["'j1'", "twice"]),
    "no judges file": ("curve V --judges nowhere.txt", ["nowhere.txt", "No such file"]),
    "out folder missing": ("curve V --out D/deep/c.json", ["folder to write to does not exist"]),
    "out is a folder": ("curve V --out D", ["is a folder"]),
    "out of another kind": ("curve V --out D/c.parquet", ["c.parquet", ".csv or .json"]),
    "panel of another kind": ("recommend V --out D/p.csv", ["p.csv", ".json"]),
    "scores of another kind": ("score P V --out D/s.json", ["s.json", ".csv"]),
    "paper recommends": ("recommend V --protocol paper", ["'paper'", "allowed: honest"]),
    "the study recommend in paper": ("study recommend V --protocol paper", ["'paper'"]),
    "the study recommend with k": ("study recommend V --k 3", ["recommend takes no --k", "'3'"]),
    "pointwise symmetric": (
        "curve V --task pointwise --orientation symmetric",
        ["symmetric", "pointwise", "auto, as_given"],
    ),
    "pointwise randomized": (
        "recommend V --task pointwise --orientation randomized",
        ["randomized", "pointwise"],
    ),
    "unknown option": ("curve V --magic", ["--magic"]),
    "unknown command": ("dance", ["'dance'", "inspect"]),
    "no command": ("", ["COMMAND"]),
    "score without out": ("score P V", ["--out"]),
    "missing panel": ("score nowhere.json V --out D/s.csv", ["nowhere.json", "No such file"]),
    "unknown sample": ("simulate --sample nice --out D/x.csv", ["'nice'", "clean_pairwise"]),
    "sample with options": ("simulate --sample one_class --seed 2 --out D/x.csv", ["'seed'"]),
    "simulation of no kind": ("simulate --out D/x.xlsx", ["x.xlsx", ".csv, .csv.gz"]),
    "simulated rate 2": ("simulate --base-rate 2 --out D/x.csv", ["base_rate", "'2.0'", "0 to 1"]),
    "simulated nothing": ("simulate --n-items 0 --out D/x.csv", ["n_items", "'0'"]),
    "simulated too much": ("simulate --n-items 99999999999 --out D/x.csv", ["too many cells"]),
    "simulated nowhere": ("simulate --out D/deep/x.csv", ["folder to write to does not exist"]),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option_is_refused_with_what_is_allowed(refused, votes, tmp_path, case):
    command, parts = OPTIONS[case]
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "panel.json").write_text("{}")
    stands_for = {"V": votes, "D": folder, "P": tmp_path / "panel.json"}
    arguments = []
    for word in command.split():
        head, slash, tail = word.partition("/")
        arguments.append(f"{stands_for[head]}{slash}{tail}" if head in stands_for else word)
    line = refused(*arguments)
    for part in parts:
        assert part in line


def test_one_class_labels_taken_as_given_are_refused(refused, samples):
    line = refused("curve", samples / "one_class_votes.csv", "--orientation", "as_given", *FEW)
    assert "every label is the same" in line
    assert "allowed: orientation auto, symmetric or randomized" in line


def test_one_class_labels_of_a_pointwise_task_are_refused(refused, samples):
    line = refused("inspect", samples / "one_class_votes.csv", "--task", "pointwise")
    assert "one_class_votes.csv, column 'label': every label is 1" in line


def test_a_judges_file_without_names_is_refused(refused, votes, tmp_path):
    (tmp_path / "judges.txt").write_text("\n \n")
    line = refused("curve", votes, "--judges", tmp_path / "judges.txt")
    assert "judges.txt: names no judge" in line


def test_a_judges_file_that_is_no_text_is_refused(refused, votes, tmp_path):
    (tmp_path / "judges.txt").write_bytes(b"\xff\xfe\x00")
    assert "judges.txt: is not UTF-8" in refused(
        "curve", votes, "--judges", tmp_path / "judges.txt"
    )


def test_what_is_read_is_never_written_over(refused, panel, votes, tmp_path):
    for arguments in (
        ("curve", votes, *FEW, "--out", votes),
        ("score", panel, votes, "--out", votes),
        ("score", panel, votes, "--out", tmp_path / "." / "v.csv"),
    ):
        assert "would write over what is read" in refused(*arguments)


def test_a_symbolic_link_does_not_hide_what_is_read(refused, votes, tmp_path):
    (tmp_path / "link.csv").symlink_to(votes)
    line = refused("curve", votes, *FEW, "--out", tmp_path / "link.csv")
    assert "would write over what is read" in line


def test_a_file_that_cannot_be_written_leaves_nothing_behind(cli, votes, tmp_path, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device", "c.json")

    monkeypatch.setattr("judgepanel.words.output.os.replace", full)
    before = sorted(tmp_path.iterdir())
    ran = cli("curve", votes, *FEW, "--out", tmp_path / "c.json")
    assert ran.status == 2
    assert "No space left on device" in ran.error
    assert sorted(tmp_path.iterdir()) == before


def test_votes_too_large_for_memory_are_one_line(cli, votes, monkeypatch):
    def no_room(*_arguments, **_options):
        raise MemoryError

    monkeypatch.setattr("judgepanel.cli.reading.load_votes", no_room)
    ran = cli("inspect", votes)
    assert (ran.status, ran.error) == (2, "judgepanel: there is not enough memory for this.")


@pytest.fixture(scope="module")
def content():
    """A panel of two judges."""
    votes = load_votes(GOOD.encode(), name="v.csv").votes
    spec = RecommendSpec(settings=Settings(splits=2))
    result = run(RECOMMEND, votes, spec, jobs=1)
    ballots = prepare(votes, spec.settings).ballots
    model = single_panel(ballots, ("j1", "j2"), 2, aggregator="one_coin", calibrator="temperature")
    return export_panel(replace(result, model=model), votes, spec, ())


@pytest.fixture
def panel(content, tmp_path):
    path = tmp_path / "panel.json"
    path.write_text(panel_json(content), encoding="utf-8")
    return path


def changed(**keys):
    return lambda content: json.dumps({**content, **keys})


def inside(part, **keys):
    return lambda content: json.dumps({**content, part: {**content[part], **keys}})


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


def of_version(version):
    """An older version that has keys of this one."""

    def change(content):
        (whole,) = content["members"]
        older = {key: value for key, value in content.items() if key not in ("grades", "members")}
        parts = {key: whole[key] for key in ("aggregator", "calibrator")}
        return json.dumps({**older, **parts, "version": version})

    return change


JOINT = {
    "kind": "joint",
    **{name: [1, 1] for name in ("correct", "voted")},
    **{name: [0.5, 0.5] for name in ("weights", "shares")},
    "intercept": 0.0,
    "prototypes": ["1."],
    "pull": [0.1],
}
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
BROKEN = {
    "not JSON": (lambda _: "{", ["cannot be read as JSON"]),
    "empty": (lambda _: "", ["cannot be read as JSON"]),
    "a list": (lambda _: "[]", ["not a panel file"]),
    "other JSON": (lambda _: '{"a": 1}', ["not a panel file", "written by judgepanel"]),
    "version 7": (changed(version=7), ["unknown version", "'7'", "version 1 to 6"]),
    "version 5 with grades": (changed(version=5), ["'grades'", "no such key"]),
    "grades of a judge too few": (
        changed(grades=[SCALE]),
        ["grades has 1 entries for 2 judges"],
    ),
    "bands that fall": (
        changed(grades=[{**SCALE, "edges": [0.3, 0.2]}, None]),
        ["grades in the panel file are out of order", "edges that rise"],
    ),
    "a range that is turned": (
        changed(grades=[{**SCALE, "lowest": 2.0}, None]),
        ["out of order", "not above the highest"],
    ),
    "more votes far from the threshold than votes": (
        changed(grades=[{**SCALE, "far": 10**9}, None]),
        ["counts of the panel's grades exceed its votes"],
    ),
    "an endless threshold": (
        changed(grades=[{**SCALE, "threshold": 1e300}, None]),
        ["grades[0].threshold of the panel is out of range"],
    ),
    "a scale of another kind": (
        changed(grades=[{**SCALE, "unit": "points"}, None]),
        ["$.grades[0]", "'unit' was unexpected"],
    ),
    "levels without bands": (
        member(aggregator=GRADED),
        ["another number of levels than of bands", "'2'", "1, one for each band"],
    ),
    "levels of a judge too few": (
        member(aggregator={**GRADED, "levels": [[0.5]]}),
        ["aggregator.levels has 1 entries for 2 judges"],
    ),
    "an endless level": (
        member(aggregator={**GRADED, "levels": [[1e300], [0.5]]}),
        ["levels of the panel is out of range"],
    ),
    "version 2 with a later key": (of_version(2), ["'training'", "no such key"]),
    "version 3 with a later key": (of_version(3), ["'fallback'", "no such key"]),
    "version 4 with members": (changed(version=4), ["'members'", "no such key"]),
    "no members": (changed(members=[]), ["$.members"]),
    "members without judges": (member(columns=[]), ["$.members[0].columns"]),
    "a member of strangers": (member(columns=[0, 2]), ["members[0].columns", "'2'", "0 to 1"]),
    "a judge counted twice": (member(columns=[0, 0]), ["$.members[0].columns", "non-unique"]),
    "a judge that nobody uses": (
        changed(judges=["j1", "j2", "j3"], profile=None, training=None, absence=None),
        ["no member of the panel uses a judge", "'j3'"],
    ),
    "half an average": (member(weight=0.5), ["do not add up to 1", "'0.5'"]),
    "a weight below 0": (member(weight=-1), ["$.members[0].weight"]),
    "a short fallback": (
        changed(fallback={**FALLBACK, "weights": [1]}),
        ["fallback.weights has 1 entries for 2 judges"],
    ),
    "a fallback that weighs nothing": (
        changed(fallback={**FALLBACK, "weights": [0, 0]}),
        ["no judge of the panel's fallback weighs anything"],
    ),
    "a fallback without a temperature": (
        changed(fallback={**FALLBACK, "few": 0}),
        ["$.fallback.few"],
    ),
    "a group that is the whole panel": (
        changed(absence={**ABSENCE, "groups": [GROUP]}),
        ["not a part of the panel", "'vendor'"],
    ),
    "a short profile": (inside("profile", ones=[1]), ["profile.ones has 1 entries", "2 are"]),
    "a profile of more ones than votes": (
        inside("profile", ones=[24, 10**9]),
        ["counts in the panel's profile exceed"],
    ),
    "a hash too few": (inside("training", votes=[]), ["training.votes has 0 entries"]),
    "a hash that is none": (inside("training", votes=["x"] * 24), ["$.training.votes", "'x'"]),
    "absent judges too few": (
        changed(absence={**ABSENCE, "single": [LOSS]}),
        ["absence.single has 1 entries where 2 are needed"],
    ),
    "nobody left": (
        changed(absence={**ABSENCE, "several": [{**LOSS, "n_absent": 2}]}),
        ["no judge is left"],
    ),
    "an endless loss": (
        changed(absence={**ABSENCE, "nll": 10**400}),
        ["$.absence.nll"],
    ),
    "half a slice": (changed(conformal={"share": 0.2}), ["$.conformal"]),
    "a slice without levels": (
        changed(conformal={"share": 0.2, "n": 3, "levels": [], "rows": None}),
        ["$.conformal.levels"],
    ),
    "version true": (changed(version=True), ["version"]),
    "unknown key": (changed(magic=1), ["'magic' was unexpected"]),
    "missing key": (
        lambda content: json.dumps({k: v for k, v in content.items() if k != "prior"}),
        ["'prior' is a required property"],
    ),
    "unknown aggregator": (
        member(aggregator={"kind": "oracle"}),
        ["unknown kind of aggregator", "'oracle'", "one_coin", "joint"],
    ),
    "unknown calibrator": (
        member(calibrator={"kind": "auto"}),
        ["unknown kind of calibrator", "'auto'", "none, temperature, platt, beta"],
    ),
    "no kind": (member(calibrator={}), ["unknown kind of calibrator"]),
    "unknown parameter": (
        member(calibrator={"kind": "temperature", "slope": 1, "magic": 2}),
        [".calibrator", "'magic' was unexpected"],
    ),
    "negative temperature": (
        member(calibrator={"kind": "temperature", "slope": -1}),
        [".calibrator.slope", "-1 is less than the minimum"],
    ),
    "increasing b": (
        member(calibrator={"kind": "beta", "a": 1, "b": 1, "c": 0}),
        [".calibrator"],
    ),
    "knots that fall": (
        member(calibrator={"kind": "isotonic", "logits": [0, 1], "p": [0.7, 0.6], "odd": False}),
        ["knots", "p not falling"],
    ),
    "knots that jump": (
        member(calibrator={"kind": "isotonic", "logits": [1, 1], "p": [0.5, 0.6], "odd": False}),
        ["knots", "logits rising"],
    ),
    "a short prototype": (
        member(aggregator={**JOINT, "prototypes": ["1"]}),
        ["a prototype of the panel has 1 votes for 2 judges"],
    ),
    "an odd prototype": (
        member(aggregator={**JOINT, "prototypes": ["1x"]}),
        [".aggregator.prototypes", "'1x' does not match"],
    ),
    "a prototype too many": (
        member(aggregator={**JOINT, "pull": []}),
        ["aggregator.pull has 0 entries for 1 prototypes"],
    ),
    "text for a number": (
        member(calibrator={"kind": "temperature", "slope": "1"}),
        ["'1' is not of type 'number'"],
    ),
    "NaN": (
        member(calibrator={"kind": "temperature", "slope": float("nan")}),
        ["NaN is not a number"],
    ),
    "infinite": (
        lambda c: changed(prior=0.5)(c).replace('"prior": 0.5', '"prior": 1e999'),
        ["1e999"],
    ),
    "huge": (
        member(calibrator={"kind": "temperature", "slope": 10**400}),
        ["calibrator.slope", "out of range"],
    ),
    "weights too few": (counted(voted=[3]), ["aggregator.voted has 1 entries"]),
    "more right than votes": (
        counted(correct=[25, 0], voted=[24, 24]),
        ["right more often than it voted", "'25'", "at most 24"],
    ),
    "judge twice": (changed(judges=["j1", "j1"]), ["$.judges", "non-unique"]),
    "no judges": (changed(judges=[]), ["$.judges"]),
    "prior 0": (changed(prior=0), ["$.prior"]),
    "key twice": (
        lambda content: json.dumps(content)[:-1] + ', "prior": 0.1}',
        ["'prior' is given twice"],
    ),
    "deep": (lambda _: "[" * 100_000, ["cannot be read as JSON"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_panel_is_refused(cli, content, panel, votes, tmp_path, case):
    change, parts = BROKEN[case]
    panel.write_text(change(content))
    ran = cli("score", panel, votes, "--out", tmp_path / "s.csv")
    assert ran.status == 2
    assert not (tmp_path / "s.csv").exists()
    assert ran.error.startswith("judgepanel: panel.json")
    for part in parts:
        assert part in ran.error


def test_votes_of_strangers_are_refused(refused, panel, tmp_path):
    (tmp_path / "other.csv").write_text("item_id,u,v\na,1,0\nb,0,1\n")
    line = refused("score", panel, tmp_path / "other.csv", "--out", tmp_path / "s.csv")
    assert "none of the panel's judges is in this file" in line
    assert "'u, v'" in line
    assert "allowed: at least one of 'j" in line


def test_a_scored_file_with_a_bad_vote_is_refused_with_its_place(refused, panel, tmp_path):
    (tmp_path / "new.csv").write_text("item_id,j1,j2\na,1,0\nb,2,1\n")
    line = refused("score", panel, tmp_path / "new.csv", "--out", tmp_path / "s.csv")
    assert "new.csv, row 3, column 'j1': not a verdict (found '2')" in line


def test_the_panel_scores_what_is_right(cli, panel, votes, tmp_path):
    """The files above are refused for what was changed in them."""
    assert cli("score", panel, votes, "--out", tmp_path / "s.csv").status == 0
    assert load_votes(votes).votes.n_items == 24
