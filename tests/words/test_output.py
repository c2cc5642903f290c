"""Files are written completely or not at all."""

import os
import threading

import pytest

from judgepanel.votes import InputError
from judgepanel.words.outputs import check_output, write_whole


def test_a_new_file_gets_the_permissions_of_the_process(tmp_path):
    write_whole(tmp_path / "a", b"x")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    write_whole(tmp_path / "c", b"x", mode=0o600)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o600


def test_an_old_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_whole(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    check_output(path, kinds=(".csv",))
    write_whole(path, b"data")
    reader.join(30)
    assert read == [b"data"]
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["a.CSV", "a.csv", "A.Csv"])
def test_an_ending_is_known_in_any_case(tmp_path, name):
    check_output(tmp_path / name, kinds=(".csv",))


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt: .*allowed: a name that ends in \.csv or \.json"):
        check_output(tmp_path / "a.txt", kinds=(".csv", ".json"))
