"""Measures of runs, as aggregations that end in Parquet tables.

rows       one file, read once: message rows as numbers, and what else it has to tell, added up
streams    the messages of one sender in one view: delays, holds, stability
measuring  from a trace to measures: the door
gathering  what files and streams tell, as measures per run
tables     measures as Arrow tables, and as Parquet files

Law: what each measure is, ``antiphon.trace.measures`` tells. A trace is read once; one shuffle
brings the messages of a sender in a view together; all else is added up where it is read.
"""
