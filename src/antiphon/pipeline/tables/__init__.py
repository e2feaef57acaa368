"""Tables of Arrow batches, and who computes them.

table     what a table can do, and what whoever computes it must offer
local     in this process: nothing to start, all in memory
spill     what does not fit in memory
workers   processes that read files for it
spark     on Spark: spread over cores, spilt to disk
chunks    rows that belong together, from a stream of Arrow batches
packages  whether what all of it is made of is installed

Law: the checks are written once, against ``table``: kernels, functions from an iterator of batches
to an iterator of batches, and the few operations between them. Only ``spark`` knows PySpark.
"""
