"""No-duplicate, no-creation, and all that must be delivered, from the matrix.

Law: each of these shows in a single row of the matrix, so plain SQL finds it: something again,
something without a multicast, something that not all have. Only rows with something wrong are
ever taken apart. Definitions in docs/properties.md.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.pipeline.checks.findings import FINDING_COLUMNS, What
from antiphon.pipeline.ingest.position import NEVER


def duplicates(matrix: DataFrame) -> DataFrame:
    """Find what was multicast twice, or delivered twice at one process."""
    multicast, delivered = F.lit(int(What.MULTICAST_AGAIN)), F.lit(int(What.DELIVERED_AGAIN))
    return (
        matrix.where(F.size("again") > 0)
        .withColumn("entry", F.explode("again"))
        .withColumn("what", F.when(F.col("entry.is_multicast"), multicast).otherwise(delivered))
        .withColumn("process", F.col("entry.process"))
        .withColumn("position", F.col("entry.position"))
        .select(FINDING_COLUMNS)
    )


def creations(matrix: DataFrame) -> DataFrame:
    """Find deliveries of what was never multicast, or may have been where the record is lost."""
    in_doubt, created = F.lit(int(What.IN_DOUBT)), F.lit(int(What.NOT_MULTICAST))
    return (
        matrix.where(F.col("multicast") == NEVER)
        .withColumn("what", F.when(F.col("is_doubtful"), in_doubt).otherwise(created))
        .select("*", F.posexplode("positions").alias("process", "position"))
        .where(F.col("position") != NEVER)
        .select(FINDING_COLUMNS)
    )


def early_deliveries(matrix: DataFrame) -> DataFrame:
    """Find deliveries by the sender itself before it had multicast the message."""
    return (
        matrix.where(F.col("multicast") != NEVER)
        .withColumn("position", F.get("positions", F.col("sender")))
        .where(F.col("position") < F.col("multicast"))
        .withColumn("what", F.lit(int(What.TOO_EARLY)))
        .withColumn("process", F.col("sender"))
        .select(FINDING_COLUMNS)
    )


def omissions(matrix: DataFrame) -> DataFrame:
    """Find what was not delivered: agreement, view-atomic, self-delivery, liveness."""
    return (
        matrix.where(F.size("missing") > 0)
        .withColumn("entry", F.explode("missing"))
        .withColumn("process", F.col("entry.process"))
        .withColumn("what", F.col("entry.what"))
        .withColumn("position", F.lit(0).cast("bigint"))
        .select(FINDING_COLUMNS)
    )
