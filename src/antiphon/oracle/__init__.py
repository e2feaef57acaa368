"""The oracle: judges a small trace in plain Python, by its explicit event graph.

judging        a trace's verdict: the entry point, and the checks of messages
event_graph    who multicast and delivered which single message, in what order
view_checks    views, and messages at their borders
total_checks   total order and uniform delivery
commit_checks  transactions
domains        causality across the groups of a domain
untested       what a trace leaves out, and what it does not put to the test
letter_checks  causality over multicasts and letters together; exploration asks for it
findings       what was found to be wrong, the first few explained
explain        what happened, handed over to be put into words (``antiphon.trace.explanations``)

Law: it knows the trace and nothing else: neither the protocols nor the pipeline, with which
tests compare it.
"""

from antiphon.oracle.judging import judge

__all__ = ["judge"]
