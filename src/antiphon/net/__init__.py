"""The real network, on asyncio: driver and application's side of the machine in ``stack``.

Rooms, each of which knows only those below it: ``process`` (once per process: listener,
incarnations, bootstrap), ``group`` (once per group: sending, calls, commit, state), ``driver``
(the machine's loop) beside ``application`` (events and arguments), ``session`` (who is at the other
end, and what it has received) beside ``datagrams`` (sealed packets, for protocols that do without
connections), ``transport`` (connections, framing, datagrams).
"""
