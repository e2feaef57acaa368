"""Hello, world: run it in two terminals, as `hello.py alice` and `hello.py bob`, within 10 s."""

import sys

import antiphon

MEMBERS = {"alice": "127.0.0.1:7001", "bob": "127.0.0.1:7002"}


async def main(me: str) -> None:
    """Greet, and wait for the other's greeting."""
    async with antiphon.join("world", me=me, members=MEMBERS) as group:
        await group.cbcast(b"hello, world")
        async for message in group.messages():
            print(f"{message.sender} says {message.payload.decode()}")
            if message.sender != me:
                break


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    antiphon.run(main(sys.argv[1]))
