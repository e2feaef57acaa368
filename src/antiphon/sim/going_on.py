"""Whether the groups of a world have gone on where they can, and excluded nobody without reason.

Law: where a quorum of the last view agreed on lives and is in it, the living are the members of one
view, which all of them have installed. Who failed in one group is out of all of them. In a domain a
process that is blocked in one group may hold up another: there nothing is asked.
"""

from collections.abc import Iterable

from antiphon.core.ids import GroupNumber
from antiphon.sim.several_groups import SeveralGroups


def find_stuck(world: SeveralGroups, number: int) -> str:
    """Say whether a group has not gone on where a quorum of its last view lives."""
    group = GroupNumber(number)
    living = [
        node
        for node in world.nodes.values()
        if node.is_up and group in node.views and group not in node.ends
    ]
    if not living:
        return ""
    # Of the views agreed on, installed or not: the last one decides who is a quorum.
    agreed = [node.machine.endpoint(group).latest or node.views[group] for node in living]
    newest = max(agreed, key=lambda view: view.number)
    here = [node.ids[group] for node in living]
    if not newest.has_quorum([who for who in newest.members if who in here]):
        return ""
    views = {node.me.name: node.views[group].number for node in living}
    is_one = set(views.values()) == {newest.number}
    if is_one and sorted(newest.members) == sorted(here):
        return ""
    return f"group {world.names[group]} has not gone on: the living are in views {views}"


def find_stuck_in_domain(world: SeveralGroups, numbers: Iterable[int]) -> str:
    """Say the same of the groups of a domain; who is blocked in one may hold up another."""
    for node in world.nodes.values():
        if node.is_up and any(
            node.machine.endpoint(group).is_blocked
            for group in node.machine.groups
            if group not in node.ends
        ):
            return ""
    return next((said for number in numbers if (said := find_stuck(world, number))), "")


def find_excluded(world: SeveralGroups, *, is_calm: bool) -> str:
    """Say who was excluded where nothing went wrong, or only from some of its groups."""
    for node in world.nodes.values():
        failed = [world.names[group] for group, why in node.ends.items() if why]
        going = [world.names[group] for group in node.views if group not in node.ends]
        if failed and is_calm:
            return f"{node.me.name} is excluded from group {failed[0]}, and nothing had happened"
        if failed and going and node.is_up:
            return f"{node.me.name} failed in group {failed[0]}, and goes on in group {going[0]}"
    return ""
