"""Definitions of the terms on the pages: in the menu, and on each term where it stands."""

from __future__ import annotations

import re

from judgepanel.votes.errors import on_page
from judgepanel.words.text import in_html

TERMS: dict[str, str] = {
    "Ability": "How good a judge is in the model of judges and items, in standard deviations of "
    "item difficulty; 0 is the mean item.",
    "Aggregator": "The rule that combines the votes on an item into one score.",
    "As given": "An orientation that uses every item in the order of the file.",
    "AUAC": "Area under the accuracy-coverage curve: the mean accuracy as the panel answers more "
    "and more items, most confident first.",
    "Average of pipelines": "The mean of the probabilities that several pipelines give an item, "
    "each with its own weight. The recommended panel is usually such an average.",
    "Base-rate baseline": "The score of always stating the share of each label among the "
    "calibration items, without any judge. A panel is useful only if it does better.",
    "Best in hindsight": "The panel with the lowest NLL on the very items it is scored on. Nobody "
    "could have chosen it beforehand, so its score is too good.",
    "Beta": "A calibrator with three parameters, which can bend the two ends of the scale "
    "differently. A penalty keeps it close to no change.",
    "Brier score": "The mean squared difference between the probability and the label, from 0 "
    "(perfect) to 1.",
    "Calibration": "Learning from labels how to turn a score into a probability. Of the items "
    "given 80 %, about 80 % should then have label 1.",
    "Calibration share": "The share of the labelled items in each split that panels are fitted on. "
    "The other items are scored.",
    "Calibration slope": "How stated log-odds compare with what happened: 1 is right, below 1 the "
    "probabilities are too extreme, above 1 too cautious.",
    "Candidate": "One choice of judges, aggregator and calibrator that the recommendation compares "
    "with others.",
    "Cluster": "Judges whose errors correlate with each other more than with those of other "
    "judges.",
    "Confidence": "The probability that the panel gives to the label it decides for, 50 % or more.",
    "Conformal set": "The labels that cannot be ruled out at a level: at 90 %, at least nine sets "
    "in ten contain the true label on average. A set may contain one label, both or neither.",
    "Constant score": "The same score for every item, sent through the same calibrator as the "
    "panel. It shows what can be reached without any judge.",
    "Coverage": "For a judge, the share of items with its vote; for conformal sets, the share that "
    "contain the true label.",
    "Cross-fitted": "Each item is scored by a fit that did not use its label, so all labels can be "
    "used without an item influencing its own score.",
    "Curate": "To keep only some of the judges, usually the best k, instead of all.",
    "Curator": "A rule that chooses judges, such as adding the most useful judge next or keeping "
    "one judge per family.",
    "Dawid–Skene": "An aggregator that estimates, for each judge, how often it is right on either "
    "label. It learns from agreement between judges, with or without labels.",
    "Disagreement": "How evenly the votes on an item are divided: 0 if all agree, 1 if half vote "
    "for each label.",
    "Discrimination": "How sharply a judge's accuracy falls as items get harder, in the model of "
    "judges and items.",
    "Drift": "A change between the votes a panel was fitted on and new votes, such as a judge that "
    "agrees less often with the others. Scoring warns of it.",
    "ECE": "Expected calibration error: the mean difference between stated confidence and "
    "accuracy, over 10 or 15 bins of confidence.",
    "Effective labels": "The number of equally weighted labels that would carry as much "
    "information as the weighted ones.",
    "Effective number of judges": "How many judges with uncorrelated errors would average out "
    "errors as well as this panel.",
    "Equivalent": "Shown to differ by less than a margin, by two one-sided tests (TOST). This says "
    "more than that no difference was shown.",
    "Error correlation": "Whether two judges are wrong on the same items: 1 always, 0 no more than "
    "by chance, below 0 less than by chance.",
    "Escalation": "Asking a cheap panel first and all judges only where its confidence is below a "
    "threshold.",
    "Expected NLL": "The NLL to expect on new items from a panel chosen and fitted in this way. It "
    "includes the cost of selection bias.",
    "Fair sample": "Labelled items that differ from the others in nothing but chance, as items "
    "drawn at random do.",
    "Fallback": "A simpler score that is used for an item when judges with much of the panel's "
    "weight did not vote on it.",
    "Family": "Judges that belong together in the judge table, such as models of one vendor.",
    "Filter": "The rule of check P1 (parse rate) that drops judges whose verdicts are mostly "
    "unreadable or nearly all the same, and judges below chance that the aggregator cannot use.",
    "Fingerprint": "The first digits of the SHA-256 of the votes and labels. Equal fingerprints "
    "mean equal data.",
    "Frontier": "The candidates or panels whose NLL is not reached by anything smaller or cheaper.",
    "Group": "Items that belong together, such as copies or answers to one prompt. They stay on "
    "the same side of every split and count as one unit in intervals.",
    "Holm": "A correction of p-values when several tests are made at once, so that the chance of "
    "any false finding stays at the level of one test.",
    "Importance-weighted": "Calibrated with labels that count more the more their items look like "
    "the items to be scored.",
    "Interval": "The range in brackets. Unless stated otherwise it is meant to contain the true "
    "value in 95 of 100 repetitions, for new items and newly fitted panels.",
    "Isotonic": "A calibrator whose probability rises in steps with the score, as the labels "
    "suggest.",
    "Joint": "An aggregator: the one-coin score plus a correction for each judge, which "
    "cross-validation limits. It allows for judges that err together.",
    "Jury bound": "An upper limit on how often the best weighting of judges errs if their errors "
    "are independent.",
    "Label budget": "The number of labels with which judges are ranked, weighted and calibrated.",
    "Lean": "A panel: the smallest whose expected NLL is within the loss accepted. Of a judge: a "
    "preference for label 1, or for the response shown first, that neither labels nor responses "
    "explain.",
    "Log-odds": "The logarithm of p / (1 - p): 0 at 50 %. The aggregator of this name weighs each "
    "vote by the log-odds of the judge's accuracy.",
    "Margin": "The largest loss that counts as no loss: 2 % of the NLL of the panel that is "
    "compared with, unless stated otherwise.",
    "Mondrian": "Conformal sets with a separate threshold for each group of items, so that "
    "coverage holds in each group.",
    "Monotone": "Of stacking and joint: no judge gets a weight below 0. Of a calibrator: the "
    "probability never falls as the score rises.",
    "Nested": "70 % of the calibration items fit the aggregator, the others the calibrator.",
    "NLL": "Negative log-likelihood, in nats: the mean of -log(probability given to the true "
    "label). 0 is perfect; confident errors cost most.",
    "One-class coding": "Writing every item so that its label is 1. A constant answer then looks "
    "perfect, so the scores measure the coding, not the judges.",
    "One-coin": "An aggregator that assumes each judge is right with a fixed probability. A vote "
    "weighs the log-odds of that probability.",
    "Orientation": "How the arbitrary order of two responses is treated: as given, randomized or "
    "symmetric.",
    "P0": "Scope checks of the items: whether the order of the responses gives labels away, and "
    "whether items repeat.",
    "P1": "Scope check of each judge: whether enough of its verdicts can be read, and whether it "
    "is right less often than chance.",
    "P2": "Scope check of panel size: whether the less accurate judges still improve the panel.",
    "P3": "Scope check of the aggregator: whether votes are missing at random, and whether another "
    "aggregator handles missing votes better.",
    "Panel": "The judges whose votes are combined.",
    "Parse rate": "The share of labelled items on which a judge's verdict could be read.",
    "Pipeline": "An aggregator and a calibrator, applied one after the other.",
    "Placebo": "A comparison that should show no effect, here a weighting by random numbers.",
    "Plateau": "The NLL at the largest number of labels that could be tried.",
    "Platt": "A calibrator that multiplies the score by a number and adds another before it "
    "becomes a probability.",
    "Position": "Whether a response was shown first or second. A judge may prefer a position "
    "whatever the responses say, which swapping does not repair.",
    "Prior": "The weight that a pipeline gets in the average before any data are seen.",
    "Protocol": "How panels are fitted and scored. 'Honest' never scores an item by its own label; "
    "'paper' repeats the published procedure for comparison.",
    "Pseudo-BMA weights": "Weights of the pipelines in an average: prior x exp(-summed "
    "cross-validated NLL), averaged over Bayesian bootstrap draws of the items.",
    "Randomized": "An orientation that swaps the two responses of each item by a coin toss drawn "
    "from the seed.",
    "Residual correction": "A logistic regression that adjusts the score with item features before "
    "calibration.",
    "Role": "What kind of contribution a judge makes: copy (errs like another), specialist (better "
    "on one slice), complement (missed by the panel) or ordinary.",
    "Selection bias": "How much better a choice looks on the data where it was made than on new "
    "items; also called optimism.",
    "Set aside": "Excluded before any fit, for example because the judge has no vote on a labelled "
    "item or nearly always gives the same verdict.",
    "Shapley value": "What a judge adds to the panels that lack it, averaged over the orders in "
    "which judges can join.",
    "Simultaneous band": "A band that contains the whole true line in 95 of 100 samples. Bands for "
    "single points are narrower and promise less.",
    "Skill": "1 - NLL / NLL of the base-rate baseline: 0 is no better than the baseline, 1 is "
    "perfect.",
    "Slice": "The items that share a value of an item feature.",
    "Spearman ρ": "Rank correlation, which tells whether two scores order the items alike: 1 is "
    "the same order, -1 the reverse.",
    "Split": "A random division of the labelled items into calibration items, to learn from, and "
    "evaluation items, to be scored. Figures are means over many splits.",
    "Stability": "How well splits agree on a choice, or how often random halves of the items put "
    "the judges of a cluster together; 1 is always.",
    "Stacking": "An aggregator: logistic regression on the votes, which gives each judge a weight "
    "that allows for the others.",
    "Status": "Helps, could go, or unsettled by the measured value of a judge; or it fails a check "
    "of Scope. The recommended panel may still keep a judge that could go.",
    "Stratum": "A part of the items, such as the third with the most disagreement.",
    "Symmetric": "An orientation that uses each item together with its swap, so that nothing can "
    "be learned from the order of the responses.",
    "Temperature": "A calibrator with one parameter, which makes all probabilities more or less "
    "extreme.",
    "Tie": "A verdict that prefers neither response. It counts as read, and as a missing vote in "
    "every score.",
    "Tied": "Not told apart: the 95 % interval of the difference contains 0. This does not show "
    "that the two are equal.",
    "Top-k": "The k judges with the highest accuracy on the calibration items.",
    "Uncalibrated": "Taken directly from the aggregator, before any calibration; also called raw.",
    "Undecided": "The interval of the difference reaches beyond the margin on both sides, so "
    "neither choice is shown to be safe. More labels narrow it.",
    "Weight": "What a judge's vote counts in the panel, or what a pipeline counts in an average.",
    "Worth": "How much the NLL rises when the panel is refitted without the judge: above 0 the "
    "judge helps.",
}
_BY_NAME = {term.casefold(): term for term in TERMS}
_TERM = re.compile(
    rf"(?<![\w-])(?:({'|'.join(map(re.escape, sorted(TERMS, key=len, reverse=True)))})s?|top-\d+)"
    r"(?![\w-]| test| about)",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\d[\d.,]* %")


def with_terms(text: str, length: int = 400) -> str:
    """Return text for an HTML body in which the first mention of each term shows its definition.

    The definition appears below the term while a pointer is on it, or after a tap. It is an
    attribute, so the text itself stays as it was; the keyboard reaches it through the menu.
    Controls are named as they stand on pages.
    """
    explained = set()

    def explain(mention: re.Match[str]) -> str:
        term = _BY_NAME[mention[1].casefold()] if mention[1] else "Top-k"
        if term in explained:
            return mention[0]
        explained.add(term)
        meaning = in_html(f"{term}: {TERMS[term]}")
        return f'<span class="jp-term" tabindex="-1" data-meaning="{meaning}">{mention[0]}</span>'

    unbroken = _SHARE.sub(r'<span class="jp-whole">\g<0></span>', in_html(on_page(text), length))
    return _TERM.sub(explain, unbroken)
