"""An event loop on virtual time, for many simulated processes in one real one.

Law: nothing is waited for. When no callback is ready, the clock jumps to the next timer, so a run
takes as long as its callbacks compute, and the same callbacks run in the same order every time:
by time, then by the order in which they were scheduled. There is no thread, no selector, no socket.

Every callback belongs to a simulated process: the one in whose context it was scheduled. What
belongs to a process that is paused waits; what belongs to one that was killed never runs.

If nothing is ready and no timer is set while somebody waits for a result, the run can never end:
that is raised as a :class:`DeadlockError`.
"""

import asyncio
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any, TypeVar, TypeVarTuple, Unpack

from antiphon.core.errors import AntiphonError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Work = Coroutine[Any, Any, T] | Generator[Any, None, T]

_AWAITS_MAX = 100
"""So often a coroutine may wait for something while it is being ended."""

_TASKS_SWEPT = 256
"""So many tasks of a process are remembered before those that have ended are forgotten."""


class DeadlockError(AntiphonError):
    """A result is awaited, and nothing that could bring it will ever happen."""


class CallbackOwner:
    """To whom callbacks belong: one simulated process."""

    def __init__(self, name: str) -> None:
        """Begin running."""
        self.name = name
        self.is_dead = False
        self.is_paused = False
        self.waiting: list[_Handle | _TimerHandle] = []
        """What has become ready while it was paused."""
        self.tasks: list[asyncio.Task[Any]] = []

    def __repr__(self) -> str:
        """By its name."""
        return f"<process {self.name}>"


OWNER: ContextVar[CallbackOwner | None] = ContextVar("antiphon_owner", default=None)
"""Whose code is running; None for the test itself."""


class _Handle(events.Handle):
    __slots__ = ("owner",)
    owner: CallbackOwner | None


class _TimerHandle(events.TimerHandle):
    __slots__ = ("owner",)
    owner: CallbackOwner | None


