"""The simulated world: time, network, applications, and the oracle that judges what happened.

Static groups: ``cluster`` (with ``network``, ``workload``). Dynamic groups with faults: ``scenario``,
``world`` (with ``life``, ``channels``, ``replica``, ``rest``), ``random_scenario``, ``exploration``,
``shrinking``. Judging: ``oracle``, ``event_graph``, ``view_checks`` and their explanations.

A seed is a world: everything in here is a function of it.
"""
