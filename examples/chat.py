"""A chat that people join and leave as they like, and in which no answer precedes its question.

Run `chat.py alice` in one terminal; it says where it listens. Join from others with that address,
or any other member's, as `chat.py bob 127.0.0.1:7001`. Type lines; end with Ctrl-D or Ctrl-C. Kill
one, and see what the others say: more than half go on; of two, only the one that was there first.
"""

import asyncio
import os
import sys
import threading

import antiphon


async def show(group: antiphon.Group) -> None:
    """Print what the others say, and who comes and goes."""
    async for event in group:
        match event:
            case antiphon.View(_, members, primary=False, missing=missing):
                who = " ".join(members)
                print(f"-- cut off: {who} must wait for {' '.join(missing)}, and cannot speak")
            case antiphon.View(number, members, joined, left, failed):
                news = [("joined", joined), ("left", left), ("failed", failed)]
                said = [f"{' '.join(who)} {what}" for what, who in news if who]
                print(f"-- view {number}: {' '.join(members)} {'; '.join(said)}".rstrip())
            case antiphon.Message(sender, _, payload) if sender != group.me:
                print(f"{sender}: {payload.decode()}")


def keyboard() -> asyncio.StreamReader:
    """Return what is typed, read in a thread that need not end, so that Ctrl-C can."""
    typed, loop = asyncio.StreamReader(), asyncio.get_running_loop()

    def read() -> None:
        while data := os.read(sys.stdin.fileno(), 4096):
            loop.call_soon_threadsafe(typed.feed_data, data)
        loop.call_soon_threadsafe(typed.feed_eof)

    threading.Thread(target=read, daemon=True).start()
    return typed


async def main(me: str, seeds: list[str]) -> None:
    """Say what is typed."""
    at = "127.0.0.1:0" if seeds else "127.0.0.1:7001"
    async with antiphon.join("chat", me=me, at=at, seeds=seeds) as group:
        print(f"-- {me} listens at {group.address}")
        showing = asyncio.create_task(show(group))
        typed = keyboard()
        while line := await typed.readline():
            if group.view.primary:
                await group.cbcast(line.strip())
    await showing


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    antiphon.run(main(sys.argv[1], sys.argv[2:]))
