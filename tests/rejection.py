"""Errors that show no value of a record."""

from __future__ import annotations

import pytest

import maskmeter as mm

SECRET = "secret-value"


def rejected(action, *words):
    """Return the error of an action that must fail: one line with these words, without SECRET."""
    with pytest.raises(mm.MaskmeterError) as caught:
        action()
    message, shown = str(caught.value), caught.value
    while shown is not None:  # a traceback prints causes and contexts too
        assert SECRET not in str(shown)
        context = None if shown.__suppress_context__ else shown.__context__
        shown = shown.__cause__ or context
    assert "\n" not in message
    for word in words:
        assert word in message
    return caught.value
