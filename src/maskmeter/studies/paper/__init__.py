"""Shlomo and Skinner (2010), re-run on the synthetic census."""

from maskmeter.studies.paper.rerun import FILES, STEPS, Paper, run_paper

__all__ = ["FILES", "STEPS", "Paper", "run_paper"]
