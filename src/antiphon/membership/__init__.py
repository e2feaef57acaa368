"""Who is in a group: failure detection, agreement on views, and leaving a view (flush)."""
