"""Sessions with other processes: who they are, how they are reached, and what is kept for them."""
