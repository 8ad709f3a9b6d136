"""The command line: tables on standard output, progress and complaints on standard error."""

from maskmeter.cli.main import main

__all__ = ["main"]
