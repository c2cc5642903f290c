"""Links for readers open one analysis until they expire, are revoked, or it is deleted."""

import hashlib

import pytest

from judgepanel.service.basics import NotFound, SignInFirst
from judgepanel.service.sql import id_of_token
from judgepanel.studies.contract import Settings
from tests.helpers import make_votes
from tests.service.counting import Counter, CountSpec, completed, loaded
from tests.service.test_owners import FORGED, OTHERS

WRONG = (*FORGED, "a" * 43, "A" * 42, "a" * 44, "é" * 43, "a" * 42 + "\n")


@pytest.fixture
def analysis(space, votes):
    return space.create(loaded(votes), Settings(), "shared")


def test_a_token_opens_its_analysis_for_whoever_has_it_on_any_server(home, votes):
    space, other = home(), home()
    made = space.create(loaded(votes), Settings(), "shared")
    space.create(loaded(votes), Settings(seed=1), "not shared")
    token = space.share(made.id)
    assert space.shared(token) == made
    for reader in OTHERS:
        assert other.owned_by(reader).shared(token) == made


def test_tokens_are_long_random_and_kept_as_their_hash_alone(space, analysis, sql):
    tokens = [space.share(analysis.id) for _ in range(20)]
    assert len(set(tokens)) == 20
    assert {len(token) for token in tokens} == {43}
    remaining = {row[0] for row in sql("SELECT token_sha256 FROM shares")}
    assert remaining == {hashlib.sha256(token.encode()).hexdigest() for token in tokens}
    everything = repr(sql("SELECT * FROM shares"))
    assert not any(token in everything for token in tokens)


@pytest.mark.parametrize("token", WRONG)
def test_a_wrong_token_opens_nothing(space, analysis, token):
    space.share(analysis.id)
    with pytest.raises(NotFound, match="no such link"):
        space.shared(token)


def test_neither_an_id_nor_a_hash_is_a_token(space, analysis):
    space.share(analysis.id)
    (share,) = space.shares(analysis.id)
    for guess in (analysis.id, share.id, share.id[:43]):
        with pytest.raises(NotFound):
            space.shared(guess)


def test_a_revoked_link_opens_nothing_and_the_others_still_do(space, analysis):
    first, second = space.share(analysis.id), space.share(analysis.id)
    gone = next(share for share in space.shares(analysis.id) if share.id == id_of_token(first))
    space.revoke(analysis.id, gone.id)
    space.revoke(analysis.id, gone.id)
    with pytest.raises(NotFound, match="no such link"):
        space.shared(first)
    assert space.shared(second) == analysis
    assert [share.id for share in space.shares(analysis.id)] == [id_of_token(second)]


def test_a_link_expires_by_the_clock_of_the_database(space, analysis, sql):
    token, other = space.share(analysis.id, 3600), space.share(analysis.id)
    (share,) = (share for share in space.shares(analysis.id) if share.expires is not None)
    assert share.id == id_of_token(token)
    assert share.created < share.expires
    assert space.shared(token) == analysis
    sql("UPDATE shares SET expires = expires - 3601 WHERE expires IS NOT NULL")
    with pytest.raises(NotFound, match="no such link"):
        space.shared(token)
    assert [share.id for share in space.shares(analysis.id)] == [id_of_token(other)]


def test_a_link_for_the_signed_in_asks_others_to_sign_in(space, analysis):
    token = space.share(analysis.id, signed_in_only=True)
    with pytest.raises(SignInFirst):
        space.shared(token)
    assert space.shared(token, signed_in=True) == analysis
    assert [share.signed_in_only for share in space.shares(analysis.id)] == [True]


def test_a_deleted_analysis_is_shared_no_more(space, analysis, sql):
    token = space.share(analysis.id)
    space.delete(analysis.id)
    with pytest.raises(NotFound):
        space.shared(token)
    assert sql("SELECT count(*) FROM shares")[0][0] == 0


