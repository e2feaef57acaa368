"""Logs that hold clocks and no messages, as ShiViz shows them and GoVector writes them.

records  events with their clocks, a row each
parsing  the same from text, by a regular expression; and which of the two a log is
judging  whether the clocks can be those of happened-before
"""
