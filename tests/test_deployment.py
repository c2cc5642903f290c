"""The image and the compose file agree with each other and with the code."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from sqlalchemy import make_url

from judgepanel.cli import main
from judgepanel.cli.upkeep import SERVED
from judgepanel.service import jobs, sql
from judgepanel.service.database import connect
from judgepanel.studies.runner import backend_of
from tests.cli.conftest import web_server

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "team.md").read_text("utf-8")
PORT = "8501"


@dataclass(frozen=True)
class Step:
    """An instruction of a Dockerfile: its name in capitals, what follows, of which stage."""

    name: str
    text: str
    stage: int

    @property
    def words(self):
        """What follows as a list: JSON where it is that, else as a shell splits it."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


@cache
def steps():
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    result: list[Step] = []
    stage = -1
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, rest = line.split(maxsplit=1)
            stage += name == "FROM"
            result.append(Step(name, " ".join(rest.split()), stage))
    return tuple(result)


def last(name):
    """The instruction of this name that holds when the image runs."""
    return [step for step in steps() if step.name == name and step.stage == steps()[-1].stage][-1]


def environment():
    return dict(word.split("=", 1) for word in last("ENV").words)


def copied(first_stage=0):
    """Every path that is copied from the repository, from this stage on."""
    lines = [step.words for step in steps() if step.name == "COPY" and step.stage >= first_stage]
    return [path for words in lines if "--from=packages" not in words for path in words[:-1]]


def cut():
    """Names of the folders of installed packages that the image leaves out."""
    (install,) = [step.text for step in steps() if "--requirement" in step.text]
    return set(re.findall(r"-name (\w+)", install))


@cache
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


@cache
def team():
    return yaml.safe_load((ROOT / "compose.team.yaml").read_text("utf-8"))


@cache
def app():
    return compose()["services"]["app"]


@cache
def database():
    return compose()["services"]["database"]


def reaches_the_builder(path):
    """Whether .dockerignore lets a path through: the last line that matches it or a parent."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    parts = path.split("/")
    parents = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    through = True
    for line in lines:
        pattern = line.removeprefix("!")
        if not pattern or pattern.startswith("#"):
            continue
        # `**/` stands for any folders; `*` alone for names at the top, and so for all below.
        deep = [re.sub(r"^.*/", "", parent) for parent in parents]
        names = deep if pattern.startswith("**/") else parents
        same_depth = pattern.removeprefix("**/")
        if any(fnmatchcase(n, same_depth) and n.count("/") == same_depth.count("/") for n in names):
            through = line.startswith("!")
    return through


# --- the image --------------------------------------------------------------------------------


def test_every_stage_starts_from_one_python_of_a_version_that_the_project_takes():
    bases = {step.words[0] for step in steps() if step.name == "FROM"}
    assert len(bases) == 1
    match = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+", bases.pop())
    assert match is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert match[1] in SpecifierSet(project["requires-python"])


def test_packages_are_installed_from_the_lock_as_run_does():
    (install,) = [s for s in steps() if s.name == "RUN" and "requirements.lock" in s.text]
    lock = install.words[install.words.index("--requirement") + 1]
    assert Path(lock).name == "requirements.lock"
    script = (ROOT / "run").read_text("utf-8")
    options = re.search(r'options = \["--quiet", (.*), "-r"', script)
    assert options is not None
    for option in json.loads(f"[{options[1]}]"):
        assert option in install.words
    assert install.stage == 0, "what installs is not in the image"
    assert "apt-get" not in " ".join(step.text for step in steps())


@pytest.mark.parametrize("package", ["psycopg", "psycopg-binary", "authlib", "httpx"])
def test_the_lock_holds_what_a_team_needs(package):
    assert re.search(rf"^{package}==", (ROOT / "requirements.lock").read_text("utf-8"), re.M)


def test_it_runs_as_a_user_without_rights():
    user = last("USER").text
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    (made,) = [step.text for step in steps() if "useradd" in step.text]
    assert f"--uid {user.split(':')[0]} " in made
    order = [step.name for step in steps()]
    assert "RUN" not in order[order.index("USER") :]
    assert user.split(":")[0] in DOCS


def test_everything_that_is_copied_is_there_and_reaches_the_builder():
    assert {"app.py", "judgepanel", "pages", "requirements.lock"} <= set(copied())
    for path in copied():
        assert (ROOT / path).exists(), path
        assert reaches_the_builder(path), path
    assert reaches_the_builder("judgepanel/decision/panel.schema.json")
    assert reaches_the_builder("sample_data/README.md")


@pytest.mark.parametrize(
    "path",
    [
        *(".git/HEAD", ".venv/bin/python", ".env", "secrets.toml", ".streamlit/secrets.toml"),
        *("tests/conftest.py", "benchmarks/__main__.py", "docs/team.md", "votes.csv"),
        *("judgepanel/__pycache__/x.pyc", "judgepanel/ui/__pycache__", "judgepanel.db"),
    ],
)
def test_no_secret_no_history_and_no_data_reaches_the_builder(path):
    assert not reaches_the_builder(path)


@pytest.mark.parametrize("path", [".env", "secrets.toml", ".streamlit/secrets.toml"])
def test_git_leaves_secrets_alone(path):
    asked = subprocess.run(("git", "check-ignore", "-q", path), cwd=ROOT, check=False)
    assert asked.returncode == 0


STARTS = """
import sys
from importlib.machinery import PathFinder

