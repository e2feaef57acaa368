"""The simulated world: time, network, applications; ``antiphon.oracle`` judges what happened.

Both kinds of world run the endpoint of the real network (``stack.endpoint``). Large groups in which
nobody fails: ``steady_group`` (with ``lean_driver``, ``delays``, ``workload``). Groups with faults:
``scenario``, ``world`` (with ``driver``, ``channels``, ``replica``, ``quiescence``),
``random_scenario``, ``exploration``, ``shrinking``; ``answer_checks`` asks what only the worlds'
applications know.

A world is a function of its seed.
"""
