"""Other people's logs, brought into the trace's one table, and ours written as others read them.

reading    the rows of a log, whatever holds them
making     a row from a record
tables     records of CSV, and of somebody's JSON
parquet    records of Parquet
stdin      standard input, kept in a file so that it can be read as often as need be
"""
