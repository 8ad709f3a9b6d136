"""Shlomo and Skinner (2010), re-run on the synthetic census."""

from maskmeter.studies.paper.rerun import STEPS, Paper, run_paper

__all__ = ["STEPS", "Paper", "run_paper"]
