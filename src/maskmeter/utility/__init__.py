"""What protection costs analysts: tables, margins and regressions before and after."""

from maskmeter.utility.loss import Loss, Losses, information_loss
from maskmeter.utility.regression import RegressionLoss, regression_loss

__all__ = ["Loss", "Losses", "RegressionLoss", "information_loss", "regression_loss"]
