"""The workspace contract, the same for whatever keeps it."""

import contextlib
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgepanel.service import FileWorkspace, NotFound
from judgepanel.service import files as files_module
from judgepanel.service import jobs as jobs_module
from judgepanel.studies.contract import CHUNK_SPLITS, Study
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.settings import Settings
from judgepanel.votes import InputError, Loaded, VoteMatrix, load_votes
from judgepanel.votes.columns import Mapping
from tests.helpers import make_votes

LONG = 30


@dataclass(frozen=True, slots=True)
class CountSpec:
    settings: Settings = Settings(splits=20)


@dataclass(frozen=True, slots=True)
class Count:
    total: int
    planned: int
    warnings: tuple[str, ...] = ()

    def frame(self):
        return pd.DataFrame({"total": [self.total]})

    def summary(self):
        return {"total": self.total}


class Counter:
    """A study that counts its splits; ``gates`` hold chunks back until a test lets them go."""

    def __init__(self, name="count", error=None):
        self.calls = []
        self.gates = {}
        self.started = {}
        self.error = error
        self.study = Study(
            name=name,
            title="Count",
            question="How many?",
            spec=CountSpec,
            result=Count,
            run_chunk=self.run_chunk,
            combine=lambda one, other: one + other,
            merge=lambda votes, spec, total: Count(total, spec.settings.splits),
            figure="none",
            page="none",
        )

    def hold(self, number):
        self.gates[number] = threading.Event()
        self.started[number] = threading.Event()

    def run_chunk(self, votes, spec, chunk):
        self.calls.append(chunk.number)
        if chunk.number in self.gates:
            self.started[chunk.number].set()
            assert self.gates[chunk.number].wait(LONG)
        if self.error is not None:
            raise self.error
        return chunk.count


IMPLEMENTATIONS = {"files": FileWorkspace}


@pytest.fixture(params=IMPLEMENTATIONS)
def home(request, tmp_path, monkeypatch):
    """Opens the workspace, anew every time it is called: a restart."""
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    opened = []

    def start():
        opened.append(IMPLEMENTATIONS[request.param](tmp_path / "home"))
        return opened[-1]

    yield start
    for space in opened:
        space.close()


@pytest.fixture
def space(home):
    return home()


@pytest.fixture
def votes():
    return make_votes(1, 40, 4)


def loaded(votes, file="votes.csv", **mapping):
    return Loaded(votes, Mapping("wide", **mapping), ("A note.",), file)


def finish(space, study, votes, spec):
    """The job once it is over; the contract has no bell, so a page and this test ask again."""
    turn = threading.Event()
    for _ in range(LONG * 200):
        job = space.partial(study, votes.sha256, spec)
        if job.status != "running":
            return job
        turn.wait(0.005)
    raise AssertionError("the job did not end")


def test_votes_come_back_by_their_hash(home, votes):
    sha = home().put_votes(votes)
    assert sha == votes.sha256
    found = home().votes(sha)
    assert found.sha256 == sha
    assert (found.votes == votes.votes).all()


def test_an_analysis_comes_back_after_a_restart(home, votes):
    chosen = Settings("symmetric", judges=("judge000", "judge002"), splits=7, fraction=0.3, seed=5)
    made = home().create(loaded(votes, id_column="id", label_column="y"), chosen, "Mine")
    found = home().open(made.id)
    assert found == made
    assert found.settings == chosen
    assert found.columns == ("--id-column", "id", "--label-column", "y")
    assert found.notes == ("A note.",)
    assert home().votes(found.votes_sha256).sha256 == votes.sha256


def test_analyses_are_listed_newest_first(space, votes):
    made = [space.create(loaded(votes), Settings(seed=seed), f"n{seed}") for seed in range(3)]
    listed = space.list()
    assert {analysis.id for analysis in listed} == {analysis.id for analysis in made}
    stamps = [(analysis.created, analysis.id) for analysis in listed]
    assert stamps == sorted(stamps, reverse=True)


