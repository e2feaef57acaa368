"""Worlds of datagrams: channels that lose, reorder and repeat, and processes that order by blocks.

network   the channels
world     processes, their timers, crashes and suspicions; the trace
checks    what a world must not do beside what the oracle judges
author    random worlds, each judged
nack      the comparison: receivers that ask the sender again, by a fixed timer
measures  how soon losses are recovered, at what cost, and how fast a group goes
figure7   the paper's experiment
"""
