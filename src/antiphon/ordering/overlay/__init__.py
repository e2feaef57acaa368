"""Causal broadcast by flooding an overlay (Overlay 3.2; corrected): no stamps, few neighbours.

topologies  who is whose neighbour, as a function of the number of members: cubes, ring, tree
flooding    the machine of one member: mark, forward, then deliver; gates on new links

Law: pure, as all of ``ordering``. In this machine membership is fixed, and links come and go;
groups flood with ``stack.overlay``, where a view says who the neighbours are.
"""
