"""What passes between an application and its group: arguments, events, requests, exceptions."""
