"""What is known of a run besides what is wrong: who was where, and who was there to the end.

Law: nothing is judged here. ``is_over`` says whether records just end here, or go on.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from antiphon.live.memory.record import Ended, RunMemory
from antiphon.trace import words


@dataclass(frozen=True, slots=True)
class Outlook:
    """A run, as a verdict looks at it."""

    memory: RunMemory
    views: list[Ended]
    """All views, those that go on as if they ended now."""
    doubtful: dict[int, int]
    """By sender: deliveries of what may have been multicast."""
    left_out: int
    """Deliveries of messages whose multicast is not on record."""
    unseen: list[str]
    """Senders that have no rows."""
    is_over: bool

    def asking(self, what: int) -> list[Ended]:
        """Return the views in which somebody asks for something."""
        return [
            view
            for view in self.views
            if not view.has_takeover and any(asked & what for asked in view.asks)
        ]

    def is_whole(self, process: int) -> bool:
        """Whether the record of a process is complete."""
        return self.memory.processes[process].is_whole(is_over=self.is_over)

    def is_held(self, view: Ended, process: int) -> bool:
        """Whether a process was there to the end, in the lineage of a view."""
        return process not in view.takers and self.is_whole(process)

    def is_bound(self, view: Ended, process: int) -> bool:
        """Whether a process was there to the end of a view, or of all."""
        return self.is_whole(process) or process in view.went_on

    def named(self, processes: Iterable[int]) -> list[str]:
        """Return names."""
        return [self.memory.name_of(process) for process in processes]

    def bound_to_uniform(self, view: Ended) -> list[int]:
        """Return the members of a view that have to have what is uniform."""
        return [each for each in view.members if each in view.movers or self.is_held(view, each)]

    def not_held(self, processes: Iterable[int]) -> str:
        """Say who is not held to something: its record is not complete, or goes on."""
        found = set(processes)
        going_on = {
            each for each in found if not self.is_over and not self.memory.processes[each].is_ended
        }
        return words.together(
            words.not_held(self.named(found - going_on)),
            words.still_running(self.named(going_on)),
        )

    def only_process(self) -> str:
        """Say that there is nobody to compare a process with."""
        return words.only_process(
            process.name for process in self.memory.processes if process.row_count
        )
