"""One wrong delivery among millions is found, with little memory."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.large_trace import write_large_trace

from antiphon.pipeline.verify import verify
from antiphon.trace.verdict import Property, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("run_length", [1, 40], ids=["single messages", "runs"])
def test_one_delivery_held_back_among_millions_is_found(
    spark: "SparkSession", tmp_path: Path, run_length: int
) -> None:
    """Exactly the run that was delivered while an earlier one was missing is wrong."""
    folder = write_large_trace(
        tmp_path / "large",
        process_count=16,
        round_count=8_000,
        run_length=run_length,
        swapped_at=5_000,
    )
    verdict = verify(spark, folder)
    assert verdict.delivery_count == 16 * 16 * 8_000 * run_length
    causal = verdict.of(Property.CAUSAL)
    assert causal.violation_count == run_length
    assert {item.process for item in causal.violations} == {"p015"}
    for which in (Property.FIFO, Property.NO_DUPLICATE, Property.NO_CREATION, Property.AGREEMENT):
        assert verdict.of(which).status is Status.HOLDS, which
