"""The wheel is complete: command line, library, dashboard and samples, in an empty environment."""

import json
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from judgepanel import ENGINE, __version__
from judgepanel.votes import InputError
from judgepanel.votes.errors import EXTRAS, require
from tests.setup.environment import built, empty_workbook, installed
from tests.setup.scripts import output

NOTEBOOK = """
import sys
import pandas as pd
import judgepanel as jp

frame = pd.read_csv(sys.argv[1]).iloc[:, :8]
votes = jp.from_frame(frame[:200], label="label", item_id="item_id")
curve = jp.curve(votes, splits=2)
assert len(curve.frame()) and len(curve.plot().data)
jp.recommend(votes, splits=2).save("notebook.json")
print(len(jp.load_panel("notebook.json").score(frame[200:])))
print(jp.__file__)
"""
JUDGE = '[[judge]]\nname = "x"\nmodel = "x"\nbase_url = "http://localhost:9"\n'
PAIR = {"id": "q", "prompt": "p", "output_1": "a", "output_2": "b", "label": 1}
SIGN_IN = "from judgepanel.ui.access import is_team; is_team()"
WITHOUT_EXTRA = {
    "collect": ("judgepanel", "collect", "pairs.jsonl", "judges.toml", "--out", "asked"),
    "dask": ("judgepanel", "curve", "votes.csv", "--backend=dask", "--scheduler=tcp://localhost:9"),
    "excel": ("judgepanel", "inspect", "votes.xlsx"),
    "login": ("python", "-c", SIGN_IN),
    "postgres": ("judgepanel", "health"),
}
"""By extra, a command that needs it."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def wheel(environment):
    (file,) = environment.folder.with_name("dist").glob("*.whl")
    return file


@pytest.fixture(scope="module")
def votes(environment):
    """A shipped sample in the user's folder."""
    sample = environment.sample("clean_pairwise_votes.csv")
    (environment.work / "votes.csv").write_bytes(sample.read_bytes())
    return "votes.csv"


def test_the_wheel_names_its_command_and_holds_no_leftovers(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "judgepanel = judgepanel.cli:main" in archive.read(entry).decode()
    assert {"judgepanel/votes/samples.toml", "judgepanel/collect/prompts/code.txt"} <= {*names}
    shipped = {name.removeprefix("judgepanel/_app/") for name in names if "/_app/" in name}
    tracked = output("git", "ls-files", "app.py", "pages", "sample_data", ".streamlit")
    assert shipped == set(tracked.split())
    assert not [name for name in names if "__pycache__" in name or "secrets" in name]


def test_what_few_features_need_is_an_extra(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(entry).decode().split("\n\n")[0].splitlines()
    wanted = [Requirement(line.partition(": ")[2]) for line in lines if "Requires-Dist" in line]

    def of(*extras):
        return {
            requirement.name
            for requirement in wanted
            for extra in extras
            if requirement.marker is not None and requirement.marker.evaluate({"extra": extra})
        }

    core = {requirement.name for requirement in wanted if requirement.marker is None}
    assert {"streamlit", "numpy"} <= core
    for package, extra in EXTRAS.items():
        assert package.replace("_", "-") in of(extra) - core
    assert of("all") == of("postgres", "login", "collect", "excel", "dask")


def test_two_builds_are_identical(tmp_path):
    first, second = built(tmp_path / "first"), built(tmp_path / "second")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_the_command_recommends_and_scores(environment, votes):
    run = environment.output
    assert run("judgepanel", "--version") == f"judgepanel {__version__} (engine {ENGINE})\n"
    (environment.work / "judges.txt").write_text("fam1-judge01\nfam5-judge11\n", encoding="utf-8")
    options = ("--judges", "judges.txt", "--splits", "2", "--jobs", "1", "--out", "panel.json")
    run("judgepanel", "recommend", votes, *options)
    assert "300 items scored" in run("judgepanel", "score", "panel.json", votes, "--out", "s.csv")


def test_a_script_goes_from_a_frame_to_the_scores_of_a_saved_panel(environment, votes):
    scored, where = environment.output("python", "-c", NOTEBOOK, votes).split()
    assert scored == "100"
    assert Path(where).is_relative_to(environment.folder)


@pytest.mark.parametrize("extra", sorted(set(EXTRAS.values())))
def test_a_feature_without_its_extra_says_so_in_one_sentence(extra, environment, votes):
    files = {
        "judges.toml": JUDGE,
        "pairs.jsonl": json.dumps(PAIR),
        ".streamlit/secrets.toml": '[auth]\ncookie_secret = "x"\n',
    }
    for name, text in files.items():
        path = environment.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (environment.work / "votes.xlsx").write_bytes(empty_workbook())
    database = {"JUDGEPANEL_DATABASE_URL": "postgresql://localhost/votes"}
    ran = environment.run(*WITHOUT_EXTRA[extra], **(database if extra == "postgres" else {}))
    assert ran.returncode
    sentence = (ran.stderr or ran.stdout).splitlines()[-1]
    assert sentence.endswith(f"install it with: pip install 'judgepanel[{extra}]'.")


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as error:
        require(package, "this")
    assert str(error.value) == (
        f"this needs the package {package}, which is not installed; "
        f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'."
    )


@pytest.mark.parametrize(
    "arguments", [("--help",), ("pairs.jsonl", "judges.toml", "--out=new", "--estimate")]
)
def test_help_and_an_estimate_need_no_extra(arguments, environment):
    (environment.work / "judges.toml").write_text(JUDGE, encoding="utf-8")
    (environment.work / "pairs.jsonl").write_text(json.dumps(PAIR), encoding="utf-8")
    assert environment.run("judgepanel", "collect", *arguments).returncode == 0