def test_a_reader_opens_finds_and_asks_for_work_and_changes_nothing(space, votes, analysis):
    token, counter = space.share(analysis.id), Counter()
    reader = space.for_readers(token)
    assert reader.shared(token) == analysis
    assert reader.votes(analysis.votes_sha256).sha256 == votes.sha256
    completed(reader, counter, votes)
    assert reader.result(counter.study, votes.sha256, CountSpec()).current
    assert reader.list() == ()
    for attempt in (
        lambda: reader.create(loaded(votes), Settings(), "mine"),
        lambda: reader.open(analysis.id),
        lambda: reader.with_settings(analysis, Settings(seed=9)),
        lambda: reader.rename(analysis.id, "mine"),
        lambda: reader.delete(analysis.id),
        lambda: reader.decide(analysis.id, "what", "who", "why"),
        lambda: reader.share(analysis.id),
        lambda: reader.shares(analysis.id),
        lambda: reader.revoke(analysis.id, id_of_token(token)),
        lambda: reader.put_votes(votes),
        lambda: reader.cancel(counter.study, votes.sha256, CountSpec()),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert space.shared(token) == space.open(analysis.id) == analysis


def work_of(reader, votes, analysis):
    """All that a reader asks of the analysis behind a link."""
    study, spec = Counter().study, CountSpec(Settings(splits=20, seed=7))
    return {
        "votes": lambda: reader.votes(votes.sha256),
        "submit": lambda: reader.submit(study, votes, spec),
        "result": lambda: reader.result(study, votes.sha256, spec),
        "partial": lambda: reader.partial(study, votes.sha256, spec),
        "decisions": lambda: reader.decisions(analysis.id),
    }


OPERATIONS = ("votes", "submit", "result", "partial", "decisions")


@pytest.mark.parametrize("what", OPERATIONS)
def test_a_page_that_is_open_ends_with_its_link(space, votes, analysis, sql, what):
    token, expiring = space.share(analysis.id), space.share(analysis.id, 3600)
    readers = [space.for_readers(entry) for entry in (token, expiring)]
    for reader in readers:
        reader.votes(votes.sha256)
    space.revoke(analysis.id, id_of_token(token))
    sql("UPDATE shares SET expires = expires - 3601 WHERE expires IS NOT NULL")
    for reader in (*readers, space.for_readers("made up"), space.for_readers("x" * 43)):
        with pytest.raises(NotFound, match="no such link"):
            work_of(reader, votes, analysis)[what]()
    assert sql("SELECT count(*) FROM jobs")[0][0] == 0


@pytest.mark.parametrize("what", OPERATIONS[:-1])
def test_a_link_opens_no_other_votes(space, votes, analysis, what):
    other = make_votes(2, 40, 4)
    space.create(loaded(other), Settings(), "another")
    reader = space.for_readers(space.share(analysis.id))
    with pytest.raises(NotFound):
        work_of(reader, other, analysis)[what]()


@pytest.mark.parametrize("what", OPERATIONS)
def test_a_link_for_the_signed_in_gives_work_to_them_alone(space, votes, analysis, what):
    token = space.share(analysis.id, signed_in_only=True)
    with pytest.raises(SignInFirst):
        work_of(space.for_readers(token), votes, analysis)[what]()
    work_of(space.for_readers(token, signed_in=True), votes, analysis)[what]()


def test_a_reader_reads_the_decisions_of_the_shared_analysis_and_of_no_other(space, votes):
    left, other = (space.create(loaded(votes), Settings(), name) for name in ("one", "other"))
    first = space.decide(left.id, "keep all", "Ann", "<b>why</b>")
    second = space.decide(left.id, "keep all 4", "Bob", "why not")
    space.decide(other.id, "drop one", "Eve", "secret")
    reader = space.for_readers(space.share(left.id))
    assert reader.decisions(left.id) == (first, second) == space.decisions(left.id)
    for visitor in (reader, space.owned_by("eve")):
        with pytest.raises(NotFound):
            visitor.decisions(other.id)
    empty = space.create(loaded(votes), Settings(), "").id
    assert space.for_readers(space.share(empty)).decisions(empty) == ()


@pytest.mark.parametrize("owner", [owner for owner in OTHERS if owner])
def test_nobody_shares_lists_or_revokes_for_another(space, analysis, owner):
    token = space.share(analysis.id)
    other = space.owned_by(owner)
    for attempt in (
        lambda: other.share(analysis.id),
        lambda: other.shares(analysis.id),
        lambda: other.revoke(analysis.id, id_of_token(token)),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert space.shared(token) == analysis


def test_a_link_of_another_analysis_is_not_revoked_through_ones_own(space, votes, analysis):
    token = space.share(analysis.id)
    eve = space.owned_by("eve")
    own = eve.create(loaded(votes), Settings(), "eve's")
    for share_id in (id_of_token(token), "%", "' OR ''='", ""):
        eve.revoke(own.id, share_id)
    assert space.shared(token) == analysis


def test_an_analysis_that_is_not_there_cannot_be_shared(space):
    for forged in ("x" * 22, *FORGED):
        with pytest.raises(NotFound):
            space.share(forged)