class Cut:
    def find_spec(self, name, path, _=None):
        if name.rpartition(".")[2] in sys.argv[1:]:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.submodule_search_locations:  # Folders are cut, not files.
                raise ModuleNotFoundError(f"{name} is not in the image", name=name)

sys.meta_path.insert(0, Cut())
from streamlit.testing.v1 import AppTest

page = AppTest.from_file("app.py", default_timeout=120).run()
page.button(key="sample-clean_pairwise").click().run()
assert not page.exception, page.exception
assert "analysis" in page.query_params, page
"""


def test_the_files_that_are_copied_are_all_that_the_dashboard_needs(tmp_path):
    inside = tmp_path / "app"
    for path in copied(last("CMD").stage):
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, inside / path, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            (inside / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, inside / path)
    own = {"PYTHONPATH": str(inside), "JUDGEPANEL_HOME": str(tmp_path / "data")}
    assert "tests" in cut()
    ran = subprocess.run(
        (sys.executable, "-c", STARTS, *cut()),
        cwd=inside,
        env={**os.environ, **own, "JUDGEPANEL_BACKEND": "threading"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "data" / "judgepanel.db").exists()


# --- ports, health, signals -------------------------------------------------------------------


def test_the_ports_agree():
    assert environment()["STREAMLIT_SERVER_PORT"] == PORT == last("EXPOSE").text
    assert app()["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert f"http://127.0.0.1:{PORT}" in DOCS


def test_nothing_is_published_beyond_this_machine():
    for service in compose()["services"].values():
        assert "network_mode" not in service
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
    assert "ports" not in database()


def answers(status, command):
    """The exit code of a command that asks the port of the image, with our server behind it."""
    with web_server(lambda path: (status if path == SERVED else 404, {}, b"")) as port:
        moved = [sys.executable, *(word.replace(PORT, str(port)) for word in command[1:])]
        return subprocess.run(moved, check=False, capture_output=True).returncode


def test_the_health_check_is_a_command_that_tells_well_from_ill():
    _, _, text = last("HEALTHCHECK").text.partition("CMD ")
    command = json.loads(text)
    assert command[0] == "python"
    assert sum(PORT in word for word in command) == 1
    assert answers(200, command) == 0
    assert answers(503, command) == 1
    assert answers(404, command) == 1


def test_the_command_that_the_docs_name_is_there(capsys):
    assert f"judgepanel health --url http://127.0.0.1:{PORT}" in DOCS
    with pytest.raises(SystemExit, match="0"):
        main(["health", "--help"])
    assert "--url" in capsys.readouterr().out


def test_the_server_is_the_process_that_gets_the_signal():
    assert last("CMD").words == ["streamlit", "run", "app.py"]
    assert last("CMD").text.startswith("["), "no shell between the server and its signal"
    assert last("STOPSIGNAL").text == "SIGTERM"
    assert app()["init"] is True
    assert "stop_signal" not in app()


# --- what compose adds ------------------------------------------------------------------------


def test_there_is_no_default_password():
    for service, name in ((app(), "PGPASSWORD"), (database(), "POSTGRES_PASSWORD")):
        assert re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", service["environment"][name])
    assert make_url(app()["environment"]["JUDGEPANEL_DATABASE_URL"]).password is None
    files = [path.read_text("utf-8") for path in (ROOT / "compose.yaml", ROOT / "Dockerfile")]
    given = re.findall(r"(?im)^[ #]*\w*(?:password|secret|token)\w*[:=] *(.+)$", "".join(files))
    assert given == [database()["environment"]["POSTGRES_PASSWORD"]] * 2
    named = [word for step in steps() if step.name in {"ENV", "ARG"} for word in step.words]
    assert [word for word in named if re.search(r"(?i)password|secret|token|key", word)] == []


def test_the_database_is_waited_for_and_is_the_one_that_the_app_is_told_of():
    url = app()["environment"]["JUDGEPANEL_DATABASE_URL"]
    parts = make_url(url)
    ours = database()["environment"]
    assert parts.host == "database"
    assert (parts.username, parts.database) == (ours["POSTGRES_USER"], ours["POSTGRES_DB"])
    connect(url).dispose()
    assert app()["depends_on"] == {"database": {"condition": "service_healthy"}}
    check = database()["healthcheck"]["test"]
    assert check[:2] == ["CMD", "pg_isready"]
    assert f"--username={parts.username}" in check
    version = re.fullmatch(r"postgres:(\d+)-\w+", database()["image"])
    assert version is not None
    assert int(version[1]) >= 15


def test_what_is_kept_is_in_named_volumes():
    for file in (compose(), team()):
        mounted = [v for service in file["services"].values() for v in service.get("volumes", [])]
        named = [volume.split(":")[0] for volume in mounted if not volume.startswith("./")]
        assert sorted(named) == sorted(file["volumes"])
    home = environment()["JUDGEPANEL_HOME"]
    assert last("VOLUME").words == [home]
    assert app()["volumes"] == [f"data:{home}"]


def confined(service):
    """Whether nothing in a service writes to its image or gains a right."""
    rights = service["read_only"] is True and service["cap_drop"] == ["ALL"]
    return rights and "no-new-privileges:true" in service["security_opt"]


def test_the_app_has_no_more_rights_than_it_needs():
    assert confined(app())
    assert app()["tmpfs"] == ["/tmp"]  # noqa: S108
    assert "no-new-privileges:true" in database()["security_opt"]
    assert not [service for service in (app(), database()) if "privileged" in service]


def test_settings_of_the_app_are_known_ones():
    # Unset unless it is said: a sign-in that is set up must not be left unused by a default.
    assert app()["environment"]["JUDGEPANEL_ACCESS"] == "${JUDGEPANEL_ACCESS:-}"
    backend = app()["environment"]["JUDGEPANEL_BACKEND"]
    assert re.fullmatch(r"\$\{JUDGEPANEL_BACKEND:-(\w+)\}", backend)[1] in jobs.BACKENDS


def test_the_profile_dask_has_workers_of_our_image_at_the_documented_address():
    scheduler, worker = (compose()["services"][name] for name in ("scheduler", "worker"))
    for service in (scheduler, worker):
        assert service["profiles"] == ["dask"]
        assert service["image"] == app()["image"]
        assert confined(service)
        assert "ports" not in service, "whoever reaches the scheduler can run code"
        assert find_spec(service["command"][2]) is not None
    address = f"tcp://scheduler:{scheduler['command'][-1]}"
    assert address in worker["command"]
    assert address in DOCS
    assert backend_of("dask", address, ()) == address


def test_team_mode_says_so_and_brings_who_may_sign_in():
    added = team()["services"]["app"]
    assert set(added) == {"environment", "secrets"}
    assert set(added["environment"]) < set(app()["environment"])
    assert added["environment"]["JUDGEPANEL_ACCESS"] == "team"
    (secret,) = added["secrets"]
    assert secret["target"] == f"{last('WORKDIR').text}/.streamlit/secrets.toml"
    assert team()["secrets"][secret["source"]] == {"file": "./secrets.toml"}
    for setting in ("COMPOSE_FILE=compose.yaml:compose.team.yaml", "COMPOSE_PROFILES=proxy"):
        assert setting in DOCS


def test_the_proxy_of_team_mode_passes_on_to_the_app_and_has_no_more_rights_than_it_needs():
    proxy = team()["services"]["proxy"]
    assert proxy["profiles"] == ["proxy"]
    assert proxy["environment"]["JUDGEPANEL_SERVER"] == f"app:{PORT}"
    address = team()["services"]["app"]["environment"]["JUDGEPANEL_PUBLIC_URL"]
    assert proxy["environment"]["JUDGEPANEL_PUBLIC_URL"] == address
    assert re.fullmatch(r"\$\{JUDGEPANEL_PUBLIC_URL:\?[^}]+\}", address)
    files = [v.split(":")[0] for v in proxy["volumes"] if v.startswith("./")]
    assert files == ["./Caddyfile"]
    used = re.findall(r"\{\$(\w+)(?::([^}]*))?\}", (ROOT / "Caddyfile").read_text("utf-8"))
    assert dict(used) == {"JUDGEPANEL_PUBLIC_URL": "", "JUDGEPANEL_SERVER": f"127.0.0.1:{PORT}"}
    assert confined(proxy)
    assert proxy["cap_add"] == ["NET_BIND_SERVICE"]


def test_limits_of_memory_and_cores_are_right_once_they_are_let_in():
    text = (ROOT / "compose.yaml").read_text("utf-8")
    lines = re.sub(r"^( *)# (?=mem_limit|cpus)", r"\1", text, flags=re.MULTILINE)
    assert {"mem_limit", "cpus"} <= set(yaml.safe_load(lines)["services"]["app"])


def test_the_example_of_secrets_has_what_signing_in_needs():
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL)
    auth = tomllib.loads(example)["auth"]
    needed = {"redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url"}
    assert set(auth) == needed
    assert auth["redirect_uri"].startswith("https://")
    assert auth["redirect_uri"].endswith("/oauth2callback")
    assert auth["cookie_secret"] == "", "whoever copies the example has to make one"


def test_the_proxies_take_the_largest_upload_and_log_no_query():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    limit = settings["server"]["maxUploadSize"]
    (nginx,) = re.findall(r"```nginx\n(.*?)```", DOCS, re.DOTALL)
    caddy = (ROOT / "Caddyfile").read_text("utf-8")
    (size,) = re.findall(r"client_max_body_size (\d+)m;", nginx)
    assert int(size) > limit
    (size,) = re.findall(r"max_size (\d+)MB", caddy)
    assert int(size) * 10**6 > limit * 2**20
    logged = re.findall(r"\$(\w+)", re.findall(r"log_format without_query '(.*)';", nginx)[0])
    assert "uri" in logged
    assert not {"request", "request_uri", "args", "query_string", "http_referer"} & set(logged)
    assert re.search(r"access_log \S+ without_query;", nginx)
    assert 'request>uri regexp "[?].*" ""' in caddy
    for secret in ("request>headers>Referer", "request>headers>Sec-Websocket-Protocol"):
        assert f"{secret} delete" in caddy
    for text in (nginx, caddy):
        assert re.search('Strict-Transport-Security "?max-age=31536000', text)
        assert "Referrer-Policy no-referrer" in text
        assert "X-Content-Type-Options nosniff" in text
        assert "X-Frame-Options" in text
        assert "frame-ancestors" in text
    (shared,) = re.findall(r'"~\^true:(.*)\$"', nginx)
    assert shared == sql.TOKEN.pattern
    assert re.search(r"default_server;\s+ssl_reject_handshake on;\s+return 444;", nginx)
    assert re.search(r"handle_errors \{\s+header \{[^}]*X-Frame-Options DENY", caddy)
