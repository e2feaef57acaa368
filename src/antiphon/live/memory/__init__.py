"""What the live judge remembers, and for how long.

number_sets  sets of message numbers: one integer, where nothing is out of order
remembered   the messages of one sender that somebody has yet to deliver
scope        one view of one group: who has delivered what, and what is remembered of it
record       one run: its processes, its groups, what was found, and what is left of ended views
"""
