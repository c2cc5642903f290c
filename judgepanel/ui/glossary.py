"""Terms in plain words, for pop-ups beside the figures."""

from __future__ import annotations

TERMS: dict[str, str] = {
    "NLL": "Negative log-likelihood: the mean surprise, in nats, of the true label under the "
    "stated probability. 0 is perfect; a sure and wrong statement costs most.",
    "Null": "What the base rate of the labels alone would score, with no judge at all.",
    "Skill": "1 - NLL / null NLL: 0 is no better than the base rate, 1 is perfect.",
    "Brier score": "Mean squared distance between the probability and the label, from 0 to 1.",
    "ECE": "Expected calibration error: how far stated confidence and the share of right "
    "decisions lie apart, over 10 bins.",
    "Calibration": "Turning a raw score into a probability that means what it says, with labels.",
    "Raw": "The aggregated votes taken at their word, before calibration.",
    "One-coin": "Each judge is right with one probability, learnt from labels; votes add up as "
    "log-odds.",
    "Temperature": "One number that makes all probabilities more or less extreme.",
    "Beta": "A three-parameter calibration map, kept close to doing nothing.",
    "Top-k": "The k judges that were most accurate on the calibration items.",
    "Split": "A random half of the items to learn from and the other half to be judged on.",
    "Optimism": "How much better a choice looked where it was made than on untouched items.",
    "Symmetric": "Each item is used together with its swap, so nothing can be learnt from which "
    "response came first.",
    "Margin": "Differences below 2 % of the NLL of all judges are treated as no loss.",
}
