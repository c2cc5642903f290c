"""What a server keeps in memory."""

from judgepanel.service.cache import Cache


def test_a_cache_keeps_what_was_used_last():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.forget("a")
    cache.forget("z")
    assert cache.get("a") is None
