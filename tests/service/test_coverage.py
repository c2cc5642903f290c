"""Coverage of judges' outputs is stored with the analysis; older analyses have none."""

import json

from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes
from tests.helpers import transcripts
from tests.service.counting import loaded


def test_coverage_is_kept_bit_for_bit(home):
    read = load_votes(transcripts(), name="said.jsonl")
    made = home().create(read, Settings(), "said")
    assert home().open(made.id) == made
    assert made.coverage == read.coverage


def test_an_analysis_of_a_version_without_coverage_opens(home, votes, sql):
    made = home().create(loaded(votes), Settings(), "old")
    ((content,),) = sql("SELECT content FROM analyses")
    plain = json.loads(content)
    del plain["coverage"]
    text = json.dumps(plain).replace("'", "''")
    sql(f"UPDATE analyses SET content = '{text}'")  # noqa: S608
    assert home().open(made.id) == made
    assert home().list() == (made,)
