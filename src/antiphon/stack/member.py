"""A member: one process in one dynamic group, composed.

    application    multicast, send       leave             DeliverRuns  InstallView  BlockGroup
                         |                 |                    ^            ^
    order           MixedDomain, Letters   |                    |            |
    copies               |                 |       Receiver ----+            |
    views                |        Membership: detector, agreement, flush ----+
    heartbeats           |        Announcer          ^
                         |                 |         |
    transport    SendRun, SendLetter   SendControl, RelayRuns   runs, letters, control messages

Law: virtual synchrony. Messages and views come in one stream of effects; a message is delivered
in the view in which it was multicast, and nothing is multicast while a view is being left, but
the token holder's last list; nor while a letter is not acknowledged.

A run is taken (``receiver``) from a process that has not failed in a view agreed on since.
"""

from collections.abc import Mapping, Sequence

from antiphon.core.control import Alive, AnyMessage, Beat, LetterAsked, LetterTaken
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import (
    DeliverRuns,
    Effect,
    InstallView,
    Outbox,
    SendLetter,
    SendRun,
)
from antiphon.membership.membership import Membership
from antiphon.membership.pulses import Pulses
from antiphon.membership.transition import Transition
from antiphon.ordering.letters import Letters
from antiphon.stack.announcer import Announcer
from antiphon.stack.domain import Domain
from antiphon.stack.member_datagrams import as_blocks
from antiphon.stack.member_words import MemberWords, Words
from antiphon.stack.newcomers import Newcomers
from antiphon.stack.overlay import neighbours_of
from antiphon.stack.reach import GroupReach
from antiphon.stack.receipt_tree import ReceiptTree
from antiphon.stack.receiver import GROUP, Receiver
from antiphon.stack.settings import Settings

_TOTAL = Order.TOTAL  # looking a member of an enum up is slow


