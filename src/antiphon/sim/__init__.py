"""The simulated world: time, network, applications, and the oracle that judges what happened.

Static groups: ``cluster`` (with ``network``, ``workload``). Dynamic groups with faults:
``scenario``, ``world`` (with ``life``, ``channels``, ``replica``, ``rest``), ``random_scenario``,
``exploration``, ``shrinking``. Judging: ``oracle``, over the single events of ``event_graph``,
and ``view_checks``; the judge knows nothing of the protocols, only who multicast and delivered
what, in which local order, and who installed which view.

A world is a function of its seed.
"""
