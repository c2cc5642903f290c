"""Every reader either reads any bytes or refuses them in one line."""

import io
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings

from tests.hostile.targets import INSPECT, TARGETS, is_read, mutated

EXAMPLES = 30


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_reads_or_refuses_whatever_comes(name):
    target = TARGETS[name]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(mutated(target.seeds))
    def fuzz(data: bytes) -> None:
        is_read(target, data)

    fuzz()


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["stored", "deflate", "bzip2", "lzma"],
)
def test_an_archive_with_any_byte_of_its_member_changed_is_read_or_refused(method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("log.json", INSPECT)
        end = archive.start_dir
    whole = out.getvalue()
    for at in range(end):
        for byte in (0, whole[at] ^ 4, 255):
            is_read(TARGETS["zip"], whole[:at] + bytes([byte]) + whole[at + 1 :])
