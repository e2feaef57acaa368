"""Spark: everything that reads finished traces in bulk. The only place that knows PySpark.

    java      which Java runs Spark
    session   Spark, started quietly on this machine
    verify    a trace's verdict: the door to all that follows
    ingest      rows from files, read where the tasks run
    scopes      what is judged together, who is held to what
    matrix      one row per run of messages, one column per process: where it was delivered
    cutting       the matrix in numpy, for a part that fits in memory
    orders      fifo and causal order, from the matrix
    running       the same in numpy: running maxima
    promises    no-duplicate, no-creation and agreement, from the matrix
    findings    wrong deliveries added up, the smallest picked as examples
    explain     examples in words, with the lines of the trace
    chunks      rows that belong together, from a stream of Arrow batches
    position    where something happened at a process, as one number

Law: ``java``, ``session`` and ``verify`` can be imported without PySpark, and say so in one
sentence when it is missing; the rest are their steps. Each step is a function from DataFrames to
a DataFrame that ends in a ``select``: its contract. Reading happens in ``ingest`` alone.
"""
