"""Logs that hold clocks and no messages, as ShiViz shows them and GoVector writes them.

parsing  events with their clocks, by a regular expression
judging  whether the clocks can be those of happened-before
"""
