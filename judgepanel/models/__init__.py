"""scikit-learn estimators over the kernels: an estimator is its kernel at batch size 1."""

from judgepanel.models.aggregators import AccuracyWeighted, LogOdds, MajorityVote, OneCoin
from judgepanel.models.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    ClippedBetaCalibrator,
    CrossValidatedBetaCalibrator,
    FreeBetaCalibrator,
    IsotonicCalibrator,
    NoCalibrator,
    PlattCalibrator,
    RidgeBetaCalibrator,
    TemperatureCalibrator,
    calibrator,
)
from judgepanel.models.conformal import SplitConformal
from judgepanel.models.dawid_skene import DawidSkene
from judgepanel.models.irt import TwoPL
from judgepanel.models.joint import Joint, MonotoneJoint, MonotoneStacking, Stacking
from judgepanel.models.mixture import Member, Mixture, mixture_of
from judgepanel.models.panel import PanelModel, fit_panel
from judgepanel.models.residual import ResidualCorrection

__all__ = [
    "AccuracyWeighted",
    "AutoCalibrator",
    "BetaCalibrator",
    "ClippedBetaCalibrator",
    "CrossValidatedBetaCalibrator",
    "DawidSkene",
    "FreeBetaCalibrator",
    "IsotonicCalibrator",
    "Joint",
    "LogOdds",
    "MajorityVote",
    "Member",
    "Mixture",
    "MonotoneJoint",
    "MonotoneStacking",
    "NoCalibrator",
    "OneCoin",
    "PanelModel",
    "PlattCalibrator",
    "ResidualCorrection",
    "RidgeBetaCalibrator",
    "SplitConformal",
    "Stacking",
    "TemperatureCalibrator",
    "TwoPL",
    "calibrator",
    "fit_panel",
    "mixture_of",
]
