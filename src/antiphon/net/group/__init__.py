"""What a process has once per group: what is sent, who may send, calls, commit, state."""
