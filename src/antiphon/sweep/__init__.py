"""Sweeps: a grid of parameters times seeds, each cell a simulation, one table of results.

experiment  the file that says what to sweep
cells       one cell: its address, its world, its measures and its verdict
running     all cells, on whoever computes; what is finished is never run again
results     the table

Law: a cell's result is a function of its parameters, its seed and the code that ran it, and is kept
under the digest of these.
"""
