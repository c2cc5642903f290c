"""Dawid-Skene by plain loops over items and judges, probabilities multiplied in logs."""

import math


def plain_em(votes, labels, *, smoothing, symmetric, steps):
    """Run so many steps; signed votes (n, K) and labels (n,), 0 for missing and for not labelled.

    Returns pi1 and pi0 (K,), the class prior, and P(z = 1) of every item.
    """
    n, n_judges = len(votes), len(votes[0])
    posterior = [1.0 if s > 0 else 0.0 if s < 0 else None for s in labels]
    if all(s == 0 for s in labels):
        for i, row in enumerate(votes):
            ones, cast = sum(v > 0 for v in row), sum(v != 0 for v in row)
            posterior[i] = (ones + smoothing) / (cast + 2 * smoothing) if cast else None
    else:
        step = _m_step(votes, posterior, smoothing, symmetric)
        posterior = _e_step(votes, labels, *step)
    for _ in range(steps):
        pi1, pi0, prior = _m_step(votes, posterior, smoothing, symmetric)
        posterior = _e_step(votes, labels, pi1, pi0, prior)
    every = [_posterior(votes[i], pi1, pi0, prior) for i in range(n)]
    return pi1[:n_judges], pi0, prior, every


def _m_step(votes, posterior, smoothing, symmetric):
    pi1, pi0 = [], []
    known = [i for i, p in enumerate(posterior) if p is not None]
    for j in range(len(votes[0])):
        cell = {(v, z): smoothing for v in (1, -1) for z in (1, 0)}
        for i in known:
            if votes[i][j]:
                cell[votes[i][j], 1] += posterior[i]
                cell[votes[i][j], 0] += 1 - posterior[i]
        if symmetric:
            # An item and its swap: every cell has a mirror image, pseudo-votes count once.
            right = cell[1, 1] + cell[-1, 0] - smoothing
            wrong = cell[-1, 1] + cell[1, 0] - smoothing
            right, wrong = max(right, 1e-10), max(wrong, 1e-10)
            pi1.append(right / (right + wrong))
            pi0.append(wrong / (right + wrong))
            continue
        cell = {key: max(value, 1e-10) for key, value in cell.items()}
        pi1.append(cell[1, 1] / (cell[1, 1] + cell[-1, 1]))
        pi0.append(cell[1, 0] / (cell[1, 0] + cell[-1, 0]))
    class1 = sum(posterior[i] for i in known) + smoothing
    class0 = sum(1 - posterior[i] for i in known) + smoothing
    return pi1, pi0, 0.5 if symmetric else class1 / (class1 + class0)


def _e_step(votes, labels, pi1, pi0, prior):
    posterior = []
    for row, label in zip(votes, labels, strict=True):
        if label:
            posterior.append(1.0 if label > 0 else 0.0)
        elif any(row):
            posterior.append(_posterior(row, pi1, pi0, prior))
        else:
            posterior.append(None)  # nothing is learned from an item nobody voted on
    return posterior


def _posterior(row, pi1, pi0, prior):
    label_one, zero = math.log(prior), math.log(1 - prior)
    for vote, p1, p0 in zip(row, pi1, pi0, strict=True):
        if vote > 0:
            label_one, zero = label_one + math.log(p1), zero + math.log(p0)
        elif vote < 0:
            label_one, zero = label_one + math.log(1 - p1), zero + math.log(1 - p0)
    top = max(label_one, zero)
    return math.exp(label_one - top) / (math.exp(label_one - top) + math.exp(zero - top))
