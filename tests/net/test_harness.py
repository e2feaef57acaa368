"""The stage itself: a scene that fails with something open, or leaves it open, is over at once."""

import asyncio

import pytest
from tests.net.harness import play

pytestmark = pytest.mark.net


def play_on_uvloop(*, fails: bool) -> None:
    """Play a scene that listens and never stops."""

    async def scene() -> None:
        await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        if fails:
            raise LookupError

    play(pytest.importorskip("uvloop").new_event_loop, scene())


def test_scene_that_fails_with_a_socket_open_is_over() -> None:
    """With warnings as errors, uvloop never closed it, and the whole run hung."""
    with pytest.raises(LookupError):
        play_on_uvloop(fails=True)


def test_scene_that_leaves_a_socket_open_fails() -> None:
    """Not even a good end makes up for it."""
    with pytest.raises(AssertionError, match="unclosed"):
        play_on_uvloop(fails=False)
