"""From files to a trace, every row checked and turned into numbers.

sources   which files, and which task reads which
reading   one file, turned into numbers where a task reads it
columns   one file of Parquet, likewise, without a step per row
ballots   its votes and decisions
loading   all files: a trace
position  where something happened at a process, as one number

Law: files are read in ``reading`` and ``columns`` alone.
"""
