"""Models of large networks: what flooding and timestamps cost where the machine is too many.

compiling    loops in machine code
abstract     flooding among 100,000 members and more: delays of links, crashes, no bandwidth
flood_loop   its inner loop
network      a physical network: a random graph, links with bandwidth and delay, routes
traffic      what is sent over it, and what is measured
physical     both protocols of Overlay 5 over a physical network
packet_loop  its inner loop
timestamps   its delivery rule for Timestamp

Law: a model follows from its arguments, the seed among them, and times are integers; so the plain
version of each, in the tests, with real machines and a heap of Python objects, must give the very
same numbers. Needs ``antiphon[models]``.
"""
