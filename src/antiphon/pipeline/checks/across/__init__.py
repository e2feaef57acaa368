"""Causality across the groups of a domain, from the matrix: component by component.

records    the rows of a component, in numpy, and each process's events in their order
knowledge  what each message's sender knew, passed on along the causal order
breaks     what was delivered too early, or without what comes before it
chains     which messages link two of different groups, for an explanation

Law: one task has all rows of a component, as what a message's sender knew depends on all that came
before; components are judged side by side.
"""
