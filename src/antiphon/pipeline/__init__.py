"""Everything that reads finished traces in bulk. The only place that knows PySpark.

    verify        a trace's verdict: the entry point
    judging       the steps to it, in their order
    conclude      from findings to a verdict

    explanations  examples of what is wrong, with the lines of the trace
    checks        what is wrong: each property
    survey        what is judged together, and who is held to what
    ingest        from files to a trace
    tables        tables of Arrow batches, and who computes them
    session       Java and Spark on this machine

Law: a folder imports only those below it, and none imports ``session``: whoever verifies on Spark
brings a session along. Importing ``session``, ``verify`` or ``ingest`` must work without PySpark
and Java; only calling them needs both. How it all works, and what it costs: docs/pipeline.md.
"""
