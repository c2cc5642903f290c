"""scikit-learn estimators over the kernels: an estimator is its kernel at batch size 1.

Names are imported on first use, because scoring with a panel needs no estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgepanel import lazy_names

if TYPE_CHECKING:
    from judgepanel.models.aggregators import AccuracyWeighted as AccuracyWeighted
    from judgepanel.models.aggregators import DawidSkene as DawidSkene
    from judgepanel.models.aggregators import GradedJoint as GradedJoint
    from judgepanel.models.aggregators import GradedOneCoin as GradedOneCoin
    from judgepanel.models.aggregators import Joint as Joint
    from judgepanel.models.aggregators import LogOdds as LogOdds
    from judgepanel.models.aggregators import MajorityVote as MajorityVote
    from judgepanel.models.aggregators import MonotoneJoint as MonotoneJoint
    from judgepanel.models.aggregators import MonotoneStacking as MonotoneStacking
    from judgepanel.models.aggregators import OneCoin as OneCoin
    from judgepanel.models.aggregators import Stacking as Stacking
    from judgepanel.models.aggregators import TwoPL as TwoPL
    from judgepanel.models.calibrators import AutoCalibrator as AutoCalibrator
    from judgepanel.models.calibrators import BetaCalibrator as BetaCalibrator
    from judgepanel.models.calibrators import ClippedBetaCalibrator as ClippedBetaCalibrator
    from judgepanel.models.calibrators import (
        CrossValidatedBetaCalibrator as CrossValidatedBetaCalibrator,
    )
    from judgepanel.models.calibrators import FreeBetaCalibrator as FreeBetaCalibrator
    from judgepanel.models.calibrators import IsotonicCalibrator as IsotonicCalibrator
    from judgepanel.models.calibrators import NoCalibrator as NoCalibrator
    from judgepanel.models.calibrators import PlattCalibrator as PlattCalibrator
    from judgepanel.models.calibrators import ResidualCorrection as ResidualCorrection
    from judgepanel.models.calibrators import RidgeBetaCalibrator as RidgeBetaCalibrator
    from judgepanel.models.calibrators import SplitConformal as SplitConformal
    from judgepanel.models.calibrators import TemperatureCalibrator as TemperatureCalibrator
    from judgepanel.models.calibrators import calibrator as calibrator
    from judgepanel.models.panel import Member as Member
    from judgepanel.models.panel import Mixture as Mixture
    from judgepanel.models.panel import PanelModel as PanelModel
    from judgepanel.models.panel import fit_panel as fit_panel
    from judgepanel.models.panel import mixture_of as mixture_of

_NAMES = {
    "aggregators": (
        *("AccuracyWeighted", "DawidSkene", "GradedJoint", "GradedOneCoin", "Joint", "LogOdds"),
        *("MajorityVote", "MonotoneJoint", "MonotoneStacking", "OneCoin", "Stacking", "TwoPL"),
    ),
    "calibrators": (
        *("AutoCalibrator", "BetaCalibrator", "ClippedBetaCalibrator"),
        *("CrossValidatedBetaCalibrator", "FreeBetaCalibrator", "IsotonicCalibrator"),
        *("NoCalibrator", "PlattCalibrator", "ResidualCorrection", "RidgeBetaCalibrator"),
        *("SplitConformal", "TemperatureCalibrator", "calibrator"),
    ),
    "panel": ("Member", "Mixture", "PanelModel", "fit_panel", "mixture_of"),
}
__all__ = [name for names in _NAMES.values() for name in names]
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
