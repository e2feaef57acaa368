"""The real network: asyncio drivers for the pure machines of ``stack.py``."""
