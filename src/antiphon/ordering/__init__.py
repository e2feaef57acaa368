"""Delivery orders as pure machines: no clock, no socket, no randomness, no logging."""
