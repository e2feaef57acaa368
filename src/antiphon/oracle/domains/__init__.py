"""Causality across the groups of a domain, by an explicit event graph.

components  groups of one domain that have processes in common, and what comes before what in them
checks      what was delivered too early, or without what comes before
chains      which events link two messages of different groups, the shortest way

Law: as for the oracle as a whole: no clocks, no counts, nothing shared with the pipeline. Sets of
messages are the bits of integers; what comes before a message is followed event by event.
"""
