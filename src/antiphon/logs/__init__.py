"""Other people's logs, brought into the trace's one table, and ours written as others read them.

reading    the rows of a log, whatever holds them
making     a row from a record
mapping    what a user says about columns
ids        messages that have ids, and no numbers
preview    how its first lines are understood
writing    its rows, as a file of our own
opening    a log, ready to be judged
clocks     logs that hold clocks and no messages
tables     records of CSV, and of somebody's JSON
parquet    records of Parquet
"""
