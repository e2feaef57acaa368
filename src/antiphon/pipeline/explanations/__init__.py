"""Examples of what is wrong, explained with the lines of the trace.

evidence   what an explanation needs to know, fetched from the matrix and the trace
rivals     who delivered in another order
names      the users' own names for messages
facts      what is known of one message that is wrong, event by event
explain    findings about messages and views
decisions  transactions

Law: explaining decides nothing, and what is said is not said here: both are the same for the
oracle (``antiphon.trace.explanations``).
"""
