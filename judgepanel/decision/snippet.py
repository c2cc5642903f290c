"""A plain Python script that scores with panel.json alone.

On the same machine, with the same wheels, it agrees with the library to the last bit. It is stored
as text because it is exported; tests run it against the library.
"""

from __future__ import annotations

SNIPPET = '''import bisect
import json
import math


def probability(panel, votes):
    """P(label 1) of one item; votes maps a judge to 0 or 1, and to its grade if panel["grades"] has
    a threshold for it; judges that did not vote are absent.
    """
    scales = panel["grades"] or [None] * len(panel["judges"])
    codes = [code_of(votes.get(judge), scale) for judge, scale in zip(panel["judges"], scales)]
    cast = votes_of(codes)
    if cast.count(None) == len(cast):
        return panel["prior"]
    m = fallback_logit(panel["fallback"], cast)
    if m is not None:
        return sigmoid(m)
    members = panel["members"]
    p = [member_probability(member, codes, panel["prior"]) for member in members]
    if len(p) == 1:
        return p[0]
    total = 0.0
    for member, value in zip(members, p):
        distance = max(value, 1.0 - value) - 0.5
        total += member["weight"] * (-distance if value < 0.5 else distance)
    average = 1.0 - (0.5 - total) if total < 0.0 else 0.5 + total
    return min(max(average, 0.001), 0.999)


def code_of(vote, scale):
    """A vote, or a grade cut into a vote and its band by their distance from the threshold."""
    if vote is None or scale is None:
        return vote
    if vote == scale["threshold"]:
        return None
    distance = abs(vote - scale["threshold"]) * 1e12
    distance = (round(distance) if distance < 2**53 else distance) / 1e12
    return int(vote > scale["threshold"]) + 2 * bisect.bisect_right(scale["edges"], distance)


def votes_of(codes):
    return [None if code is None else code & 1 for code in codes]


def member_probability(member, codes, prior):
    codes = [codes[column] for column in member["columns"]]
    if codes.count(None) == len(codes):
        return prior
    return sigmoid(calibrated(member["calibrator"], raw_logit(member["aggregator"], codes)))


def sigmoid(m):
    small = math.exp(-abs(m)) / (1.0 + math.exp(-abs(m)))
    return min(max(small if m < 0 else 1.0 - small, 0.001), 0.999)


def label_set(panel, p, level):
    """Labels credible at level 0.8 or 0.9, such as {0,1}; blank where no slice was held out."""
    for limit in (panel["conformal"] or {}).get("levels", []):
        if limit["level"] == level:
            of_one = 1.0 - p
            scores, most = {"0": 1.0 - of_one, "1": of_one}, limit["threshold"]
            credible = [z for z, score in scores.items() if most is None or score <= most]
            return "{" + ",".join(credible) + "}"
    return ""


def raw_logit(rule, codes):
    cast, weights = votes_of(codes), rule.get("weights", [1.0] * len(codes))
    if "levels" in rule:
        weights = [bands[(code or 0) >> 1] for code, bands in zip(codes, rule["levels"])]
    if rule["kind"] in ("majority", "accuracy_weighted"):
        nothing = [0.0] * len(cast)
        ones, zeros = weigh(cast, weights, nothing), weigh(cast, nothing, weights)
        return math.log(ones + 1.0) - math.log(zeros + 1.0)
    ones = rule.get("ones", weights)
    zeros = rule.get("zeros", [-weight for weight in weights])
    logit = weigh(cast, ones, zeros) + rule.get("prior_logit", rule.get("intercept", 0.0))
    likeness = 0.0
    for past, pull in zip(rule.get("prototypes", []), rule.get("pull", [])):
        marked = zip(cast, past, rule["shares"])
        d = 0.0
        for vote, mark, share in marked:
            if vote is not None and mark != ".":
                d += share if vote == int(mark) else -share
        square = d * d
        likeness += 0.5 * d * square * (1.0 + square) * pull
    return logit + likeness


def fallback_logit(rule, cast):
    """Of an item on which too much of the panel did not vote; None for all others."""
    if not rule:
        return None
    sizes = [abs(weight) for weight in rule["weights"]]
    there = weigh(cast, sizes, sizes) / weigh([1] * len(cast), sizes, sizes)
    if 1.0 - there <= rule["beyond"]:
        return None
    temperature = rule["few"] * (1.0 - there) + rule["all"] * there
    return weigh(cast, rule["weights"], [-weight for weight in rule["weights"]]) / temperature


def weigh(cast, ones, zeros):
    total = 0.0
    for vote, one, zero in zip(cast, ones, zeros):
        total += 0.0 if vote is None else one if vote else zero
    return total


def calibrated(calibrator, logit):
    if calibrator["kind"] == "isotonic":
        return between(calibrator, logit)
    if calibrator["kind"] == "beta_clipped":
        edge = math.log(0.999 / 0.001)
        logit = min(max(logit, -edge), edge)
    a = calibrator.get("a", calibrator.get("slope", 1.0))
    b, c = calibrator.get("b", -a), calibrator.get("c", calibrator.get("intercept", 0.0))
    if a == -b:
        return a * logit + c
    return a * log_sigmoid(logit) + b * log_sigmoid(-logit) + c


def log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def between(knots, logit):
    x, at, p = abs(logit) if knots["odd"] else logit, knots["logits"], knots["p"]
    i = bisect.bisect_right(at, x)
    if i in (0, len(at)):
        value = p[min(i, len(at) - 1)]
    else:
        value = p[i - 1] + (x - at[i - 1]) * (p[i] - p[i - 1]) / (at[i] - at[i - 1])
    value = min(max(value, 0.001), 0.999)
    m = math.log(value) - math.log1p(-value)
    return -m if knots["odd"] and logit < 0 else m
'''

USE = """

if __name__ == "__main__":
    with open("panel.json", encoding="utf-8") as file:
        panel = json.load(file)
    p = probability(panel, {panel["judges"][0]: 1})
    print(p, label_set(panel, p, 0.8), label_set(panel, p, 0.9))
"""


def script() -> str:
    """Return the whole file: functions and a usage example."""
    return SNIPPET + USE
