"""From files to a trace, every row checked and turned into numbers.

sources         which files, and which task reads which
reading         one file, turned into numbers where a task reads it
columns         the columns of a table as numbers
column_reading  a table of columns, likewise, without a step per row
parquet         Parquet files: reading and writing
row_groups      large ones, divided
ballots         votes and decisions
loading         all files: a trace
position        where something happened at a process, as one number

Law: files are read in ``reading`` and ``parquet`` alone.
"""
