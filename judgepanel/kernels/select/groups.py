"""A small number of groups of judges with similar errors, so that all unions can be searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from judgepanel.arrays import Bools
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.judges.redundancy import error_correlation, error_counts


def named_groups(names: Sequence[str]) -> Bools:
    """Return membership (n_groups, n_judges) by group name, in order of appearance.

    A judge without a name ('') is a group of one.
    """
    keys = [name or ("", j) for j, name in enumerate(names)]
    order = {key: g for g, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([order[key] for key in keys], dtype=np.int64)
    return np.asarray(codes == np.arange(len(order))[:, None])


def found_groups(ballots: Ballots, most: int) -> Bools:
    """At most ``most`` groups (n_groups, n_judges): average linkage on 1 - error correlation.

    Unknown pairs count as average. A panel of ``most`` judges or fewer is split into single judges;
    one without known pairs is split by column order.
    """
    n_judges = ballots.n_judges
    if n_judges <= most:
        return np.eye(n_judges, dtype=bool)
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    if not correlation.known.any():
        codes = (np.arange(n_judges) * most // n_judges).tolist()
    else:
        apart = scipy.spatial.distance.squareform(1.0 - correlation.value, checks=False)
        codes = scipy.cluster.hierarchy.fcluster(
            scipy.cluster.hierarchy.linkage(apart, "average"), most, "maxclust"
        ).tolist()
    names = dict.fromkeys(codes)
    return np.array([[code == name for code in codes] for name in names])
