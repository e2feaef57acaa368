"""What the driver knows of a trace before any row is looked at again.

views   who installed which view, and when
scopes  what is judged together, and who is held to what
layout  what workers must know of it
grain   how finely the work is cut
"""
