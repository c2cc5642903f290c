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
from judgepanel.models.panel import PanelModel, fit_panel

__all__ = [
    "AccuracyWeighted",
    "AutoCalibrator",
    "BetaCalibrator",
    "ClippedBetaCalibrator",
    "CrossValidatedBetaCalibrator",
    "FreeBetaCalibrator",
    "IsotonicCalibrator",
    "LogOdds",
    "MajorityVote",
    "NoCalibrator",
    "OneCoin",
    "PanelModel",
    "PlattCalibrator",
    "RidgeBetaCalibrator",
    "TemperatureCalibrator",
    "calibrator",
    "fit_panel",
]
