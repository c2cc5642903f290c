"""Too much work: unwatched jobs are postponed and continue later; watched jobs are not."""

import pytest

from judgepanel.service import jobs as jobs_module
from judgepanel.service.basics import Full
from judgepanel.studies.contract import Settings
from tests.service.counting import LONG, Counter, CountSpec, finish, loaded, until

MOST = 2


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(jobs_module, "PER_USER", MOST)


def nobody_watches(monkeypatch):
    monkeypatch.setattr(jobs_module, "WATCHED_SECONDS", -1.0)


class Held:
    """Work of one user that stands still in its second chunk until it is let go."""

    def __init__(self, space, votes, seed):
        self.space, self.votes, self.counter = space, votes, Counter()
        self.spec = CountSpec(Settings(splits=20, seed=seed))
        self.counter.hold(1)

    def ask(self):
        self.space.submit(self.counter.study, self.votes, self.spec)
        return self

    def under_way(self):
        assert self.counter.started[1].wait(LONG)
        return self

    def go(self):
        self.counter.gates[1].set()

    def end(self):
        self.go()
        return finish(self.space, self.counter.study, self.votes, self.spec)

    def put_off(self):
        """Wait until nobody works on it any more."""
        until(self.state, lambda state: state is None)

    def state(self):
        return self.space.partial(self.counter.study, self.votes.sha256, self.spec)


def test_a_user_with_watched_work_only_is_told_and_loses_nothing(space, votes):
    held = [Held(space, votes, seed).ask().under_way() for seed in range(MOST)]
    one_more = Held(space, votes, MOST)
    with pytest.raises(Full, match=r"pieces of work that you asked for .* cancel one"):
        one_more.ask()
    assert one_more.state() is None
    for entry in held:
        assert entry.end().status == "done"
    assert one_more.ask().end().status == "done"


def reader_of(owner, votes):
    """A reader of one more link of this owner."""
    made = owner.create(loaded(votes), Settings(), "shared")
    return owner.for_readers(owner.share(made.id))


def test_other_users_and_an_owners_readers_have_limits_of_their_own(space, votes):
    bob = space.owned_by("bob")
    users = [space, bob, reader_of(space, votes), reader_of(bob, votes)]
    held = [
        Held(user, votes, 10 * u + s).ask() for u, user in enumerate(users) for s in range(MOST)
    ]
    for u, user in enumerate(users):
        with pytest.raises(Full):
            Held(user, votes, 10 * u + MOST).ask()
    for entry in held:
        entry.go()
    for entry in held:
        assert entry.end().status == "done"


def test_more_links_are_no_more_work(space, votes):
    held = [Held(reader_of(space, votes), votes, n).ask().under_way() for n in range(MOST)]
    with pytest.raises(Full):
        Held(reader_of(space, votes), votes, MOST).ask()
    for entry in held:
        assert entry.end().status == "done"


def test_asking_again_for_the_same_work_is_no_more_work(space, votes):
    held = [Held(space, votes, seed).ask().under_way() for seed in range(MOST)]
    for entry in held:
        entry.ask()
        assert entry.end().status == "done"


def test_work_that_nobody_watches_is_put_off_and_goes_on_from_its_chunks(space, votes, monkeypatch):
    nobody_watches(monkeypatch)
    oldest, other = (Held(space, votes, seed).ask().under_way() for seed in range(MOST))
    newest = Held(space, votes, MOST).ask()
    oldest.go()
    newest.end()
    oldest.put_off()
    assert oldest.counter.calls == [0, 1]
    other.end()
    job = oldest.ask().end()
    assert (job.status, job.result.total) == ("done", 20)
    assert oldest.counter.calls == [0, 1, 2, 3]


def test_work_put_off_before_its_turn_computes_nothing(space, votes, monkeypatch):
    nobody_watches(monkeypatch)
    running = [Held(space.owned_by("bob"), votes, n).ask().under_way() for n in range(2)]
    waiting = [Held(space, votes, 2 + n).ask() for n in range(MOST + 1)]
    waiting[0].put_off()
    assert waiting[0].counter.calls == []
    for entry in (*running, *waiting[1:]):
        entry.go()
    for entry in (*running, *waiting[1:]):
        assert entry.end().status == "done"


def test_a_full_server_refuses_everybody(space, votes, monkeypatch):
    monkeypatch.setattr(jobs_module, "QUEUE", 2)
    held = [Held(space.owned_by(str(n)), votes, n).ask().under_way() for n in range(2)]
    with pytest.raises(Full, match="This server has"):
        Held(space.owned_by("2"), votes, 2).ask()
    for entry in held:
        assert entry.end().status == "done"
