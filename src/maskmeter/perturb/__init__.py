"""Perturbation: the released file, beside the original and what was done to it."""

from maskmeter.perturb.release import Release

__all__ = ["Release"]
