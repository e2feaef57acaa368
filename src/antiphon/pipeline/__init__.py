"""Spark: everything that reads finished traces in bulk. The only place that knows PySpark.

    java      which Java runs Spark
    session   Spark, started quietly on this machine
    verify    a trace's verdict: the door to all that follows

    sources   which files, and which task reads which
    reading   one file, turned into numbers where a task reads it; ballots: its votes and decisions
    ingest    all files: a trace in Spark
    views     who installed which view, and when
    scopes    what is judged together, and who is held to what
    matrix    one row per run of messages, one column per process: where it was delivered
    orders    fifo and causal order, from the matrix
    total     total order, from the matrix
    promises  no-duplicate, no-creation, and all that must be delivered, from the matrix
    borders   views, and messages that cross their borders, from the view rows
    commit    transactions, from the votes and decisions
    findings  what is wrong, added up, the smallest picked as examples
    evidence  what an explanation needs to know; rivals: who delivered in another order
    story     an explanation in the making
    explain   examples in words, with the lines of the trace; explain_views: those about views
    conclude  from findings to a verdict
    judging   these steps in their order

    cutting   the matrix of one bucket, in numpy
    running   orders as running maxima, in numpy
    chunks    rows that belong together, from a stream of Arrow batches
    position  where something happened at a process, as one number
    grain     how finely the work is cut

Law: importing ``java``, ``session``, ``verify`` or ``ingest`` must work without PySpark and Java;
only calling them needs both. The rest are their steps: functions from DataFrames to a DataFrame
that end in a ``select``, around functions from arrays to arrays. Files are read in ``reading``
alone. How it all works, and what it costs: docs/pipeline.md.
"""
