"""Simulated worlds, and the plain judge of any trace.

A world (``scheduler``, ``network``, ``workload``, ``cluster``) is a function of its seed. The
judge (``oracle``, over the single events of ``event_graph``, in the words of ``explain``) knows
nothing of the protocols: only who multicast and delivered what, in which local order.
"""
