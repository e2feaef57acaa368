"""Claims of Overlay: flooding a hypercube, beside timestamps.

flooding   order, crashes and copies, on the machine itself
crossover  bytes, and the size of data from which on timestamps are better
figures    figures 3 to 11 and 15 to 17, on a physical network
queues     figures 12 to 14: delivery queues
runs       the runs behind these figures
"""
