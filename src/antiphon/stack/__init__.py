"""The process machine, composed: start reading here, in this order.

inputs        what can happen to a process
effects       what is to be done
endpoint      one process in one group, whole: ``step(input, now_us) -> effects``

agenda        what is to be done in one step, and when the machine is to be woken again
settings      how a process takes part: flush, timing, token, limits
member        order and views together: virtual synchrony (with ``early`` and ``past``)
sender        what is handed over leaves in program order (with ``send_queue``)
flow_control  who may hand over more (with ``stalls``: who holds the others up for too long)
ports         the tools: calls, commit, state transfer
"""
