"""Chat rooms: each person is in some of them, and any two people share one connection.

Run `rooms.py`, without arguments: it plays three people, each a process with an address of its own.
Carol is told of bob alone, and finds both rooms through him. She leaves the garden and comes again,
under the next number, while nothing changes in the kitchen.
"""

import antiphon


async def hear(group: antiphon.Group, words: str) -> None:
    """Print what is said in one room, until these words."""
    async for message in group.messages():
        said = message.payload.decode()
        print(f"{group.name}: {group.me} hears {message.sender} say {said!r}")
        if said == words:
            return


async def main() -> None:
    """Let three people talk in two rooms."""
    async with (
        antiphon.Process("alice", at="127.0.0.1:0") as alice,
        antiphon.Process("bob", at="127.0.0.1:0", seeds=[alice.address]) as bob,
        antiphon.Process("carol", at="127.0.0.1:0", seeds=[bob.address]) as carol,
        alice.join("garden", seeds=[]) as garden,
        alice.join("kitchen", seeds=[]) as kitchen,
        bob.join("kitchen") as bobs,
        carol.join("kitchen") as carols,
    ):
        await kitchen.cbcast(b"dinner is ready")
        await hear(bobs, "dinner is ready")
        await bobs.cbcast(b"coming")
        await hear(carols, "coming")  # never before what bob answers to
        for words in (b"a minute", b"here I am"):
            async with carol.join("garden") as visit:
                await visit.cbcast(words)
                await hear(garden, words.decode())
        print(f"kitchen: {', '.join(kitchen.members)}, since view {kitchen.view.number}")


if __name__ == "__main__":
    antiphon.run(main())
