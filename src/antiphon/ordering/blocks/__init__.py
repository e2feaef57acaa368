"""Causal blocks: causal order on channels that lose, reorder and repeat (Blocks, corrected).

machine   one process of one group: multicast, receive, deliver, silence, suspicion
matrix    block numbers, what each member is known to have delivered, maximum blocks
buffer    messages held: waiting for delivery, or until all have delivered them
window    what not all have room for: it holds the application up
recovery  whoever holds what another lacks sends it again, after a random delay
messages  what travels, and what a process is told to do
codec     messages as bytes
settings  windows, periods, delays
"""
