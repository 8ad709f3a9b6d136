"""What every result shows of itself."""

from __future__ import annotations

from html import escape


class InWords:
    """A result with an account in words, which notebooks show with a paragraph for each line."""

    def summary(self) -> str:
        """Return a short account."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the summary for notebooks."""
        return "".join(f"<p>{escape(line)}</p>" for line in self.summary().splitlines())
