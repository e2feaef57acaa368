"""How golden conversations name what processes send, and tell what they do.

Law: every field that matters to the protocol is in the words, and nothing else: a field that is
left out here is one that no conversation can get wrong.
"""

from collections.abc import Mapping
from itertools import groupby

import msgspec
from tests.golden.acts import (
    Act,
    AskedVote,
    Concluded,
    Copied,
    Decided,
    Delivered,
    Handled,
    Installed,
    Item,
    Noted,
    Sent,
)

from antiphon.core import control
from antiphon.core.runs import PORT_CALLS, PORT_COMMIT, PORT_ORDER, Letter, Order, Run, SetsOrder
from antiphon.core.views import View
from antiphon.toolkit import calls, commit_messages
from antiphon.toolkit.calls import Answered, Ending, Failed, Refused, Reply, Request

Views = Mapping[int, View]


def name_of(item: Item) -> str:
    """Return how a conversation names what arrives."""
    if isinstance(item, Copied):
        return f"copy of {name_of(item.run)}"
    if not isinstance(item, Run):
        return type(item).__name__
    if item.port == PORT_ORDER:
        return "list"
    if item.port == PORT_COMMIT:
        return type(commit_messages.decode(item.payloads[0])).__name__
    if item.port == PORT_CALLS and isinstance(item, Letter):
        return "reply"
    return _texts(item)[0]


def tell(act: Act, views: Views) -> str:
    """Return a line for what a process was told to do; empty if it says nothing."""
    match act:
        case Sent():
            return _tell_sent(act, views)
        case Delivered(who, run):
            return _tell_delivered(who, run, views)
        case Installed(who, view):
            return f"{who} installs {_view(view)}"
        case Noted(who, what):
            return f"{who} {what}"
        case _:
            return _tell_tool(act)


def _tell_tool(act: Handled | Concluded | AskedVote | Decided) -> str:
    match act:
        case Handled(who, caller, number, body):
            return f"{who} handles {body}" + (f", call {number} of {caller}" if number else "")
        case Concluded():
            return _tell_concluded(act)
        case AskedVote(who, transaction, body):
            return f"{who} is asked to vote on {_transaction(transaction)}: {body}"
        case Decided(who, transaction, outcome, why):
            return f"{who} learns: {outcome} {_transaction(transaction)}" + _because(why)


# Runs and letters.


def _tell_sent(act: Sent, views: Views) -> str:
    item, to = act.item, " ".join(act.to)
    if isinstance(item, Letter):
        after = f", after its message {item.first - 1}" if item.first > 1 else ""
        return f"{act.who} sends {words(item, views)} to {to}{after}{_stamp(item, views)}"
    if isinstance(item, Run):
        return f"{act.who} multicasts {_tell_run(item, views)}"
    if isinstance(item, Copied):
        sender = views[item.run.view].members[item.run.sender]
        return f"{act.who} relays {words(item.run, views)} of {sender} to {to}"
    return f"{act.who} sends {_tell_message(item, views)} to {to}"


def _tell_run(run: Run, views: Views) -> str:
    numbers = f"{run.first}" if run.count == 1 else f"{run.first} to {run.last}"
    order = {Order.FIFO: ", fifo", Order.CAUSAL: "", Order.TOTAL: ", total"}[run.order]
    uniform = ", uniform" if run.uniform else ""
    turns = _turns(run.sets_order, views[run.view]) if run.sets_order is not None else ""
    return f"{numbers}: {words(run, views)}{order}{uniform}{_stamp(run, views)}{turns}"


def words(run: Run, views: Views) -> str:
    """Return what a run or a letter says."""
    if run.port == PORT_ORDER:
        return "list"
    if run.port == PORT_COMMIT:
        return _tell_commit(run, views)
    if run.port == PORT_CALLS and isinstance(run, Letter):
        reply = msgspec.msgpack.decode(run.payloads[0], type=Reply)
        kind = "refusal" if reply.is_refusal else "reply"
        return f"{kind} {reply.payload.decode()} to call {reply.number}"
    return " ".join(_texts(run))


def _texts(run: Run) -> list[str]:
    if run.port == PORT_CALLS:
        return [msgspec.msgpack.decode(run.payloads[0], type=Request).body.decode()]
    return [bytes(payload).decode() for payload in run.payloads]


def _tell_commit(run: Run, views: Views) -> str:
    speaker = views[run.view].members[run.sender]
    match commit_messages.decode(run.payloads[0]):
        case commit_messages.Begin(number, _, body, needs):
            needed = f", needing {' '.join(needs)}" if needs else ""
            return f"begin {speaker}/{number} {body.decode()}{needed}"
        case commit_messages.Vote(transaction, is_yes, why):
            vote = "yes" if is_yes else "no"
            return f"{speaker}'s vote on {_transaction(transaction)}: {vote}" + _because(why)
        case commit_messages.Decision(transaction, is_commit, why):
            outcome = "commit" if is_commit else "abort"
            return f"{speaker}'s decision: {outcome} {_transaction(transaction)}" + _because(why)
        case commit_messages.State(number, opened, decided):
            told = f"{len(opened)} open, {len(decided)} decided"
            return f"what is known at the beginning of view {number}: {told}"
        case commit_messages.Lack(number):
            return f"{speaker} knows nothing of before view {number}"


