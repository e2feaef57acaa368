"""What carries bytes between processes, and the other things that a driver gets from outside."""
