"""The stream of a group: what an application reads, in order."""
