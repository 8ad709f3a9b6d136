"""Shlomo and Skinner (2010), re-run on the synthetic census."""

from maskmeter.paper.report import STEPS, Paper, check_folder, run_paper

__all__ = ["STEPS", "Paper", "check_folder", "run_paper"]
