"""What a process has once: its listener, its incarnations, its way into groups and back."""
