"""One Spark session serves all tests of a run, and every place gets a folder of its own."""

from __future__ import annotations

import pytest

from engines.cluster import SMALL_JAVA
from engines.places import PLACES, Place


@pytest.fixture(scope="session")
def spark():
    """A session on two processors, started as maskmeter starts it."""
    pytest.importorskip("pyspark")
    from maskmeter.data.engines.spark_session import spark_session

    # What pays for itself with many rows takes most of the time with few.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", SMALL_JAVA)
        session = spark_session("local[2]")
    session.conf.set("spark.sql.shuffle.partitions", 2)
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    yield session
    session.stop()


@pytest.fixture(scope="module", params=PLACES)
def place(request, tmp_path_factory):
    """Each place in turn."""
    name = request.param
    session = request.getfixturevalue("spark") if name.startswith("spark") else None
    return Place(name, tmp_path_factory.mktemp("place"), session)
