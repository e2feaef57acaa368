"""The end of a house: who lives and can go on reads what is said then.

Law: of a domain in which somebody is blocked nothing is asked, for it may hold up its other groups.
"""

from tests.adversary.houses.world import House, Program

from antiphon import Order
from antiphon.net.group.group import Group

Handles = dict[str, dict[str, Group]]
"""By group and process."""


def look_at_the_end(house: House) -> None:
    """Complain of what does not go on."""
    living = {name: one for name, one in house.programs.items() if one.is_there}
    handles: Handles = {
        group: {name: one.handles[group] for name, one in living.items() if group in one.inside}
        for group in house.groups
    }
    held = {
        house.domains[group]
        for group, there in handles.items()
        if not all(handle.view.primary for handle in there.values())
    }
    if "house" in held:
        return
    going = {group: one for group, one in handles.items() if house.domains[group] not in held}
    _look_at_views(house, going)
    said = {group: _speak(house, group, [living[name] for name in going[group]]) for group in going}
    house.cluster.advance(8.0)
    for group, there in going.items():
        for program in (living[name] for name in there):
            read = {step.bit for step in program.reader.steps}
            for bit in said[group] if group in program.inside else ():
                message = house.judge.said[bit]
                if message.group == group and not message.to and bit not in read:
                    house.judge.complain(f"liveness: {program.name} has not read {message.name}")


def _look_at_views(house: House, going: Handles) -> None:
    for group, there in going.items():
        views = {handle.view.number for handle in there.values()}
        if len(views) > 1:
            house.judge.complain(f"liveness: {group} has views {sorted(views)}")
        for name, handle in there.items():
            members = {who.split("~")[0] for who in handle.members}
            if members != set(there):
                house.judge.complain(f"liveness: {name} in {group} is with {sorted(members)}")


def _speak(house: House, group: str, programs: list[Program]) -> list[int]:
    before = len(house.judge.said)
    for program in programs:
        program.do(program.say(group, Order.CAUSAL))
        house.cluster.advance(0.05)
    return list(range(before, len(house.judge.said)))
