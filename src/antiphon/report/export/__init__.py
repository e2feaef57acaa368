"""A trace as other programs show it.

ordering  all rows in an order that respects causes
shiviz    events with vector clocks, for ShiViz
perfetto  tracks and arrows, for Perfetto
writing   either, as a file
"""
