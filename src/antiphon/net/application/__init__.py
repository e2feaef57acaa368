"""What comes of an application, looked at: its arguments, payloads, state and exceptions."""
