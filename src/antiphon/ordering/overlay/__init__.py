"""Causal broadcast by flooding an overlay (Overlay 3.2; corrected): no stamps, few neighbours.

topologies  who is whose neighbour, as a function of the number of members: cubes, ring, tree
flooding    the machine of one member: mark, forward, then deliver; gates on new links

Law: pure, as all of ``ordering``. Not yet composed into the stack: views, stability and flush of a
group that floods are to come; here membership is fixed.
"""
