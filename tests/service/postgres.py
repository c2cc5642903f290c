"""A PostgreSQL for one test session, from Debian's packages."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPTIONS = {
    "listen_addresses": "", "max_connections": "200", "fsync": "off", "full_page_writes": "off",
    "shared_buffers": "16MB", "autovacuum": "off",
}  # fmt: skip


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, of the newest PostgreSQL of this machine."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    result = sorted(debian, key=lambda file: float(file.parts[-3]))
    on_path = shutil.which("initdb")
    result += [Path(on_path).resolve()] if on_path and not result else []
    return result[-1].parent if result else None


def user() -> str | None:
    """Whom it runs as where we are root, which it refuses to be."""
    if os.geteuid():
        return None
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"


@contextmanager
def running(bin_folder: Path) -> Iterator[str]:
    """Serve on a socket in a folder that goes away with it; yields the URL of a first database."""
    who = user()
    folder = Path(tempfile.mkdtemp(prefix="judgepanel-pg-"))
    data = folder / "data"

    def call(name: str, *arguments: str) -> None:
        command = [str(bin_folder / name), *arguments]
        with (folder / "log").open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            subprocess.run(command, cwd=folder, user=who, check=True, **streams)

    try:
        if who is not None:
            shutil.chown(folder, who)
        call("initdb", *f"-D {data} -U judgepanel -A trust -E UTF8 --locale=C --no-sync".split())
        options = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in OPTIONS.items())
        log = str(folder / "server.log")
        call("pg_ctl", "-D", str(data), "-w", "-l", log, "-o", f"-k {folder} {options}", "start")
        try:
            yield f"postgresql://judgepanel@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
