"""What a process writes down of what it does: journals of its groups and domains."""
