"""The table of docs/claim.md on public votes: both codings, within their standard errors."""

from functools import cache

import pytest

from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, ClaimSpec
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from tests.helpers import larger

SPLITS = 15


@cache
def claim(path, *, joint=False, splits=SPLITS):
    return run(CLAIM, load_votes(path).votes, ClaimSpec(Settings(splits=splits), joint=joint))


def levels(result, step):
    """NLL of top-3, top-5, top-10 and all judges."""
    return result.nll.value[result.row(step), result.columns()].tolist()


@pytest.mark.parametrize(
    ("name", "step", "wanted", "rel"),
    [
        larger("rewardbench_correctness", "raw_one_class", [0.211, 0.224, 0.270, 0.449], 0.10),
        larger("rewardbench_correctness", "paper", [0.0083, 0.0074, 0.0068, 0.0064], 0.08),
        larger("rewardbench", "honest_clipped", [0.145, 0.149, 0.169, 0.272], 0.08),
        larger("rewardbench", "honest_beta", [0.140, 0.133, 0.133, 0.212], 0.08),
        larger("rewardbench", "honest_temperature", [0.139, 0.132, 0.133, 0.211], 0.08),
        ("llmbar", "honest_clipped", [0.345, 0.353, 0.394, 0.384], 0.08),
        ("llmbar", "honest_beta", [0.344, 0.331, 0.339, 0.329], 0.08),
        ("llmbar", "paper", [0.0146, 0.0116, 0.0093, 0.0082], 0.08),
    ],
)
def test_the_table_is_reproduced(real_votes, name, step, wanted, rel):
    result = claim(real_votes(f"{name}_votes.csv"))
    assert levels(result, step) == pytest.approx(wanted, rel=rel)


@pytest.mark.real_votes
def test_more_judges_help_under_one_class_coding_only_where_the_map_may_fall(real_votes):
    result = claim(real_votes("rewardbench_correctness_votes.csv"))
    three, *_, everyone = levels(result, "paper")
    assert everyone < three
    three, *_, everyone = levels(result, "paper_monotone")
    assert 0.014 < three < everyone < 0.023
    assert result.falling[result.row("paper")].min() == 1.0
    assert result.n_judges[result.row("paper")] == 149
    assert result.n_judges[result.row("honest")] == 148


@pytest.mark.real_votes
def test_the_reversal_is_not_there_with_honest_labels(real_votes):
    result = claim(real_votes("rewardbench_correctness_votes.csv"))
    assert result.reversal("honest", 5).outcome == "does not appear"
    assert result.reversal("honest_clipped", 5).outcome == "does not appear"
    assert result.reversal("paper", 5).delta.value > 0.0


def test_it_is_there_where_votes_are_seen_jointly(real_votes):
    result = claim(real_votes("llmbar_votes.csv"), joint=True, splits=5)
    joint = result.reversal("joint", 5)
    assert joint.delta.value > 0.05
    assert result.nll.value[result.row("joint"), -1] < 0.26
    assert result.change[result.row("joint"), -1].below()