def _transaction(transaction: commit_messages.Transaction) -> str:
    return f"{transaction.initiator}/{transaction.number}"


def _because(why: str) -> str:
    return f" ({why})" if why else ""


def _stamp(run: Run, views: Views) -> str:
    members = views[run.view].members
    counts = " ".join(f"{members[rank]}={count}" for rank, count in run.stamp)
    return f", stamp {counts}" if counts else ""


def _turns(order: SetsOrder, view: View) -> str:
    members = view.members
    turns: list[str] = []
    place = order.number
    for rank, group in groupby(order.turns, key=lambda turn: turn[0]):
        given = list(group)
        last = place + len(given) - 1
        whose = f"{members[rank]}'s up to {given[-1][1]}"
        one = f"turn {place} is {whose}"
        turns.append(one if place == last else f"turns {place} to {last} are {whose}")
        place = last + 1
    token = [f"token to {members[order.successor]}"] if order.successor >= 0 else []
    return f", {', '.join([*turns, *token])}"


def _tell_delivered(who: str, run: Run, views: Views) -> str:
    if run.port == PORT_CALLS:
        sender = views[run.view].members[run.sender]
        return f"{who} gets {words(run, views)} of {sender}" if isinstance(run, Letter) else ""
    return f"{who} delivers {words(run, views)}"


def _tell_concluded(act: Concluded) -> str:
    endings = ", ".join(f"{who} {_ending(one)}" for who, one in act.replies.items())
    said = endings or "nobody answered"
    if act.error is None:
        return f"{act.who}'s call {act.number} ends: {said}"
    return f"{act.who}'s call {act.number} fails ({type(act.error).__name__}): {said}"


def _ending(ending: Ending) -> str:
    match ending:
        case Answered(payload):
            return payload.decode()
        case Refused(why):
            return f"refused ({why})"
        case Failed():
            return "failed"
        case calls.TimedOut():
            return "timed out"


# Control messages.


def _view(view: View) -> str:
    changes = {"joined": view.joined, "left": view.left, "failed": view.failed}
    said = "".join(f", {' '.join(map(str, who))} {how}" for how, who in changes.items() if who)
    return f"view {view.number}: {' '.join(map(str, view.members))}{said}"


def _tell_message(message: control.AnyMessage, views: Views) -> str:
    return f"{type(message).__name__}{_fields(message, views)}"


def _fields(message: control.AnyMessage, views: Views) -> str:
    """Return what a control message says; what says nothing but its name is empty."""
    match message:
        case control.Propose(ballot, view):
            return f" ballot {ballot}: {_view(view)}"
        case control.Accept(_, ballot):
            return f" ballot {ballot}"
        case control.Decide(agreed):
            return f" {'; '.join(map(_view, agreed))}"
        case control.Ask():
            return _ask(message)
        case control.Out(number) | control.Flush(number) | control.LetterTaken(number):
            return f" {number}"
        case _:
            return _ballot_fields(message) or _flush_fields(message, views)


def _ballot_fields(message: control.AnyMessage) -> str:
    match message:
        case control.Prepare(number, ballot):
            return f" ballot {ballot} for view {number}"
        case control.Promise(_, ballot, accepted_ballot, accepted):
            had = f", accepted ballot {accepted_ballot}: {_view(accepted)}" if accepted else ""
            return f" ballot {ballot}{had}"
        case control.Reject(_, promised):
            return f", ballot {promised} is promised"
        case control.Want(after):
            return f" views after {after}"
        case _:
            return ""


def _ask(ask: control.Ask) -> str:
    asked = [
        *(f"exclude {who}" for who in ask.suspected),
        *(f"take in {who}" for who in ask.joining),
        *(["let me leave"] if ask.leaving else []),
    ]
    return f" {', '.join(asked)}" if asked else " nothing any more"


def _flush_fields(message: control.AnyMessage, views: Views) -> str:
    match message:
        case control.Report(number, received, excluded):
            members = views[number].members
            counts = " ".join(f"{who}={n}" for who, n in zip(members, received, strict=True))
            out = f", without {' '.join(str(members[rank]) for rank in excluded)}"
            return f" on view {number}: received {counts}" + (out if excluded else "")
        case control.Install(number, uncounted):
            before = views[number - 1].members if uncounted else ()
            out = f", not counting {' '.join(str(before[rank]) for rank in uncounted)}"
            return f" {number}" + (out if uncounted else "")
        case control.Alive(number, received, stable):
            members = views[number].members if received else ()
            done = dict(message.undelivered)
            counts = "".join(
                f" {members[rank]}={count}" + (f" ({done[rank]} delivered)" if rank in done else "")
                for rank, count in received
            )
            heard = f", received{counts}" if counts else ""
            return f" in view {number}{heard}" + (f", stable {stable}" if stable else "")
        case control.Confirm(_, settled, marked):
            parts = [f"has yours up to {settled}"] if settled else []
            parts += [f"marks its own up to {marked}"] if marked else []
            return f" that it {' and '.join(parts)}"
        case _:
            return ""
