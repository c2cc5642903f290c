"""Files as teams have them are read right, or refused with a remedy that leads to what is right."""

import numpy as np
import pytest

from judgepanel.votes import InputError, load_votes
from tests.field.layouts import CASES
from tests.field.world import MISSING

MOST_STEPS = 2


def read(case):
    """Follow the refusals of a file, which must name the option of each step."""
    given: dict[str, object] = {}
    for option, arguments in case.steps:
        with pytest.raises(InputError) as refused:
            loaded(case, given)
        assert option in str(refused.value)
        given |= arguments
    return loaded(case, given)


def loaded(case, given):
    return load_votes(case.data, name=case.name, labels=case.label_file, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
def test_every_cell_is_right(name):
    case = CASES[name]()
    assert len(case.steps) <= MOST_STEPS
    result = read(case)
    votes = result.votes
    assert case.task in (None, votes.task)
    rows = [votes.item_ids.index(item) for item in case.items if item in votes.item_ids]
    order = [k for k, item in enumerate(case.items) if item in votes.item_ids]
    columns = [votes.judges.index(name) for name in case.judges or votes.judges]
    labels, cells = votes.labels[rows], votes.votes[rows][:, columns]
    if (case.labels == MISSING).all():  # Labels are drawn: what is right is known, not which side.
        right = (cells == labels[:, None]).astype(cells.dtype)
        cells = np.where(cells == MISSING, MISSING, right)
    else:
        assert labels.tolist() == case.labels[order].tolist()
    truth = case.votes[order]
    kept = (truth != MISSING).any(axis=0)
    assert cells[:, kept].tolist() == truth[:, kept].tolist()
    assert set(votes.item_ids) <= set(case.items)
    named = {case.judges[j] for j in range(len(case.judges))} or set(votes.judges)
    assert {
        j for j in votes.judges if (votes.votes[:, votes.judges.index(j)] != MISSING).any()
    } <= named
    for note in case.notes:
        assert note in " ".join((result.reading.sentence, *result.warnings))