class VirtualEventLoop(asyncio.AbstractEventLoop):
    """An event loop whose clock moves only when there is nothing else to do."""

    def __init__(self) -> None:
        """Begin at time 0."""
        self.now_us = 0
        """The time, in microseconds since the beginning."""
        self.failures: list[dict[str, Any]] = []
        """What callbacks and tasks raised that nobody took."""
        self._ready: deque[_Handle | _TimerHandle] = deque()
        self._timers: list[tuple[int, int, _TimerHandle]] = []  # by time, then as they came
        self._count = 0
        self._is_running = False
        self._is_closed = False
        self._is_stopping = False
        self._tasks: list[asyncio.Task[Any]] = []

    # The clock and callbacks.

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now_us / 1e6

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> events.Handle:
        """Run ``callback`` after what is ready now."""
        if context is None:
            context = copy_context()
        handle = _Handle(callback, args, self, context)
        handle.owner = context.get(OWNER)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> events.TimerHandle:
        """Run ``callback`` in ``delay`` seconds."""
        return self.call_at_us(self.now_us + _us(delay), callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> events.TimerHandle:
        """Run ``callback`` when the clock shows ``when``."""
        return self.call_at_us(_us(when), callback, *args, context=context)

    def call_at_us(
        self,
        when_us: int,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> events.TimerHandle:
        """Run ``callback`` when the clock shows ``when_us``."""
        if context is None:
            context = copy_context()
        handle = _TimerHandle(when_us / 1e6, callback, args, self, context)
        handle.owner = context.get(OWNER)
        self._count += 1
        heappush(self._timers, (when_us, self._count, handle))
        handle._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001 - as asyncio does
        return handle

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        """Nothing: a cancelled timer is dropped when its time comes."""

    # Running.

    def run_until_complete(self, future: Any) -> Any:  # noqa: ANN401 - what comes out is what is in
        """Run until a result is there; return it."""
        task: asyncio.Future[Any] = asyncio.ensure_future(future, loop=self)
        self.run_while(lambda: not task.done())
        if not task.done():
            message = "a result is awaited, and nothing that could bring it will ever happen"
            raise DeadlockError(message)
        return task.result()

    def run_while(self, condition: Callable[[], bool], until_us: int | None = None) -> None:
        """Run while ``condition`` holds, there is something to do, and the clock allows it.

        When it ends because nothing more is due until ``until_us``, the clock shows that.
        """
        assert not self._is_running, "a loop runs once at a time"
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._end_generator)
        previous = events._get_running_loop()  # noqa: SLF001 - the way for loops to say who runs
        events._set_running_loop(self)  # noqa: SLF001
        self._is_running, self._is_stopping = True, False
        try:
            while condition() and not self._is_stopping:
                if self._ready:
                    self._run_ready(condition)
                elif not self._advance(until_us):
                    self.now_us = max(self.now_us, until_us or 0)
                    break
        finally:
            self._is_running = False
            events._set_running_loop(previous)  # noqa: SLF001
            sys.set_asyncgen_hooks(*hooks)

    def _run_ready(self, condition: Callable[[], bool]) -> None:
        ready = self._ready
        while ready:
            handle = ready.popleft()
            owner = handle.owner
            if owner is not None and (owner.is_dead or owner.is_paused):
                if not owner.is_dead:
                    owner.waiting.append(handle)
            elif not handle._cancelled:  # noqa: SLF001 - a call less, in the innermost loop
                handle._run()  # noqa: SLF001 - as asyncio does
                if not condition():
                    return

    def _advance(self, until_us: int | None) -> bool:
        """Move the clock to the next timer; False if there is none, or none that early."""
        timers = self._timers
        while timers:
            handle = timers[0][2]
            is_dead = handle.owner is not None and handle.owner.is_dead
            if not (handle._cancelled or is_dead):  # noqa: SLF001 - as above
                break
            heappop(timers)
        if not timers or (until_us is not None and timers[0][0] > until_us):
            return False
        self.now_us = max(self.now_us, timers[0][0])
        while timers and timers[0][0] <= self.now_us:
            self._ready.append(heappop(timers)[2])
        return True

    def stop(self) -> None:
        """End the current run after this callback."""
        self._is_stopping = True

    # Processes.

    def pause(self, owner: CallbackOwner) -> None:
        """Run nothing of a process until it is resumed."""
        owner.is_paused = True

    def resume(self, owner: CallbackOwner) -> None:
        """Let a process go on, with what became ready meanwhile."""
        owner.is_paused = False
        waiting, owner.waiting = owner.waiting, []
        self._ready.extend(waiting)

    def kill(self, owner: CallbackOwner) -> None:
        """Never run anything of a process again."""
        owner.is_dead = True
        owner.waiting.clear()
        for task in owner.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001

    # Futures and tasks.

    def create_future(self) -> "asyncio.Future[Any]":
        """Return a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Work[T], *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[T]":
        """Run a coroutine, as part of the process in whose context it is."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        owner = context.get(OWNER) if context is not None else OWNER.get()
        (owner.tasks if owner is not None else self._tasks).append(task)
        if owner is not None and len(owner.tasks) > _TASKS_SWEPT:
            owner.tasks = [task for task in owner.tasks if not task.done()]
        return task

    def _tasks_of(self, owners: Iterable[CallbackOwner]) -> list["asyncio.Task[Any]"]:
        return [*self._tasks, *(task for owner in owners for task in owner.tasks)]

    def _end_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._is_closed:
            self.call_soon(self.create_task, generator.aclose())

    def run_in_executor(
        self, executor: object, func: Callable[[*Ts], T], *args: *Ts
    ) -> "asyncio.Future[T]":
        """Call ``func`` at once: there are no threads, and computing takes no virtual time."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits it is told
            future.set_exception(error)
        return future

    # The rest of what asyncio asks a loop.

    def is_running(self) -> bool:
        """Whether a run is under way."""
        return self._is_running

    def is_closed(self) -> bool:
        """Whether the loop can be used no more."""
        return self._is_closed

    def get_debug(self) -> bool:
        """Never."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what nobody took; the test decides what follows."""
        self.failures.append(context)

    def collect_failures(self, *owners: CallbackOwner) -> list[dict[str, Any]]:
        """Return what was raised and nobody took: in callbacks, and in tasks that have ended."""
        for task in self._tasks_of(owners):
            # Whether nobody has looked: asyncio tells when it forgets the task, which is too late.
            is_unseen = task.done() and not task.cancelled() and task._log_traceback  # noqa: SLF001
            if is_unseen:
                said = {"message": f"{task.get_coro()} has failed", "exception": task.exception()}
                self.failures.append(said)
        return self.failures

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep it likewise."""
        self.failures.append(context)

    def close(self, *owners: CallbackOwner) -> None:
        """Forget everything that is scheduled, and end every coroutine where it stands."""
        self._is_closed = True
        self._ready.clear()
        self._timers.clear()
        previous = events._get_running_loop()  # noqa: SLF001
        events._set_running_loop(self)  # noqa: SLF001 - or what they do would ask for another loop
        ended: set[asyncio.Task[Any]] = set()
        # On their way out they may begin others.
        while tasks := [task for task in self._tasks_of(owners) if task not in ended]:
            ended.update(tasks)
            for task in tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
                coroutine = task.get_coro()
                if not task.done() and coroutine is not None:
                    _end(coroutine)
        events._set_running_loop(previous)  # noqa: SLF001
        self._ready.clear()
        self._timers.clear()
        self._tasks.clear()


def _end(coroutine: Work[Any]) -> None:
    """Cancel a coroutine where it stands, and again wherever it waits on its way out."""
    for _ in range(_AWAITS_MAX):
        try:
            coroutine.throw(asyncio.CancelledError())
        except BaseException:  # noqa: BLE001 - it has ended; what it says can change nothing
            return


def _us(seconds: float) -> int:
    """Return whole microseconds, rounded up: nothing happens before its time."""
    return -int(-seconds * 1e6 // 1)
