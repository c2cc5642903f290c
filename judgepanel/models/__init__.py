"""scikit-learn estimators over the kernels: an estimator is its kernel at batch size 1."""

from judgepanel.models.aggregators import AccuracyWeighted, LogOdds, MajorityVote, OneCoin
from judgepanel.models.calibrators import (
    BetaCalibrator,
    ClippedBetaCalibrator,
    NoCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    calibrator,
)
from judgepanel.models.panel import PanelModel, fit_panel

__all__ = [
    "AccuracyWeighted",
    "BetaCalibrator",
    "ClippedBetaCalibrator",
    "LogOdds",
    "MajorityVote",
    "NoCalibrator",
    "OneCoin",
    "PanelModel",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "calibrator",
    "fit_panel",
]
