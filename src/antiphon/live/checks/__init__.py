"""What the live judge checks, as rows come, and when views end.

orders      fifo, causal and total-causal order; nothing twice
totals      one order at everybody
views       the same views everywhere, and messages in theirs
shortfalls  what somebody lacks, or made up
ballots     one decision on a transaction
"""
