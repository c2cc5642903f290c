"""What a fresh checkout contains."""

import re
import sys
import tomllib

import pytest
import yaml

from tests.setup.scripts import ROOT, output


def committed_files():
    listed = output("git", "ls-files", "-z").split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_no_committed_file_names_a_machine_path_or_a_package_registry():
    # Written in pieces, so that this file does not name them either.
    paths = "|".join(("wo" + "rk", "ro" + "ot", "tm" + "p", "home/[a-z]+", "Users/[A-Za-z]+"))
    hosts = "|".join(("pypi" + r"\.org", "python" + r"hosted\.org", "files" + r"\.python"))
    forbidden = re.compile(r"(?<![\w.~})\]*-])/(?:" + paths + r")/[\w.]|" + hosts)
    assert committed_files()
    result = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in committed_files()
        for number, line in enumerate(
            path.read_bytes().decode("utf-8", errors="replace").splitlines(), start=1
        )
        if forbidden.search(line)
    ]
    assert result == []


def test_streamlit_is_configured_to_keep_everything_on_this_machine():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["address"] == "localhost"
    assert config["server"]["enableXsrfProtection"] is True
    assert config["server"]["enableCORS"] is True
    assert "http" not in str(config)


def test_streamlit_knows_every_setting_of_the_repository():
    answer = output(sys.executable, "-m", "streamlit", "config", "show")
    assert "not a valid config option" not in answer
    assert re.search(r"^maxUploadSize = 200$", answer, flags=re.MULTILINE)
    assert re.search(r"^showSidebarNavigation = false$", answer, flags=re.MULTILINE)


WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))


@pytest.mark.parametrize("job", WORKFLOW["jobs"])
def test_the_workflow_runs_what_is_in_the_checkout(job):
    commands = [step["run"].split() for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]
    ours = ("tests/", "sample_data/", ".ci/", "./run")
    named = [word for command in commands for word in command if word.startswith(ours)]
    assert named
    assert [word for word in named if not (ROOT / word).exists()] == []
