"""Judge a run in a Spark session of your own, and ask questions of its trace.

Run it as `python examples/spark_notebook.py runs/a`, or with `spark-submit`, or paste it into a
notebook, where `result` alone on the last line of a cell shows the verdict.
"""

import sys

from pyspark.sql import SparkSession, functions

import antiphon.spark

spark = (
    SparkSession.builder.appName("my own")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
result = antiphon.spark.verify(spark, sys.argv[1])
result.verdicts.where("status = 'violated'").select("property", "violation_count").show()
result.violations.select("text").show(truncate=False)

rows = spark.read.format("antiphon").load(sys.argv[1])
delivered = rows.where("kind = 'deliver'")
delivered.groupBy("process", "sender").agg(functions.sum("count").alias("messages")).orderBy(
    "process", "sender"
).show()
sys.exit(1 if result.is_violated else 0)
