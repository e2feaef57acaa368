"""The delay queue: runs received but not yet deliverable, indexed by what they wait for.

Rule (ISIS 5.1, corrected by erratum 000-4): of the held runs, deliver the first one in order of
receipt that is ready, then look again from the head. Sorting the queue by vector time, as
printed, cannot work: the relation may be cyclic.

Law: the order of deliveries is exactly that of rescanning from the head after each delivery, but
nothing is ever rescanned. Each held run is filed under ONE thing it lacks, a message of a sender
in a group; when that message is delivered the run is looked at again, and is either filed under
the next thing it lacks or put on a heap of ready runs by order of receipt.

All groups of a domain share one queue, because ready messages of different groups must leave it
in order of receipt too (erratum 000-15).

Cost: a run is looked at once per entry of its stamp that it really waited for, plus O(log h) for
h held runs; a delivery that unblocks nothing costs one dictionary look-up.
"""

from heapq import heapify, heappop, heappush

from antiphon.core.runs import Run

Lack = tuple[int, int, int]
"""What is lacking: a group, a sender's rank there, and the number of a message of that sender; or,
for a view, ``knowledge.VIEW`` and its number."""

_Held = tuple[int, int, Run]
"""What a waiting heap keeps: the number waited for, the order of receipt, the run."""


class DelayQueue:
    """Held runs by what they wait for, and ready runs by order of receipt."""

    __slots__ = (
        "_arrivals", "_ready", "depth", "held_bytes", "held_count", "received_as", "waiting_for",
    )  # fmt: skip

    def __init__(self) -> None:
        """Start empty."""
        self._arrivals = 0
        self.received_as = 0
        """The place of what is being taken, if it was received before; 0: it is the next one."""
        self.depth = 0
        """How many runs are held, ready ones included."""
        self.held_bytes = 0
        """Payload bytes of the runs that wait for something."""
        self.held_count = 0
        """Messages that had to wait, so far."""
        self.waiting_for: dict[tuple[int, int], list[_Held]] = {}
        """Held runs by the group and sender of the message that each waits for."""
        self._ready: list[tuple[int, Run]] = []

    def arrive(self) -> int:
        """Return the place, in the order of receipt, of what has just been received."""
        if self.received_as:
            return self.received_as
        self._arrivals += 1
        return self._arrivals

    def hold(self, run: Run, lack: Lack) -> None:
        """File a run that has just been received under what it lacks."""
        self.depth += 1
        self.held_count += len(run.payloads)
        self._file(self.arrive(), run, lack)

    def hold_again(self, arrival: int, run: Run, lack: Lack) -> None:
        """File a run that was woken and still lacks something; its place of receipt stays."""
        assert arrival <= self._arrivals, "it has been received"
        self.depth += 1
        self._file(arrival, run, lack)

    def _file(self, arrival: int, run: Run, lack: Lack) -> None:
        group, rank, number = lack
        self.held_bytes += run.byte_count
        heappush(self.waiting_for.setdefault((group, rank), []), (number, arrival, run))

    def wake(self, group: int, rank: int, number: int) -> list[tuple[int, Run]]:
        """Take out, with their order of receipt, the runs that waited for messages <= number."""
        waiting = self.waiting_for.get((group, rank))
        if waiting is None:
            return []
        woken: list[tuple[int, Run]] = []
        while waiting and waiting[0][0] <= number:
            _, arrival, run = heappop(waiting)
            self.held_bytes -= run.byte_count
            woken.append((arrival, run))
        if not waiting:
            del self.waiting_for[group, rank]
        self.depth -= len(woken)
        assert self.depth >= 0, "no more is taken out than was put in"
        assert self.held_bytes >= 0, "no more bytes are taken out than were put in"
        return woken

    def put_ready(self, arrival: int, run: Run) -> None:
        """Queue a woken run that lacks nothing any more."""
        assert arrival <= self._arrivals, "it has been received"
        self.depth += 1
        heappush(self._ready, (arrival, run))

    @property
    def has_ready(self) -> bool:
        """Whether something is ready."""
        return bool(self._ready)

    def take_ready(self) -> Run | None:
        """Take out the ready run that was received first."""
        if not self._ready:
            return None
        self.depth -= 1
        return heappop(self._ready)[1]

    def wake_group(self, group: int) -> list[tuple[int, Run]]:
        """Take out, in order of receipt, the runs that waited for anything of a group."""
        woken: list[tuple[int, Run]] = []
        for key in [key for key in self.waiting_for if key[0] == group]:
            woken += [(arrival, run) for _, arrival, run in self.waiting_for.pop(key)]
        woken.sort(key=lambda item: item[0])
        self.depth -= len(woken)
        self.held_bytes -= sum(run.byte_count for _, run in woken)
        assert self.depth >= 0, "no more is taken out than was put in"
        assert self.held_bytes >= 0, "no more bytes are taken out than were put in"
        return woken

    def drop(self, group: int) -> list[Run]:
        """Take out everything of a group that is held, in order of receipt."""
        dropped = [item for item in self._ready if item[1].group == group]
        if dropped:
            self._ready = [item for item in self._ready if item[1].group != group]
            heapify(self._ready)
            self.held_bytes += sum(run.byte_count for _, run in dropped)  # taken off below
        for key, heap in list(self.waiting_for.items()):
            gone = [(arrival, run) for _, arrival, run in heap if run.group == group]
            if gone:
                dropped += gone
                kept = [item for item in heap if item[2].group != group]
                heapify(kept)
                if kept:
                    self.waiting_for[key] = kept
                else:
                    del self.waiting_for[key]
        dropped.sort(key=lambda item: item[0])
        self.depth -= len(dropped)
        self.held_bytes -= sum(run.byte_count for _, run in dropped)
        assert self.depth >= 0, "no more is taken out than was put in"
        assert self.held_bytes >= 0, "no more bytes are taken out than were put in"
        return [run for _, run in dropped]

    def held(self) -> list[Run]:
        """List all that is held, ready or not, in order of receipt."""
        held = [
            *self._ready,
            *((place, run) for heap in self.waiting_for.values() for _, place, run in heap),
        ]
        return [run for _, run in sorted(held, key=lambda item: item[0])]

    def placed(self) -> list[tuple[int, Run]]:
        """List what waits for something, with its place in the order of receipt."""
        return [(place, run) for heap in self.waiting_for.values() for _, place, run in heap]

    def waiting(self) -> list[tuple[Run, Lack]]:
        """List the held runs in order of receipt, each with one message that it waits for."""
        held = [
            (arrival, run, (group, rank, number))
            for (group, rank), heap in self.waiting_for.items()
            for number, arrival, run in heap
        ]
        held.sort(key=lambda item: item[0])
        return [(run, lack) for _, run, lack in held]
