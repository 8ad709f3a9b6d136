"""What protection costs analysts: tables, margins and regressions before and after."""

from maskmeter.loss.regression import RegressionLoss, regression_loss
from maskmeter.loss.tables import Loss, Losses, information_loss

__all__ = ["Loss", "Losses", "RegressionLoss", "information_loss", "regression_loss"]
