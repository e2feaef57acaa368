"""Tools on top of a member's stream of messages and views; still pure."""