def test_other_settings_are_another_analysis_of_the_same_votes(space, votes):
    one = space.create(loaded(votes), Settings(), "Mine")
    other = space.with_settings(one, Settings(seed=4))
    assert other.id != one.id
    assert (other.name, other.votes_sha256) == (one.name, one.votes_sha256)
    assert space.open(one.id).settings.seed == 0
    assert space.open(other.id).settings.seed == 4


def test_ids_are_long_random_and_fit_a_url(space, votes):
    ids = {space.create(loaded(votes), Settings(), "x").id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(name) >= 22 and name.replace("-", "").replace("_", "").isalnum() for name in ids)


FORGED = (
    *("", "a", "unknown-but-well-formed", "..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd"),
    *("/etc/passwd/0123456789", "0123456789abcdef\0", "0123456789abcdef\n", "a/b" * 8),
    *(
        "é" * 20,
        "０" * 20,
        "🦜" * 20,
        "x" * 10_000,
        "0123456789abcdef.json",
        "*" * 20,
        "\ud800" * 20,
    ),
)


@pytest.mark.parametrize("name", FORGED, ids=range(len(FORGED)))
def test_an_unknown_or_forged_id_is_not_found(space, votes, name):
    space.create(loaded(votes), Settings(), "x")
    with pytest.raises(NotFound):
        space.open(name)
    with pytest.raises(NotFound):
        space.votes(name)


def test_an_id_does_not_open_what_another_file_holds(space, votes, tmp_path):
    made = space.create(loaded(votes), Settings(), "x")
    folder = tmp_path / "home" / "analyses"
    (folder / "forged-but-well-formed.json").write_text((folder / f"{made.id}.json").read_text())
    with pytest.raises(NotFound):
        space.open("forged-but-well-formed")


def test_work_is_done_once_and_found_after_a_restart(home, votes):
    counter, spec = Counter(), CountSpec()
    space = home()
    space.submit(counter.study, votes, spec)
    job = finish(space, counter.study, votes, spec)
    assert (job.status, job.done, job.total, job.result) == ("done", 4, 4, Count(20, 20))
    for again in (space, home()):
        again.submit(counter.study, votes, spec)
        stored = again.result(counter.study, votes.sha256, spec)
        assert (stored.result, stored.current) == (Count(20, 20), True)
    assert counter.calls == [0, 1, 2, 3]


def test_the_same_work_submitted_twice_at_once_is_done_once(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(0)
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(space.submit, counter.study, votes, spec) for _ in range(16)]:
            future.result()
    counter.gates[0].set()
    finish(space, counter.study, votes, spec)
    assert counter.calls == [0, 1, 2, 3]


def test_another_spec_is_other_work(space, votes):
    counter = Counter()
    for seed in (0, 1):
        spec = CountSpec(Settings(splits=5, seed=seed))
        space.submit(counter.study, votes, spec)
        finish(space, counter.study, votes, spec)
    assert counter.calls == [0, 0]


def test_nothing_is_known_about_work_never_asked_for(space, votes):
    counter = Counter()
    assert space.result(counter.study, votes.sha256, CountSpec()) is None
    assert space.partial(counter.study, votes.sha256, CountSpec()) is None
    space.cancel(counter.study, votes.sha256, CountSpec())


