"""The base class of aggregators: validation, the label prior, probabilities from logits.

X is float (n_items, n_judges): at least .5 is a vote for label 1, below is a vote for label 0, NaN
is a missing vote. An item without votes gets the label prior of the fit.

Closed-form aggregators: majority, accuracy-weighted, log-odds, one-coin.

Dawid-Skene as a scikit-learn classifier, with or without labels.

Stacking and joint as scikit-learn classifiers: judges weighted jointly.

Aggregators of grades as scikit-learn classifiers: one-coin and joint on levels.

Item response model of correctness, as an estimator.

The table holds whether votes were right, not the votes: float (n_items, n_judges), 1 right, 0
wrong, NaN no vote. It does not depend on the order of the responses of a pair.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels import aggregation, dawid_skene, graded, irt, joint, maps, prefixes
from judgepanel.kernels.ballots import Ballots, fraction_logits, signs_of, weighted_logits
from judgepanel.models.panel import whole_of
from judgepanel.scoring.splits import fold_of, folds
from judgepanel.votes import MISSING, InputError


class VoteAggregator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Map from votes of a fixed panel to a raw logit.

    A subclass names its ``kind``, fits in :meth:`_learn`, scores in :meth:`_logits` and returns in
    :meth:`_left_out` the scores that calibrators may see.
    """

    kind: aggregation.Aggregator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to labelled items.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, or a number of classes other than two.
        """
        return self._fit(self._ballots(X, y))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the raw logit of class ``classes_[1]``, (n_items,)."""
        check_is_fitted(self)
        checked = self._checked(X)
        votes = self._verdicts(checked)
        logits = self._logits(checked, votes)
        return np.where((votes == MISSING).all(axis=1), self.prior_logit_, logits)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return raw probabilities (n_items, 2) in the order of ``classes_``."""
        p = maps.sigmoid(self.decision_function(X))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more likely class; class 1 at p = .5."""
        chosen = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[chosen.astype(int)])

    def left_out_scores(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Floats:
        """Return raw logits of the training items (n_items,), none fitted to its own unit's label.

        Calibrators may be fitted only to these, never to in-sample scores. They are valid for a
        *fixed* panel; a panel chosen by a ranking needs a leave-out ranking as well, as in
        ``judgepanel.kernels.aggregation``. What was fitted before stays.
        """
        fresh = clone(self)
        return np.asarray(fresh._left_out(fresh._ballots(X, y, groups)))

    def _fit(self, ballots: Ballots) -> Self:
        right, wrong = np.sum(ballots.signs > 0), np.sum(ballots.signs < 0)
        prior = 0.0 if ballots.symmetric else float(np.log((right + 1.0) / (wrong + 1.0)))
        self.prior_logit_ = prior
        self._learn(ballots)
        return self

    def _ballots(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        X_unlabelled: ArrayLike | None = None,
    ) -> Ballots:
        checked, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            classes = "1 class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(
                f"{type(self).__name__} needs labels of exactly 2 classes and found {classes}. "
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        unlabelled = None
        if X_unlabelled is not None:
            unlabelled = signs_of(self._verdicts(self._checked(X_unlabelled)))
        votes, units = signs_of(self._verdicts(checked)), np.arange(len(codes))
        if groups is not None:
            units = np.unique(np.asarray(groups), return_inverse=True)[1]
            if units.shape != (len(codes),):
                raise ValueError(f"groups need one value for each of the {len(codes)} items")
        return Ballots(
            votes,
            (2 * codes - 1).astype(np.int8),
            units,
            symmetric=bool(getattr(self, "symmetric", False)),
            unlabelled=unlabelled,
            margins=self._margins(checked),
        )

    def _checked(self, X: ArrayLike, *, reset: bool = False) -> Floats:
        """Return the input as floats, of as many judges as in the fit unless ``reset``."""
        table: Floats = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return table

    def _verdicts(self, X: Floats) -> Votes:
        """Return verdicts (n_items, n_judges) in {0, 1, -1 missing} of the input."""
        return np.where(np.isnan(X), MISSING, X >= 0.5).astype(np.int8)

    def _margins(self, X: Floats) -> Floats | None:
        """Return distances of the input from its threshold, if the aggregator uses them."""
        return None

    def _learn(self, ballots: Ballots) -> None:
        """Set the fitted attributes."""

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        """Return raw logits (n_items,) of the input and its verdicts in {0, 1, -1 missing}."""
        raise NotImplementedError

    def _left_out(self, ballots: Ballots) -> Floats:
        """Return raw logits (n_items,) of training items without own labels; 0 without votes."""
        ks = np.array([ballots.n_judges])
        scores = aggregation.panel_scores(ballots, whole_of(ballots), ks, aggregator=self.kind)
        return np.where(scores.calibration_empty[0], 0.0, scores.calibration[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags


class _ClosedForm(VoteAggregator):
    """An aggregator whose weights are functions of each judge's counts.

    Attributes
    ----------
    weights_ : float (n_judges,), weight of each judge's vote.
    correct_, voted_ : float (n_judges,), right verdicts and all verdicts on the training items.
    """

    kind: prefixes.ClosedForm

    def _learn(self, ballots: Ballots) -> None:
        self.correct_, self.voted_ = prefixes.counts(ballots, np.arange(ballots.n_items))
        self.weights_ = prefixes.closed_form_weights(self.kind, self.correct_, self.voted_)

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        return weighted_logits(votes, self.weights_)


class _Fraction(_ClosedForm):
    def _logits(self, X: Floats, votes: Votes) -> Floats:
        return fraction_logits(votes, self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A judge at chance counts half, or as much as any other.
        tags.classifier_tags.poor_score = True
        return tags


class MajorityVote(_Fraction):
    """Logit of the smoothed vote fraction, log((ones + 1) / (zeros + 1)).

    Smoothing is the posterior mean of the fraction under a uniform prior; without it a unanimous
    vote would be an infinite logit. All judges have the same weight.
    """

    kind: prefixes.ClosedForm = "majority"


class AccuracyWeighted(_Fraction):
    """Smoothed vote fraction with weight (c + 1) / (n + 2), the accuracy of the vote's judge.

    The logit is log((sum of weights for 1 + 1) / (sum of weights for 0 + 1)); see
    :class:`MajorityVote` for the ones.
    """

    kind: prefixes.ClosedForm = "accuracy_weighted"


class LogOdds(_ClosedForm):
    """Plug-in log-odds weights, log(a / (1 - a)) with a = c / n, plus the label prior.

    The optimal rule for independent judges of known accuracy (Nitzan and Paroush 1982,
    doi:10.2307/2526438; the paper's appendix). c is kept half a vote away from 0 and n, so that a
    judge without errors has a finite weight.

    Parameters
    ----------
    symmetric : omit the label prior, because the order of a pair is arbitrary.
    """

    kind: prefixes.ClosedForm = "log_odds"

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def _learn(self, ballots: Ballots) -> None:
        super()._learn(ballots)
        self.intercept_ = prefixes.prior_logit(ballots, np.arange(ballots.n_items))

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        return weighted_logits(votes, self.weights_) + self.intercept_


class OneCoin(_ClosedForm):
    """Integrated Bayesian one-coin model (Calibrate, Don't Curate, equation 1).

    A judge with c of n votes right adds +-log((c + 1) / (n - c + 1)).
    """

    kind: prefixes.ClosedForm = "one_coin"


class DawidSkene(VoteAggregator):
    """Two error rates per judge, estimated jointly with the labels by EM (Dawid and Skene 1979).

    Without ``supervised``, labels only name the classes: the EM uses votes alone, and its starting
    majority determines which of its two classes is which. If most judges are anti-experts, the
    result is reversed. With ``supervised``, labelled items are clamped.

    Parameters
    ----------
    supervised : clamp labelled items to their labels; items of ``X_unlabelled`` are used either
        way.
    smoothing : pseudo-votes added to each of a judge's four cells, and pseudo-items to each class,
        at least 0; 0 is maximum likelihood.
    max_iter, tol : stop after this many steps, or when no posterior probability changes by more.
    symmetric : tie a judge's two error rates and hold the class prior at 1/2.

    Attributes
    ----------
    classes_ : the two classes; 0 and 1 after a fit without labels.
    confusion_ : float (n_judges, 2, 2), P(vote v of judge j | class z) at [j, z, v].
    vote_logits_ : float (n_judges, 2), contribution of a vote v to the logit of ``classes_[1]``.
    prior_ : P(``classes_[1]``), in (0, 1); ``prior_logit_`` is its logit.
    posterior_ : float (n_items + n_unlabelled,), P(``classes_[1]``) of every training item, those
        of X first; a clamped item has its own label.
    n_iter_ : number of steps; ``converged_`` : whether ``tol`` was reached.

    References
    ----------
    Dawid and Skene 1979, doi:10.2307/2346806.
    """

    kind: aggregation.Aggregator = "dawid_skene"

    def __init__(
        self,
        *,
        supervised: bool = False,
        smoothing: float = dawid_skene.SMOOTHING,
        max_iter: int = dawid_skene.MAX_ITER,
        tol: float = dawid_skene.TOL,
        symmetric: bool = False,
    ) -> None:
        self.supervised = supervised
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.symmetric = symmetric

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, X_unlabelled: ArrayLike | None = None
    ) -> Self:
        """Fit to votes X (n_items, n_judges), labels y (n_items,) and unlabelled votes.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, a number of classes other than two, a
            parameter out of range, or no labels although ``supervised``.

        Warns
        -----
        ConvergenceWarning
            ``max_iter`` was reached before ``tol``.
        """
        if y is not None:
            return self._fit(self._ballots(X, y, X_unlabelled=X_unlabelled))
        if self.supervised:
            raise ValueError(
                f"{type(self).__name__} with supervised=True requires y to be passed, but the "
                "target y is None."
            )
        tables = [self._checked(X, reset=True)]
        if X_unlabelled is not None:
            tables.append(self._checked(X_unlabelled))
        every = signs_of(self._verdicts(np.concatenate(tables)))
        self.classes_ = np.array([0, 1])
        none = np.zeros(0, dtype=np.int8)
        self._learn(Ballots(every[:0], none, np.arange(0), bool(self.symmetric), every))
        return self

    def _rules(self) -> dawid_skene.Rules:
        return dawid_skene.Rules(self.smoothing, bool(self.symmetric), self.max_iter, self.tol)

    def _learn(self, ballots: Ballots) -> None:
        all_rows, judges = np.arange(ballots.n_items), np.arange(ballots.n_judges)
        votes, labels = dawid_skene.training(ballots, all_rows, judges, clamp=bool(self.supervised))
        everybody = np.ones((ballots.n_judges, 1), dtype=bool)
        fit = dawid_skene.fit_many(votes, everybody, labels=labels, rules=self._rules())
        given0, given1 = fit.pi0[:, 0], fit.pi1[:, 0]
        self.confusion_ = np.stack(
            [np.column_stack([1.0 - p, p]) for p in (given0, given1)], axis=1
        )
        self.vote_logits_ = np.column_stack([fit.zeros[:, 0], fit.ones[:, 0]])
        self.prior_logit_ = float(fit.prior[0])
        self.prior_ = float(maps.sigmoid(fit.prior)[0])
        posterior = maps.sigmoid(fit.logits(votes)[0])
        self.posterior_ = np.where(labels == 0, posterior, labels > 0)
        self.n_iter_ = int(fit.n_iter[0])
        self.converged_ = bool(fit.converged[0])
        if not self.converged_:
            text = f"Dawid-Skene stopped at max_iter={self.max_iter} before it converged."
            warnings.warn(text, ConvergenceWarning, stacklevel=4)

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        zeros, ones = self.vote_logits_.T
        return dawid_skene.two_coin_logits(votes, ones, zeros, self.prior_logit_)

    def _left_out(self, ballots: Ballots) -> Floats:
        all_rows, ks = np.arange(ballots.n_items), np.array([ballots.n_judges])
        clamp, rules = bool(self.supervised), self._rules()
        logits = np.empty(ballots.n_items)
        for piece in folds(ballots.units, all_rows, prefixes.N_FOLDS, seed=0, key=(0,)):
            learn, score = piece.calibration, piece.evaluation
            fit = prefixes.Fit(learn, score, np.zeros(len(learn), int))
            (logits[score],) = dawid_skene.fit_and_score(
                ballots, fit, ks, "accuracy", clamp=clamp, rules=rules
            )
        return logits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self.supervised)
        tags.classifier_tags.poor_score = not self.supervised  # columns need not share a meaning
        return tags


class Stacking(VoteAggregator):
    """Ridge logistic regression on the votes.

    Parameters
    ----------
    Cs : variances of a judge's weight under the ridge, positive and ascending. Several are
        averaged, weighted by their likelihood on held-out folds.
    n_folds : folds for these weights, at least 2; at most the number of groups is used.
    seed : seed of the folds.
    symmetric : fit every item and its swap, without an intercept.

    Attributes
    ----------
    weights_ : float (n_judges,), log-odds that a vote for ``classes_[1]`` adds and a vote for
        ``classes_[0]`` subtracts.
    intercept_ : log-odds of an item whose votes cancel.
    C_ : the C with the largest share, ``C_weights_`` (n_C,) the shares.
    cv_nll_ : float (n_C,), NLL in nats of every C on held-out folds; None with one C.
    panel_ : the complete fitted scorer, see :class:`judgepanel.kernels.joint.JointPanel`.
    """

    kind: aggregation.Aggregator = "stacking"

    def __init__(
        self,
        *,
        Cs: Sequence[float] = joint.CS,
        n_folds: int = prefixes.N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        self.Cs = Cs
        self.n_folds = n_folds
        self.seed = seed
        self.symmetric = symmetric

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to labelled items; items of one group (n_items,) stay in one fold.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, a number of classes other than two, or a
            parameter out of range.
        """
        return self._fit(self._ballots(X, y, groups))

    def _learn(self, ballots: Ballots) -> None:
        self._learn_panel(ballots)
        self.C_weights_ = self.panel_.C_weights
        self.C_ = float(self.panel_.Cs[np.argmax(self.C_weights_)])
        self.cv_nll_ = self.panel_.cv_nll

    def _learn_panel(self, ballots: Ballots) -> None:
        all_rows = np.arange(ballots.n_items)
        whole = prefixes.Fit(all_rows, all_rows[:0], self._fold(ballots))
        (self.panel_,) = self._panels(ballots, [whole])
        self.weights_ = np.empty(self.panel_.weights.shape)
        self.weights_[..., self.panel_.judges] = self.panel_.weights
        self.intercept_ = self.panel_.intercept
        if self.kind not in ("stacking", "stacking_monotone"):
            self.tau_ = self.panel_.tau

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        return self.panel_.logits(signs_of(votes))

    def _left_out(self, ballots: Ballots) -> Floats:
        fold, logits = self._fold(ballots), np.empty(ballots.n_items)
        fits = [
            prefixes.Fit(np.flatnonzero(fold != f), np.flatnonzero(fold == f), fold[fold != f])
            for f in range(int(fold.max()) + 1)
        ]
        for fit, panel in zip(fits, self._panels(ballots, fits), strict=True):
            logits[fit.score] = panel.scores(ballots, fit.score)
        return logits

    def _fold(self, ballots: Ballots) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self.n_folds < 2:
            raise ValueError(f"n_folds must be at least 2, this is {self.n_folds}.")
        all_rows = np.arange(ballots.n_items)
        pieces = folds(ballots.units, all_rows, self.n_folds, seed=self.seed, key=(0,))
        return fold_of(pieces, ballots.n_items)

    def _panels(self, ballots: Ballots, fits: list[prefixes.Fit]) -> list[joint.JointPanel]:
        return self._form().panels(ballots, fits, ballots.n_judges, Cs=self._ridges())

    def _ridges(self) -> list[float]:
        """Return ``Cs`` after validation."""
        Cs = [float(C) for C in self.Cs]
        if not Cs or Cs != sorted(Cs) or not 0.0 < Cs[0] <= Cs[-1] < np.inf:
            raise ValueError(f"Cs must be positive, finite and ascending, they are {self.Cs}.")
        return Cs

    def _form(self) -> joint.Form:
        return aggregation.RIDGES[self.kind]


class Joint(Stacking):
    """One-coin with a fitted temperature, corrected for dependence between judges.

    logit p = b + tau l(V) + V delta + g(V): l is the one-coin score, delta a correction of each
    judge's weight, g the contribution of agreement with past items. A ridge shrinks delta and g,
    not tau.

    Parameters
    ----------
    agreement : whether to include g; without it the model is linear in the votes.
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.

    Attributes
    ----------
    weights_ : float (n_judges,), tau times the one-coin weights, plus delta.
    tau_ : above 0; 1 for independent judges, smaller the more their votes repeat each other.
    intercept_, C_, C_weights_, cv_nll_, panel_ : as in :class:`Stacking`.
    """

    kind: aggregation.Aggregator = "joint"

    def __init__(
        self,
        *,
        agreement: bool = True,
        Cs: Sequence[float] = joint.CS,
        n_folds: int = prefixes.N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        super().__init__(Cs=Cs, n_folds=n_folds, seed=seed, symmetric=symmetric)
        self.agreement = agreement

    def _form(self) -> joint.Form:
        return replace(aggregation.RIDGES[self.kind], agreement=bool(self.agreement))


class MonotoneStacking(Stacking):
    """Ridge logistic regression on the votes with weights of at least 0.

    Only judges that are below chance according to the labels (95 % interval of accuracy below 1/2)
    may have negative weights. Attributes are those of :class:`Stacking`.

    Parameters
    ----------
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.
    """

    kind: aggregation.Aggregator = "stacking_monotone"


class MonotoneJoint(MonotoneStacking):
    """One-coin with a fitted temperature and a bounded correction of each judge's weight.

    The total weight of a vote, ``weights_``, is at least 0 except for judges that are below chance
    according to the labels. There is no agreement term, because weights do not bound its sign.
    Attributes are those of :class:`Stacking`, with ``tau_`` as in :class:`Joint`.

    Parameters
    ----------
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.
    """

    kind: aggregation.Aggregator = "joint_monotone"


class _Graded(VoteAggregator):
    """X holds grades: above the threshold is a vote for ``classes_[1]``, at it is no vote."""

    threshold: float | ArrayLike

    def _verdicts(self, X: Floats) -> Votes:
        cut = X - np.asarray(self.threshold, dtype=np.float64)
        return np.where(np.isnan(cut) | (cut == 0.0), MISSING, cut > 0.0).astype(np.int8)

    def _margins(self, X: Floats) -> Floats:
        margins = np.abs(X - np.asarray(self.threshold, dtype=np.float64))
        return np.asarray(np.nan_to_num(np.round(margins, 12)))


class GradedOneCoin(_Graded):
    """One-coin on levels: the weight of a vote follows the accuracy in the band of its grade.

    Parameters
    ----------
    threshold : float, or float (n_judges,), at which grades are cut into votes.

    Attributes
    ----------
    weights_ : float (4, n_judges), weight of a vote in each band of margins, nearest first; a judge
        with b bands uses the first b.
    levels_ : the cuts of the margins, see :class:`judgepanel.kernels.graded.Levels`.
    """

    kind: Literal["one_coin_graded"] = "one_coin_graded"  # type: ignore[assignment]

    def __init__(self, *, threshold: float | ArrayLike = 0.5) -> None:
        self.threshold = threshold

    def _learn(self, ballots: Ballots) -> None:
        self.levels_ = graded.levels_on(ballots, np.arange(ballots.n_items))
        bands = self.levels_.bands(ballots.margins, ballots.n_items)
        tally = graded.band_counts(ballots.votes, ballots.signs, bands)
        self.weights_ = graded.level_weights(*tally, self.levels_.n_bands)

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        bands = self.levels_.bands(self._margins(X), len(X))
        evidence = signs_of(votes) * self.weights_[bands, np.arange(votes.shape[1])]
        return np.asarray(evidence.sum(axis=1))


class GradedJoint(_Graded, Stacking):
    """Joint on levels: the weight of a judge's vote depends on the band of its grade.

    Parameters
    ----------
    threshold : float, or float (n_judges,), at which grades are cut into votes.
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.

    Attributes
    ----------
    weights_ : float (4, n_judges), log-odds of a vote in each band of margins, nearest first; a
        judge with b bands uses the first b.
    tau_ : as in :class:`Joint`.
    panel_ : the complete fitted scorer, see
        :class:`judgepanel.kernels.graded.GradedPanel`.
    """

    kind: Literal["joint_graded"] = "joint_graded"  # type: ignore[assignment]
    panel_: graded.GradedPanel  # type: ignore[assignment]

    def __init__(
        self,
        *,
        threshold: float | ArrayLike = 0.5,
        Cs: Sequence[float] = joint.CS,
        n_folds: int = prefixes.N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        super().__init__(Cs=Cs, n_folds=n_folds, seed=seed, symmetric=symmetric)
        self.threshold = threshold

    def _learn(self, ballots: Ballots) -> None:
        self._learn_panel(ballots)

    def _logits(self, X: Floats, votes: Votes) -> Floats:
        return self.panel_.logits(signs_of(votes), self._margins(X))

    def _panels(  # type: ignore[override]
        self, ballots: Ballots, fits: list[prefixes.Fit]
    ) -> list[graded.GradedPanel]:
        return graded.graded_panels(ballots, fits, ballots.n_judges, Cs=self._ridges())


class TwoPL(BaseEstimator):  # type: ignore[misc]
    """Two-parameter logistic model: P(judge j right on item i) = s(alpha_j (theta_j - beta_i)).

    Difficulties beta are N(0, 1), abilities theta N(mu, sigma^2), log discriminations N(m, t^2);
    ``judgepanel.kernels.irt`` says how they are estimated.

    Parameters
    ----------
    max_iterations : updates after which the fit stops, with a warning in ``warnings_``.

    Attributes
    ----------
    theta_, theta_se_, alpha_, log_alpha_, log_alpha_se_ : float (n_judges,).
    beta_, beta_sd_ : float (n_items,), posterior of the difficulties of the items of the fit.
    mu_, sigma_, m_, t_ : float, the population of judges.
    shares_ : Shares, Var(theta) : Var(beta) with an
        interval.
    log_likelihood_ : float, nats, difficulties integrated out.
    n_iter_, converged_, warnings_ : diagnostics of the fit.
    """

    def __init__(self, max_iterations: int = irt.MAX_ITERATIONS) -> None:
        self.max_iterations = max_iterations

    def fit(self, correct: ArrayLike, y: None = None) -> Self:
        """Fit to a table of correctness in {0, 1, NaN}, (n_items, n_judges).

        Raises
        ------
        InputError
            Other values, a wrong number of dimensions, or no votes.
        """
        marks = _marks(correct)
        if not marks.any():
            raise InputError("no judge has voted on any item", allowed="at least one 0 or 1")
        self.fit_ = fit = irt.fit_two_pl(marks, max_iterations=self.max_iterations)
        self.theta_, self.theta_se_ = fit.theta, fit.theta_se
        self.alpha_ = fit.alpha
        self.log_alpha_, self.log_alpha_se_ = fit.log_alpha, fit.log_alpha_se
        self.beta_, self.beta_sd_ = fit.beta, fit.beta_sd
        self.mu_, self.sigma_ = fit.population.mu, fit.population.sigma
        self.m_, self.t_ = fit.population.m, fit.population.t
        self.shares_ = irt.variance_shares(fit)
        self.log_likelihood_ = fit.log_likelihood
        self.n_iter_, self.converged_ = fit.iterations, fit.converged
        self.warnings_ = fit.warnings
        self.n_features_in_ = marks.shape[1]
        return self

    def predict_proba(self, correct: ArrayLike) -> Floats:
        """Return P(right) of every judge on every item, given its other marks, (n_items, n_judges).

        A mark in the table counts as given: set it to NaN to predict it.
        """
        return irt.right_probability(irt.as_marks(self._known(correct)), self.theta_, self.alpha_)

    def difficulty(self, correct: ArrayLike) -> tuple[Floats, Floats]:
        """Return posterior mean and standard deviation of beta, each (n_items,), for any items."""
        items = irt.item_posterior(irt.as_marks(self._known(correct)), self.theta_, self.alpha_)
        return items.mean, np.sqrt(items.variance)

    def _known(self, correct: ArrayLike) -> NDArray[np.int8]:
        check_is_fitted(self)
        marks = _marks(correct)
        if marks.shape[1] != self.n_features_in_:
            why = "the table has another number of judges than the fit"
            raise InputError(why, value=marks.shape[1], allowed=f"{self.n_features_in_} columns")
        return marks


def _marks(correct: ArrayLike) -> NDArray[np.int8]:
    """{0, 1, NaN} as {-1, +1, 0}."""
    table = np.asarray(correct, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        why = "correctness is not a table of items by judges"
        value = " x ".join(map(str, table.shape))
        raise InputError(why, value=value, allowed="at least one row and one column")
    wrong = ~(np.isnan(table) | (table == 0.0) | (table == 1.0))
    if wrong.any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        raise InputError(
            "not a mark of correctness",
            row=row + 1,
            column=str(column + 1),
            value=table[row, column],
            allowed="0 wrong, 1 right, NaN no vote",
            remedy="compare the votes with the labels first",
        )
    return np.where(np.isnan(table), 0, 2 * np.nan_to_num(table) - 1).astype(np.int8)
