"""The simulated world: time, network, applications; ``antiphon.oracle`` judges what happened.

Static groups: ``cluster`` (with ``network``, ``workload``). Dynamic groups with faults:
``scenario``, ``world`` (with ``life``, ``channels``, ``replica``, ``rest``), ``random_scenario``,
``exploration``, ``shrinking``; ``answer_checks`` asks what only the worlds' applications know.

A world is a function of its seed.
"""
