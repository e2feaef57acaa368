"""Datagrams: sealed, packed, paced, and counted when they are dropped.

    port        the sockets of one process, and what each of its groups sends and receives
    key_ring    the keys of a group: which packets are new, and which are not ours
    packets     one packet, sealed and opened; ``replay``: which were there before
    packing     items into packets; ``reassembly``: large ones out of several
    pacing      how fast; ``counts``: what became of what arrived

Only ``port`` knows an event loop. See docs/protocols/datagrams.md.
"""
