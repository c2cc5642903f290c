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
    "Confidence": "The probability of the label the panel decides for, from 50 % on.",
    "Calibration slope": "1 where stated log-odds mean what they say; below 1 they are too "
    "extreme, above 1 too timid.",
    "AUAC": "Area under the accuracy-coverage curve: mean share right when the surest items are "
    "answered first.",
    "Disagreement": "How evenly an item's votes are divided: 0 all alike, 1 half against half.",
    "Mondrian": "Conformal sets with a threshold for each group of items, so that each is covered.",
    "Calibration": "Turning a raw score into a probability that means what it says, with labels.",
    "Raw": "The aggregated votes taken at their word, before calibration.",
    "One-coin": "Each judge is right with one probability, learned from labels; votes add up as "
    "log-odds.",
    "Dawid–Skene": "Judges and labels are learned together, each judge with two chances of being "
    "right, one for each label; it needs no labels, or takes those there are.",
    "Stacking": "A logistic regression on the votes: each judge gets the weight it deserves "
    "beside the others.",
    "Joint": "The one-coin score plus a correction for every judge, as large as cross-validation "
    "finds useful.",
    "Temperature": "One number that makes all probabilities more or less extreme.",
    "Beta": "A three-parameter calibration map, kept close to doing nothing.",
    "Platt": "A stretch and a shift of the score before it becomes a probability.",
    "Isotonic": "A probability that rises in steps with the score, as the labels have it.",
    "Cross-fitted": "Each item is scored by a fit that did not see its label, so that no label is "
    "left out and none flatters itself.",
    "Nested": "70 % of the calibration items fit the aggregator, the others the calibrator.",
    "Tied": "Nothing shows that the two differ: the 95 % interval of the difference holds 0.",
    "Spearman ρ": "Whether two scores order the items alike: 1 is the same order, -1 the reverse.",
    "Conformal set": "The labels that cannot be ruled out at a level: at 90 %, nine sets in ten "
    "hold the true one. A set can hold both, or neither.",
    "Top-k": "The k judges that were most accurate on the calibration items.",
    "Budget": "How many labels a panel is ranked, weighted and calibrated on.",
    "Plateau": "The NLL at the largest number of labels that could be tried.",
    "Simultaneous band": "Covers a whole line, not one point of it, in 95 of 100 samples.",
    "Split": "A random half of the items to learn from and the other half to be judged on.",
    "Optimism": "How much better a choice looked where it was made than on untouched items.",
    "Symmetric": "Each item is used together with its swap, so nothing can be learned from which "
    "response came first.",
    "Margin": "Differences below 2 % of the NLL of all judges are treated as no loss.",
    "Equivalent": "Shown to differ by less than a margin, by a test of its own (two one-sided "
    "tests): not the same as no difference being shown.",
    "Jury bound": "How rarely the best weighting of judges can err if they err independently.",
}
