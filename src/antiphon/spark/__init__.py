"""Traces on Spark, from Python: in a session of yours, in a notebook, under ``spark-submit``.

    import antiphon.spark

    result = antiphon.spark.verify(spark, "runs/a")
    result.violations.show()

    antiphon.spark.register(spark)
    spark.read.format("antiphon").load("runs/a").groupBy("process", "kind").count().show()

verifying  verify: a path, several, or a DataFrame
measuring  measure: delays, queues, headers, stability and views, as DataFrames
result     what comes of it: verdicts, violations and measures, as DataFrames
addresses  traces that are elsewhere: s3a://bucket/run
following  a run judged while it is written
checkpoint where that is kept, should it be interrupted
source     run folders as tables, and live ones as streams
borrowing  what our jobs need of somebody else's session, and putting it back
shipping   this package, for executors that do not have it
"""

from antiphon.spark.measuring import Measurement, measure
from antiphon.spark.result import Verification
from antiphon.spark.source import register
from antiphon.spark.verifying import verify

__all__ = ["Measurement", "Verification", "measure", "register", "verify"]
