"""Whose an exception is, and what it was, for the log and for other processes.

Law: what the application's code raises is the application's, also if it is a cancellation that
nobody here asked for: a closed pool of connections, a sub-task that somebody ended. Saying what it
was never raises either, for turning it into text is the application's code too, and what is said
can be encoded.
"""

import asyncio


def say(error: BaseException) -> str:
    """Return ``TypeName: text``, or the name of the type alone if there is no text to be had."""
    name = type(error).__name__
    try:
        # Not an f-string: it would call what a subclass of str makes of formatting.
        text = str.encode(str(error), "utf-8", "backslashreplace").decode()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - it is the application's code
        return name
    return f"{name}: {text}" if text else name


def is_ours(error: BaseException) -> bool:
    """Tell whether an exception that came out of the application's code is meant for who called it.

    The program is to end, or the task that runs now is cancelled or thrown away.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
