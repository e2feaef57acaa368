"""Two ledgers that book a transfer together or not at all, whoever is killed at whatever moment.

Run it as `two_ledgers.py anna`, `two_ledgers.py ben` and `two_ledgers.py clerk`. Anna and Ben begin
with 100 each, in anna.db and ben.db; an empty line asks for the balance. Tell the clerk how much
goes from Anna to Ben. Kill one of them at any moment, start it again: nothing is lost or made.
"""

import asyncio
import os
import sqlite3
import sys
import threading

import antiphon

MEMBERS = {"anna": "127.0.0.1:7001", "ben": "127.0.0.1:7002", "clerk": "127.0.0.1:7003"}


class Ledger:
    """An account, kept as the log of its transactions: a row is prepared, then committed."""

    def __init__(self, owner: str) -> None:
        """Open the file, or begin it."""
        self.sign = -1 if owner == "anna" else 1
        self.file = sqlite3.connect(f"{owner}.db", isolation_level=None)
        self.file.execute("CREATE TABLE IF NOT EXISTS log (name PRIMARY KEY, amount, state)")

    def balance(self, *, is_cautious: bool = False) -> int:
        """Add up what is committed; to be cautious, also what is to be paid perhaps."""
        query = "SELECT amount FROM log WHERE state = 'committed' OR (? AND amount < 0)"
        amounts = self.file.execute(query, [is_cautious])
        return sum((int(amount) for (amount,) in amounts), start=100)

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Reserve the amount, if there is so much."""
        amount = self.sign * int(body)
        if self.balance(is_cautious=True) + amount < 0:
            return False
        self.file.execute("INSERT INTO log VALUES (?, ?, 'prepared')", [transaction, amount])
        return True

    async def commit(self, transaction: str) -> None:
        """Make it count."""
        self.file.execute("UPDATE log SET state = 'committed' WHERE name = ?", [transaction])

    async def abort(self, transaction: str) -> None:
        """Set it free again."""
        self.file.execute("DELETE FROM log WHERE name = ?", [transaction])

    async def in_doubt(self) -> list[str]:
        """Return what a crash has left prepared."""
        names = self.file.execute("SELECT name FROM log WHERE state = 'prepared'")
        return [name for (name,) in names]


def keyboard() -> asyncio.StreamReader:
    """Return what is typed, read in a thread that need not end, so that Ctrl-C can."""
    typed, loop = asyncio.StreamReader(), asyncio.get_running_loop()

    def read() -> None:
        while data := os.read(sys.stdin.fileno(), 4096):
            loop.call_soon_threadsafe(typed.feed_data, data)
        loop.call_soon_threadsafe(typed.feed_eof)

    threading.Thread(target=read, daemon=True).start()
    return typed


async def main(me: str) -> None:
    """Take part until the input ends."""
    ledger = Ledger(me) if me != "clerk" else None
    group = antiphon.join("bank", me=me, members=MEMBERS)
    committer = antiphon.Committer(group, ledger)
    async with group:
        typed = keyboard()
        while line := await typed.readline():
            amount = line.strip()
            print(ledger.balance() if ledger else await committer.begin(amount, ["anna", "ben"]))
        await committer.settled()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    antiphon.run(main(sys.argv[1]))
