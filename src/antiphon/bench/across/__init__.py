"""What causality across groups costs: stamps, switches, checks, many groups, bursts."""
