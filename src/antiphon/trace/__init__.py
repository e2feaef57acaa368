"""The contract between what runs and what checks: one table of events, written and read here.

schema        what a row says
rules         what a row must say to be one
journal       writes the rows of one process, segment by segment
run_folder    the folder of a run, and what lies where in it
segments      which files make up a trace
reader        rows from files, checked, with the place each came from
continuity    whether the rows of a process are all there, from one span per file
domains       which groups are one causality domain
verdict       what checking a trace yields
explanations  what is wrong, event by event
words         and in which words
column_table  the documentation's table, made from the schema
"""
