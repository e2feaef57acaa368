"""What every test may rely on: hypothesis profiles, the Spark session, who runs beside whom.

Law: a test that fails for one person fails for the next: the `ci` profile draws the same examples
every time, and prints how to repeat one. No test starts a JVM unless it asks for `spark`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from antiphon.pipeline.session.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from antiphon.pipeline.tables.table import Executor

# Machines differ in speed, and several things share this one: time limits on single examples
# would make tests fail that are right.
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    deadline=None,
    max_examples=5_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


LONG = (
    "cli/",
    "conformance/",
    "logs/test_any_log_page.py",
    "live/test_agrees_with_oracle.py",
    "membership/test_crash_points.py",
    "models/",
    "mutants/",
    "papers/test_claims_can_fail.py",
    "pipeline/test_agrees_with_oracle.py",
    "pipeline/test_damage_campaign.py",
    "pipeline/test_domains.py",
    "pipeline/test_simulated_traces.py",
    "pipeline/test_takeovers.py",
    "sim/test_exploration.py",
    "oracle/test_definitions.py",
    "report/test_browser.py",
    "sim/test_shrinking.py",
    "sim/test_world.py",
    "spark/test_addresses.py",
    "spark/test_cluster.py",
    "test_readme.py",
    "testing/test_driver_worlds.py",
    "testing/test_groups_worlds.py",
    "toolkit/test_commit_worlds.py",
)
"""What `make quick` leaves out: whole worlds by the hundred, and commands in other processes."""


@pytest.hookimpl(tryfirst=True)  # before markers are chosen by
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).as_posix().startswith(LONG):
            item.add_marker(pytest.mark.long)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take a flag of our own."""
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write down what golden conversations give now; then read the diff",
    )


@pytest.fixture
def rewrite_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden conversations are to be written down as they go now."""
    return bool(request.config.getoption("--rewrite-golden"))


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """One Spark session for all tests that ask for it; mark those tests `spark`."""
    session = spark_session(
        "tests",
        # Two, so that data really is in more than one partition, on any machine.
        cores=2,
        shuffle_partitions=2,
        # Test traces are small; the default would take half of the machine.
        memory_mb=1024,
    )
    yield session
    session.stop()


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def executor(request: pytest.FixtureRequest) -> "Executor":
    """Each of those who can compute the pipeline's tables."""
    if request.param == "spark":
        from antiphon.pipeline.tables.spark import SparkExecutor

        # So that small traces are in more than one partition, too.
        return SparkExecutor(request.getfixturevalue("spark"), rows_per_part_min=1)
    from antiphon.pipeline.tables.local import LocalExecutor

    return LocalExecutor()