def test_cancelled_work_keeps_what_was_done_and_can_start_again(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(2)
    space.submit(counter.study, votes, spec)
    assert counter.started[2].wait(LONG)
    space.cancel(counter.study, votes.sha256, spec)
    counter.gates[2].set()
    job = finish(space, counter.study, votes, spec)
    assert (job.status, job.done, job.total) == ("cancelled", 3, 4)
    assert job.result.total == 3 * CHUNK_SPLITS
    assert space.result(counter.study, votes.sha256, spec) is None
    space.submit(counter.study, votes, spec)
    assert finish(space, counter.study, votes, spec).status == "done"
    assert counter.calls == [0, 1, 2, 0, 1, 2, 3]


def test_work_called_off_during_its_last_part_is_done(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(3)
    space.submit(counter.study, votes, spec)
    assert counter.started[3].wait(LONG)
    space.cancel(counter.study, votes.sha256, spec)
    counter.gates[3].set()
    assert finish(space, counter.study, votes, spec).status == "done"
    assert space.result(counter.study, votes.sha256, spec).result == Count(20, 20)


def test_a_coarse_result_is_there_before_the_work_ends(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(1)
    space.submit(counter.study, votes, spec)
    assert counter.started[1].wait(LONG)
    job = space.partial(counter.study, votes.sha256, spec)
    assert (job.status, job.done, job.result) == ("running", 1, Count(CHUNK_SPLITS, 20))
    counter.gates[1].set()
    finish(space, counter.study, votes, spec)


def test_who_waits_is_called_at_the_first_result(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(1)
    space.wait(counter.study, votes.sha256, spec, LONG)
    space.submit(counter.study, votes, spec)
    space.wait(counter.study, votes.sha256, spec, LONG)
    assert space.partial(counter.study, votes.sha256, spec).result == Count(CHUNK_SPLITS, 20)
    counter.gates[1].set()
    assert finish(space, counter.study, votes, spec).status == "done"


def test_who_waits_is_not_kept_for_longer_than_asked(space, votes):
    counter, spec = Counter(), CountSpec()
    counter.hold(0)
    space.submit(counter.study, votes, spec)
    space.wait(counter.study, votes.sha256, spec, 0.01)
    assert space.partial(counter.study, votes.sha256, spec).result is None
    counter.gates[0].set()
    assert finish(space, counter.study, votes, spec).status == "done"


def test_work_waits_while_other_work_holds_all_workers(space, votes):
    counters = [Counter(name) for name in ("first", "second", "third")]
    for counter in counters:
        counter.hold(0)
        space.submit(counter.study, votes, CountSpec())
    for counter in counters[:2]:
        assert counter.started[0].wait(LONG)
    assert [space.partial(one.study, votes.sha256, CountSpec()).waits for one in counters] == [
        *(False, False, True)
    ]
    for counter in counters:
        counter.gates[0].set()
        assert not finish(space, counter.study, votes, CountSpec()).waits


def test_an_unknown_backend_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(ValueError, match="'clouds'; it can be loky or threading"):
        FileWorkspace(tmp_path, backend="clouds")


def test_work_in_other_processes_gives_the_same_bits(tmp_path, votes):
    spec = PanelCurveSpec(settings=Settings(splits=10))
    found = []
    for backend in jobs_module.BACKENDS:
        with contextlib.closing(FileWorkspace(tmp_path / backend, backend)) as space:
            space.submit(PANEL_CURVE, votes, spec)
            assert finish(space, PANEL_CURVE, votes, spec).status == "done"
            found.append(space.result(PANEL_CURVE, votes.sha256, spec).result)
    one, other = found
    pd.testing.assert_frame_equal(one.frame(), other.frame(), check_exact=True)


def test_work_that_is_looked_at_passes_work_that_no_longer_is(space, votes, monkeypatch):
    monkeypatch.setattr(jobs_module, "WATCHED_SECONDS", 0.05)
    left, looked_at = [Counter("left 1"), Counter("left 2")], Counter("looked at")
    for counter in left:
        counter.hold(1)
        space.submit(counter.study, votes, CountSpec())
        assert counter.started[1].wait(LONG)
    space.submit(looked_at.study, votes, CountSpec())
    assert finish(space, looked_at.study, votes, CountSpec()).status == "done"
    for counter in left:
        assert counter.calls == [0, 1]
        counter.gates[1].set()
    for counter in left:
        assert finish(space, counter.study, votes, CountSpec()).status == "done"
        assert counter.calls == [0, 1, 2, 3]


def test_votes_that_cannot_be_studied_fail_with_their_sentence(space, votes):
    counter, spec = Counter(error=InputError("every label is the same", value=1)), CountSpec()
    space.submit(counter.study, votes, spec)
    job = finish(space, counter.study, votes, spec)
    assert (job.status, job.message) == ("failed", "every label is the same (found '1').")


def test_a_mistake_of_ours_fails_without_its_traceback(space, votes, caplog):
    counter, spec = Counter(error=ZeroDivisionError("secret place")), CountSpec()
    space.submit(counter.study, votes, spec)
    job = finish(space, counter.study, votes, spec)
    assert job.status == "failed"
    assert "log has the details" in job.message
    assert "secret" not in job.message
    assert "Traceback" not in job.message
    assert "secret place" in caplog.text
    counter.error = None
    space.submit(counter.study, votes, spec)
    assert finish(space, counter.study, votes, spec).status == "done"


def test_a_result_of_an_older_engine_is_shown_as_such_and_can_be_redone(home, votes, monkeypatch):
    counter, spec = Counter(), CountSpec()
    space = home()
    space.submit(counter.study, votes, spec)
    finish(space, counter.study, votes, spec)
    monkeypatch.setattr(files_module, "ENGINE", files_module.ENGINE + 1)
    newer = home()
    stored = newer.result(counter.study, votes.sha256, spec)
    assert (stored.current, stored.engine) == (False, files_module.ENGINE - 1)
    newer.submit(counter.study, votes, spec)
    finish(newer, counter.study, votes, spec)
    assert newer.result(counter.study, votes.sha256, spec).current
    assert counter.calls == [0, 1, 2, 3] * 2


def test_a_real_study_comes_back_to_the_bit(home, votes):
    spec = PanelCurveSpec(settings=Settings(splits=6))
    space = home()
    space.submit(PANEL_CURVE, votes, spec)
    made = finish(space, PANEL_CURVE, votes, spec).result
    found = home().result(PANEL_CURVE, votes.sha256, spec).result
    pd.testing.assert_frame_equal(found.frame(), made.frame(), check_exact=True)
    assert found.summary() == made.summary()
    assert found.ranking == made.ranking


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"id": 1}', "\0", "[" * 100_000, "null"])
def test_a_damaged_analysis_is_not_found_and_hides_no_other(space, votes, tmp_path, damage):
    good, bad = (space.create(loaded(votes), Settings(), name) for name in ("good", "bad"))
    (tmp_path / "home" / "analyses" / f"{bad.id}.json").write_text(damage)
    with pytest.raises(NotFound):
        space.open(bad.id)
    assert [analysis.id for analysis in space.list()] == [good.id]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(("id", "name", "file", "votes_sha256", "settings", "columns", "notes")),
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.lists(st.integers())
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
def test_an_analysis_with_any_field_changed_is_read_or_not_found(
    space, votes, tmp_path, key, value
):
    made = space.create(loaded(votes), Settings(), "x")
    path = tmp_path / "home" / "analyses" / f"{made.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with contextlib.suppress(NotFound):
        assert space.open(made.id).id == made.id


def crafted(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def damaged_votes(good):
    other = replace(make_votes(2, 40, 4), judges=("a", "b", "c", "d"))
    text = np.frombuffer(b"{}", np.uint8)
    return {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "noise": b"\x00" * 100,
        "flipped": good[:200] + bytes([good[200] ^ 255]) + good[201:],
        "other votes": files_module.pack(other),
        "no arrays": crafted(),
        "no text": crafted(votes=other.votes, labels=other.labels, text=text),
        "an object": crafted(votes=np.array([Bomb()], object), labels=other.labels, text=text),
        "an object as text": crafted(
            votes=other.votes, labels=other.labels, text=np.array([Bomb()], object)
        ),
    }


@pytest.mark.parametrize("damage", damaged_votes(bytes(1000)))
def test_damaged_votes_are_not_found_until_they_are_brought_again(home, votes, tmp_path, damage):
    space = home()
    sha = space.put_votes(votes)
    path = tmp_path / "home" / "votes" / f"{sha}.npz"
    path.write_bytes(damaged_votes(path.read_bytes())[damage])
    with pytest.raises(NotFound):
        home().votes(sha)
    home().put_votes(votes)
    assert home().votes(sha).sha256 == sha


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"result": {"total": "x"}}', "\udcff"])
def test_a_damaged_result_is_computed_again(home, votes, tmp_path, damage):
    counter, spec = Counter(), CountSpec()
    space = home()
    space.submit(counter.study, votes, spec)
    finish(space, counter.study, votes, spec)
    (path,) = (tmp_path / "home" / "results").iterdir()
    path.write_bytes(damage.encode("utf-8", "surrogateescape"))
    restarted = home()
    assert restarted.result(counter.study, votes.sha256, spec) is None
    restarted.submit(counter.study, votes, spec)
    finish(restarted, counter.study, votes, spec)
    assert home().result(counter.study, votes.sha256, spec).result == Count(20, 20)


def test_many_threads_can_bring_votes_and_open_analyses(space):
    def bring(number):
        own = make_votes(number % 5, 30, 3)
        made = space.create(loaded(own), Settings(seed=number), f"n{number}")
        assert space.votes(made.votes_sha256).sha256 == own.sha256
        return space.open(made.id).settings.seed

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bring, range(40))) == list(range(40))
    assert len(space.list()) == 40


TEXT = st.text(min_size=1, max_size=8)
NUMBER = st.floats(-1e9, 1e9, allow_subnormal=False) | st.just(float("nan"))


@st.composite
def tables(draw, n_rows):
    """None, or a table of n rows with columns of every type."""
    if draw(st.booleans()):
        return None
    kinds = {
        "float": (NUMBER, "float64"),
        "int": (st.integers(-(2**40), 2**40), "int64"),
        "bool": (st.booleans(), "bool"),
        "text": (st.text(max_size=5), "str"),
        "object": (st.none() | st.text(max_size=5), object),
    }
    columns = {}
    for name in draw(st.lists(TEXT, unique=True, max_size=3)):
        values, dtype = kinds[draw(st.sampled_from(sorted(kinds)))]
        cells = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        columns[name] = pd.Series(cells, dtype=dtype)
    return pd.DataFrame(columns, index=range(n_rows))


@st.composite
def matrices(draw):
    n_items, n_judges = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.sampled_from((-1, 0, 1))
    rows = st.lists(cell, min_size=n_judges, max_size=n_judges)
    names = [draw(st.lists(TEXT, min_size=n, max_size=n, unique=True)) for n in (n_items, n_judges)]
    groups = st.none() | st.lists(TEXT, min_size=n_items, max_size=n_items).map(tuple)
    return VoteMatrix(
        votes=np.array(draw(st.lists(rows, min_size=n_items, max_size=n_items)), np.int8),
        labels=np.array(draw(st.lists(cell, min_size=n_items, max_size=n_items)), np.int8),
        item_ids=tuple(names[0]),
        judges=tuple(names[1]),
        task=draw(st.sampled_from(("pairwise", "pointwise"))),
        groups=draw(groups),
        features=draw(tables(n_items)),
        judge_table=draw(tables(n_judges)),
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matrices())
def test_any_votes_come_back_as_they_were(home, made):
    sha = home().put_votes(made)
    found = home().votes(sha)
    assert found.sha256 == made.sha256
    for one, other in ((found.features, made.features), (found.judge_table, made.judge_table)):
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other)


def test_a_judge_table_of_names_alone_comes_back(home):
    text = b"item_id,label,a,b\n1,1,1,0\n2,0,0,0\n3,1,1,1\n4,0,0,1\n"
    made = load_votes(text, name="v.csv", judge_table=b'{"judge": "a"}\n{"judge": "b"}\n').votes
    assert home().votes(home().put_votes(made)).sha256 == made.sha256


def test_a_hostile_file_name_is_kept_and_becomes_no_path(home, votes, tmp_path):
    name = "../../\x00evil\n<b>.csv"
    made = home().create(loaded(votes, name), Settings(), name)
    assert (home().open(made.id).file, home().open(made.id).name) == (name, name)
    kept = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {f"{made.id}.json", f"{votes.sha256}.npz"}


def test_files_are_for_this_user_only(space, votes, tmp_path):
    space.create(loaded(votes), Settings(), "x")
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert len(files) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_the_command_of_an_analysis_names_its_judge_table(space, votes):
    """Without it the command would read other votes: families are part of their hash."""
    given = replace(loaded(votes), judge_file="judges.csv")
    made = space.create(given, Settings(), "with a table")
    assert made.columns[-2:] == ("--judge-table", "judges.csv")
