"""From files to a trace in Spark, every row checked and turned into numbers.

sources   which files, and which task reads which
reading   one file, turned into numbers where a task reads it
ballots   its votes and decisions
loading   all files: a trace in Spark
chunks    rows that belong together, from a stream of Arrow batches
position  where something happened at a process, as one number

Law: files are read in ``reading`` alone. Importing ``sources`` and ``loading`` works without
PySpark; only calling them needs it.
"""
