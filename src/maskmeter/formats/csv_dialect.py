"""How delimited text is written: its encoding, delimiter and decimal mark."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from maskmeter.checks import shown
from maskmeter.errors import InputError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@dataclass(frozen=True)
class Dialect:
    """What the user said of a file's text; None is to be found out.

    >>> Dialect(encoding="cp1252", delimiter=";").delimiter
    ';'
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None

    @property
    def codec(self) -> str | None:
        """The name of the encoding that is the same in Python and elsewhere: latin-1 is iso8859-1."""
        return None if self.encoding is None else codecs.lookup(self.encoding).name

    def __post_init__(self) -> None:
        """Refuse what no file can have."""
        if self.encoding is not None:
            try:
                text = codecs.lookup(self.encoding)._is_text_encoding  # noqa: SLF001 - zip and the like
            except (LookupError, TypeError, ValueError):
                text = False
            if not text:
                raise InputError(
                    f"`encoding` must name a text encoding, such as 'cp1252' or 'latin-1', not"
                    f" {shown(self.encoding)}."
                )
        if self.delimiter is not None and self.delimiter not in tuple(DELIMITERS):
            raise InputError(
                f"`delimiter` must be ',', ';', '|' or a tab ('\\t'), not {shown(self.delimiter)}."
            )
        if self.decimal is not None and self.decimal not in (".", ","):
            raise InputError(f"`decimal` must be '.' or ',', not {shown(self.decimal)}.")
