"""Compiled kernels: the decorator."""

from judgepanel.kernels.compiled import compiled


def test_a_function_that_cannot_be_kept_on_disk_is_compiled_all_the_same():
    names = {}
    exec("def twice(x):\n    return 2 * x", names)  # noqa: S102  A function without a file.
    assert compiled(names["twice"])(3) == 6
