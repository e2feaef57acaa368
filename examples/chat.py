"""A chat in which nobody ever sees an answer before its question.

Run it in three terminals, as `chat.py alice`, `chat.py bob` and `chat.py carol`. Type lines; end
with Ctrl-D. A member that has ended still shows what the others say until they end as well.
"""

import asyncio
import sys

import antiphon

MEMBERS = {"alice": "127.0.0.1:7001", "bob": "127.0.0.1:7002", "carol": "127.0.0.1:7003"}


async def show(group: antiphon.Group) -> None:
    """Print what the others say, until everybody has left."""
    async for message in group:
        if message.sender != group.me:
            print(f"{message.sender}: {message.payload.decode()}")


async def main(me: str) -> None:
    """Say what is typed."""
    async with antiphon.join("chat", me=me, members=MEMBERS, drain_s=3600) as group:
        showing = asyncio.create_task(show(group))
        while line := await asyncio.to_thread(sys.stdin.readline):
            await group.cbcast(line.strip().encode())
    await showing


if __name__ == "__main__":
    antiphon.run(main(sys.argv[1]))
