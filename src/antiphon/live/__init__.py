"""Traces judged while they are written: the third judge, incremental, and pure.

packs        rows on their way to the judge
judge        takes them, and raises what is wrong
stories      what was found, in words
forgetting   what can be forgotten of a view that goes on
summaries    what is left of a view that has ended
updates      what is told after each batch
memory/      what is remembered
checks/      what is checked
conclusions/ the verdict so far
"""
