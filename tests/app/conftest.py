"""What several tests of the page share."""

from __future__ import annotations

import pytest

from workbenches import write_survey


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A start directory with a survey."""
    folder = tmp_path_factory.mktemp("start")
    write_survey(folder)
    return folder
