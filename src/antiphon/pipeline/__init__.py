"""Everything that reads finished traces in bulk. The only place that knows PySpark.

    verify        a trace's verdict: the entry point
    compact       from journals to Parquet
    judging       the steps to it, in their order
    conclude      from findings to a verdict
    reasons       what a verdict leaves out
    untested      what a trace does not put to the test
    case          what is judged as one

    explanations  examples of what is wrong, with the lines of the trace
    checks        what is wrong: each property
    survey        what is judged together, and who is held to what
    ingest        from files to a trace
    session       Java and Spark on this machine
    tables        tables of Arrow batches, and who computes them: this process, or Spark

Law: a folder imports only those below it, and none imports ``session``: whoever verifies on Spark
brings a session along. PySpark is imported in ``session``, by its functions alone, and in
``tables.spark``; nothing else needs it. How it all works, and what it costs: docs/pipeline.md.
"""