class Member(MemberWords):
    """One process in one dynamic group."""

    def __init__(
        self,
        me: ProcessId,
        view: View | None,
        settings: Settings,
        now_us: int,
        pulses: Pulses | None = None,
        former: Mapping[ProcessId, int] | None = None,
        *,
        domain: Domain | None = None,
        group: GroupNumber = GROUP,
    ) -> None:
        """Begin in ``view``, agreed on beforehand by all its members, or outside.

        ``pulses`` are shared by the groups of a process; ``former`` members have failed before.
        ``domain`` is shared by the groups of one, and knows this one as ``group``.
        """
        self.me = me
        self._out = Outbox(me)
        self._settings = settings
        self.group = group
        """The group, as the domain knows it."""
        self.domain = domain if domain is not None else Domain()
        """What the process's groups of one causality domain share."""
        self.ordering = self.domain.ordering
        """The ordering machine, to look into."""
        self.letters = Letters()
        """Whose acknowledgement is awaited, and whose letters are to be: :meth:`acknowledge`."""
        transition = Transition(view)
        protocol = settings.protocol
        self.dissemination = protocol.begin(self._out, transition) if protocol is not None else None
        """How runs reach the members, if the group has chosen a way."""
        self.blocks = as_blocks(self.dissemination, group, now_us)
        self.receiver = Receiver(
            self._out, transition, self.domain, group, self.letters, settings.limits,
            settings.token, dissemination=self.dissemination,
        )  # fmt: skip
        self.domain.add(group, self)
        self.newcomers = Newcomers(self._out, self.receiver, self.domain, group)
        self.is_open = False
        """Whether this process is in a view that nobody is leaving, and that is not blocked."""
        self._is_among_groups = domain is not None
        self._unaware: dict[ProcessId, None] = {}
        """Who joined in, or founded, the current view and may not have begun; nothing is multicast
        before."""
        self._has_said_so = False
        self.membership = Membership(
            self._out, transition, settings.timing, settings.flush_maker, self.receiver, now_us,
            pulses, former=former, neighbours=neighbours_of(self.dissemination),
        )  # fmt: skip
        self.announcer = Announcer(self.membership, self.receiver, now_us)
        has_tree = self.dissemination is not None and self.blocks is None
        self.receipts = ReceiptTree(self._out, self.receiver, self.membership, is_used=has_tree)
        """What is said of receipts where members tell each other by a tree."""
        if view is not None:
            self._begin(view, is_founding=True)
            self._out.put(InstallView(view))
            self.newcomers.greet(is_new=True)
            if self._is_among_groups:  # others multicast when they know that this process has begun
                begun = Alive(view.number, (), 0, view.number)
                self._out.send_each(transition.everybody(), begun)
            self.receiver.deliver(self.ordering.drain())

    # What the others are told.

    def confirm_receipts(self, now_us: int) -> list[Effect]:
        """Tell the others what was received."""
        if self.receiver.tree is not None:
            self.receipts.confirm()
        elif self.membership.latest is not None and not self.membership.is_over:
            everybody = self.membership.transition.everybody()
            self._out.send_each(everybody, self.announcer.announce(now_us))
        return self._out.take()

    def take_effects(self) -> list[Effect]:
        """Hand over what is to be done, in order."""
        return self._out.take()

    # What other groups of the domain ask.

    def tell(self, message: AnyMessage, *, later: bool = False) -> None:
        """Say something to all other members of the current view, and perhaps of later ones."""
        if not self.membership.is_over:
            known = self.membership.transition.everybody() if later else self.members
            self._out.send_each((who for who in known if who != self.me), message)

    def ask_for_acknowledgement(self) -> None:
        """There is something to send: see to it that no letter holds it up for long."""
        to = self.letters.request_acknowledgement()
        if to is not None:
            self._out.send(to, LetterAsked())

    def look_again(self, now_us: int) -> list[Effect]:
        """Something has happened in another group: install what may be installed by now."""
        self.receiver.answer()
        return [] if self.membership.is_over else self._settled(now_us)

    def close(self) -> list[Effect]:
        """Take part in the group no longer: it has been left, or was not entered."""
        self.domain.remove(self.group)
        self.receiver.leave()
        return self._out.take()

    # What happens: the application.

    def multicast(
        self,
        payloads: Sequence[bytes],
        order: Order,
        now_us: int,
        byte_count: int | None = None,
        *,
        uniform: bool = False,
        port: int = PORT_APPLICATION,
        priority: int = 0,
        expires_us: int | None = None,
    ) -> list[Effect]:
        """Multicast a run, and deliver it here in its turn; only while ``may_multicast``.

        ``priority``, and the end of its lifetime, are for causal blocks.
        """
        if not self.may_multicast:
            message = "the group is between two views, or blocked: wait for the next view"
            raise UsageError(message)
        is_plain = self._is_plain(order, uniform=uniform)
        receiver, announcer = self.receiver, self.announcer
        size = byte_count if byte_count is not None else sum(map(len, payloads))
        alive = None
        is_told = self.blocks is not None  # receipts go with the blocks; the rest can wait
        if not is_told and announcer.is_due_after(size, now_us) and len(receiver.members) > 1:
            # Before the run is stamped: what it makes ready is delivered after all this is sent.
            alive = announcer.announce(now_us)
        if is_plain:
            run = self.ordering.multicast(self.group, payloads, order, byte_count, port)
            ready = [run]
        else:
            run, ready = self.ordering.multicast_any(
                self.group, payloads, order, byte_count, uniform=uniform, port=port
            )
        assert run.view == self.membership.transition.number, "it belongs to the current view"
        if self.blocks is not None:
            (run,) = ready = self.blocks.prepare(run, now_us, priority, expires_us)
        receiver.keep_own(run)
        effects: list[Effect] = [SendRun(run, alive)]
        if self._is_among_groups:
            self.domain.note_sent(self.group)
            self.domain.name_groups(self.group, run.foreign)
            effects[:0] = self._out.take()
        if self.dissemination is not None:
            effects = self.dissemination.send(run, alive)
        if ready:
            effects.append(DeliverRuns(ready))
        return effects

    def multicast_news(self) -> list[Effect]:
        """Multicast what is known of other groups, and nothing else: before a letter, if need be.

        The same conditions as for :meth:`multicast`.
        """
        run, ready = self.ordering.multicast_news(self.group)
        self.domain.name_groups(self.group, run.foreign)
        self.receiver.send_own(run, ready)
        return self._out.take()

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> list[Effect]:
        """Send a message to one member; only while ``may_send``."""
        if not self.may_send(to):
            message = f"a letter to {to} cannot go out now: it must be another member of the view"
            raise UsageError(message)
        return [SendLetter(to, self.write_letter(to, payload, port))]

    def write_letter(self, to: ProcessId, payload: bytes, port: int) -> Letter:
        """Do the same, without wrapping it up: the letter is to be sent at once."""
        assert self.is_open, "the caller has looked"
        self.letters.send(to)
        self.domain.note_letter(self.group)
        return self.ordering.write_letter(self.group, payload, port)

    def acknowledge(self, now_us: int, *, withhold: bool = False) -> list[Effect]:
        """Tell the others what they wait for: lists, confirmations, marks, acknowledgements.

        Called when a burst of arrivals is over, so that one message serves many. Acknowledgements
        of letters to an application that reads too slowly are withheld; never the rest.
        """
        for sender, count in self.letters.take_acknowledgements(withhold=withhold):
            self._out.send(sender, LetterTaken(count))
        if self.is_due:
            said = self.ordering.multicast_order(self.group)
            if said is not None:
                self.receiver.send_own(*said)
            for rank, confirm in self.ordering.confirmations(self.group):
                self._out.send(self.members[rank], confirm)
        return self._settled(now_us)

    def request_acknowledgement(self) -> list[Effect]:
        """There is something to send: see to it that no letter holds it up for long."""
        self.ask_for_acknowledgement()
        return self._out.take()

    def leave(self, now_us: int) -> list[Effect]:
        """Ask to leave the group."""
        self.membership.leave(now_us)
        return self._settled(now_us)

    def ask_to_join(self, contact: ProcessId, now_us: int) -> list[Effect]:
        """Ask a member to be taken in."""
        self.membership.ask_to_join(contact)
        return self._settled(now_us)

    def take_over(self, step: int, now_us: int) -> list[Effect]:
        """Go on alone, under a new lineage (``Membership.take_over``)."""
        self.membership.take_over(step, now_us)
        effects = self._settled(now_us)
        self.receiver.forget_past()
        return effects

    def hear_question(self, view_number: int, now_us: int) -> list[Effect]:
        """A process asks how this one stands, in a view of this number."""
        self.membership.ending.hear_question(view_number)
        return self._settled(now_us)

    def gain_state(self, now_us: int) -> list[Effect]:
        """The application has the group's state."""
        self.membership.gain_state(now_us)
        return self._settled(now_us)

    # What happens: time and other processes.

    def tick(self, now_us: int, *, is_due: bool = False) -> list[Effect]:
        """Called every heartbeat: look who is silent; say how this process stands if that is news.

        Channels are reliable, so once is enough. ``is_due``: something was withheld before.
        """
        if self.membership.is_over:
            return []
        self.membership.tick(now_us)
        # Whoever is alone hears nothing that would make it look: a leaver may just be forgotten.
        self.receiver.drop_past(self.membership.roster.view_of)
        if self.membership.latest is not None and (is_due or self.announcer.has_news()):
            everybody = self.membership.transition.everybody()
            self._out.send_each(everybody, self.announcer.announce(now_us))
        if self.receiver.tree is not None:
            self.receipts.beat()
        return self._settled(now_us)

    def hear_beat(self, peer: ProcessId, now_us: int) -> list[Effect]:
        """``peer`` has nothing to add: what it said last still holds, and may matter only now."""
        self.membership.hear(peer, now_us)
        alive = self.announcer.last_of(peer)
        if alive is None:
            return []
        self.membership.hear_alive(peer, alive, now_us)
        return self._settled(now_us)

    def lose(self, peer: ProcessId, now_us: int, *, is_certain: bool = True) -> list[Effect]:
        """``peer`` is dead; or, if that is not certain, is given up because it takes nothing."""
        self._attend(now_us, has_reason=True)
        self.membership.lose(peer, now_us, is_certain=is_certain)
        if self.blocks is not None and is_certain:
            self.blocks.group.suspect(peer, now_us)
        return self._settled(now_us)

    def take_run(
        self, peer: ProcessId, run: Run, now_us: int, *, relayed: bool = False
    ) -> list[Effect]:
        """Take a run, the long way: also relayed ones, and while a view is being left."""
        membership = self.membership
        if peer == self.me:
            message = f"another process claims to be {peer}"
            raise PeerError(message)
        self.domain.lacks.check(peer)
        membership.hear(peer, now_us)
        if membership.is_over or not membership.roster.takes_from(peer, run.view):
            return []
        if relayed:
            membership.flush.take_copies(peer, [run])
        fresh = self.receiver.take_run(peer, run, relayed=relayed)
        if not membership.transition.pending:
            return self._out.take()  # a run alone changes nothing about views
        if fresh is not None:
            membership.flush.take_runs([fresh])
        return self._settled(now_us)

    def take_control(self, peer: ProcessId, message: AnyMessage, now_us: int) -> list[Effect]:
        """Take a control message."""
        if peer == self.me:
            claim = f"another process claims to be {peer}"
            raise PeerError(claim)
        self.domain.lacks.check(peer)
        if isinstance(message, Beat):
            return self.hear_beat(peer, now_us)
        if isinstance(message, Alive):
            self.announcer.hear(peer, message)
            if self._unaware and message.agreed >= self.view_number:
                self._unaware.pop(peer, None)
            self.membership.hear_alive(peer, message, now_us)
            self.receiver.take_alive(peer, message, self.membership.roster.view_of)
        elif isinstance(message, Words):
            self.membership.hear(peer, now_us)
            self._take_word(peer, message)
        else:
            self.membership.receive(peer, message, now_us)
        return self._settled(now_us)

    def take_letter(self, peer: ProcessId, letter: Letter, now_us: int) -> list[Effect]:
        """Take a letter; it is acknowledged when all that came with it has been taken."""
        membership = self.membership
        if peer == self.me or letter.group != self.group or letter.view < 1:
            message = f"{peer} sends a letter that cannot be for this process"
            raise PeerError(message)
        membership.hear(peer, now_us)
        if membership.is_over or not membership.roster.takes_from(peer, letter.view):
            return []
        self.receiver.take_letter(peer, letter)
        self.letters.receive(peer, is_reply=letter.port == PORT_CALLS)
        return self._out.take()  # a letter changes nothing about views

    # Views.

    def _settled(self, now_us: int) -> list[Effect]:
        """Install what may be installed; return all effects of the step."""
        membership = self.membership
        if self.blocks is not None:
            self._look_at_blocks(self.blocks, now_us)
        while (view := membership.next_installable()) is not None and self._may_end(view):
            self._install(view, now_us)
        if self._is_among_groups:
            if membership.transition.current is None:
                self._look_forward()
            self.newcomers.look_forward(membership.transition.pending)
        self.receiver.answer()
        is_plain = not membership.transition.pending and not membership.is_over
        is_trusting = membership.roster.takes_from_all(self.receiver.members)
        takes_short_way = is_plain and is_trusting and self.dissemination is None
        self.receiver.plain_view = membership.transition.number if takes_short_way else 0
        assert not is_plain or membership.transition.newest is membership.latest, "none is missed"
        self.is_open = membership.may_multicast and not self._unaware and self.newcomers.is_told
        self._attend(now_us)
        return self._out.take()

    def _attend(self, now_us: int, *, has_reason: bool = False) -> None:
        """Be alarmed, or not, where members do not watch everybody all the time."""
        membership = self.membership
        if membership.attention.is_sparse and not membership.is_over:
            has_reason = has_reason or self.announcer.has_news()
            membership.attend(now_us, has_reason=has_reason)

    def _look_forward(self) -> None:
        """As a joiner: say at once that the first view is known, and hold what depends on it.

        The others multicast in it only then: else what another group's message depends on could
        be of a view that this process is in, and does not know of (001-10).
        """
        pending = self.membership.transition.pending
        if pending and not self._has_said_so and not self.membership.is_over:
            self._has_said_so = True
            self.ordering.expect(self.group, pending[0].number)
            latest = self.membership.latest
            assert latest is not None, "a view is known"
            known = Alive(0, (), 0, latest.number)
            self._out.send_each(self.membership.transition.everybody(), known)

    def _may_end(self, view: View) -> bool:
        """Whether nothing of the current view waits for another group of the domain (000-26)."""
        current, domain = self.membership.transition.current, self.domain
        is_alone = not domain.is_shared and domain.epochs is None
        if current is None or is_alone or view.lineage > current.lineage:
            return True
        return self.receiver.may_end()

    def _install(self, view: View, now_us: int) -> None:
        membership = self.membership
        before = membership.transition.current
        if before is not None:
            self.receiver.end(before, keeps_copies=membership.flush.keeps_copies)
        membership.enter()
        assert membership.transition.current is view, "what may be installed is what was entered"
        self._out.put(InstallView(view))
        if self.me in view.members:
            self._begin(view)
            self.newcomers.greet(is_new=self.me in view.joined)
            self.receiver.take_early(view, membership.roster.view_of)
            self.receiver.drop_past(membership.roster.view_of)
            self._take_early_datagrams()
            self.receipts.take_early()
        else:  # the last word of a leaver: it needs nothing more
            farewell = Alive(view.number, (), 0, view.number)
            self._out.send_each(membership.transition.everybody(), farewell)
            self.domain.remove(self.group)
            self.receiver.leave(view.number)
        membership.settle(now_us)

    def _begin(self, view: View, *, is_founding: bool = False) -> None:
        assert self.me in view.members, "a view begins for its members"
        self.domain.enter_view(self.group)
        self.receiver.begin(view)
        self.ordering.see(
            self.group,
            GroupReach(
                self.me,
                self.receiver.stability,
                self.membership.transition,
                self.membership.roster,
            ),
        )
        self.announcer.forget_strangers()
        if self._is_among_groups:
            agreed = self.announcer.agreed_by
            new = view.members if is_founding else view.joined
            self._unaware = {
                who: None for who in new if who != self.me and agreed(who) < view.number
            }
            self.newcomers.enter(view)
        is_told = self.newcomers.is_told
        self.is_open = self.membership.may_multicast and not self._unaware and is_told
