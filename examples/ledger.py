"""A ledger kept three times: every teller books its own entries, and all end with one balance.

Run it as `ledger.py anna runs/ledger`, and likewise as `ben` and `cleo`, in 10 s. Entries go out
and come in as batches, and the run is journalled: `antiphon verify runs/ledger --engine oracle`
judges it afterwards. The next run needs another folder.
"""

import sys

import antiphon

MEMBERS = {"anna": "127.0.0.1:7001", "ben": "127.0.0.1:7002", "cleo": "127.0.0.1:7003"}
ENTRIES = 1000


async def main(me: str, folder: str) -> None:
    """Book entries of 1, 2, 3, ... and add up those of all tellers."""
    async with antiphon.join("ledger", me=me, members=MEMBERS, trace=folder) as group:
        await group.cbcast_many(amount.to_bytes(4) for amount in range(1, ENTRIES + 1))
        booked = balance = 0
        async for batch in group.batches():
            if isinstance(batch, antiphon.Batch):
                booked += len(batch.payloads)
                balance += sum(map(int.from_bytes, batch.payloads))
            if booked == ENTRIES * len(MEMBERS):
                break
    print(f"{booked} entries, balance {balance}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    antiphon.run(main(sys.argv[1], sys.argv[2]))
