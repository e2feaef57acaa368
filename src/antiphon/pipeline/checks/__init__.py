"""What is wrong: each property, found in the position matrix, the view rows or the ballots.

matrix    one row per run of messages, one column per process: where it was delivered
cutting   the matrix of one bucket, in numpy
orders    fifo and causal order, from the matrix
running   orders as running maxima, in numpy
total     total order, from the matrix
promises  no-duplicate, no-creation, and all that must be delivered, from the matrix
borders   views, and messages that cross their borders, from the view rows
commit    transactions, from the votes and decisions
findings  what is wrong, added up, the smallest picked as examples

Law: functions from tables to a table, or to findings, around kernels and functions from arrays to
arrays: whoever computes the tables, what is found is the same. Nothing here is put into words.
"""
