"""What a group's driver does for causal blocks: their datagrams, sealed with keys per view."""
