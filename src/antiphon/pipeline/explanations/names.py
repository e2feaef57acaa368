"""The users' own names for messages, looked up where explanations need them.

Law: a name is in the row of the message's multicast, or else in that of its delivery at the first
process by name. Files are looked into again, up to the last line that matters, and only if any
message was named in them: names are no part of what is judged.
"""

from antiphon.pipeline.explanations.evidence import Act, Place
from antiphon.pipeline.explanations.facts import Ids, Where
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.ingest.reading import ids_at

Naming = dict[tuple[int, int, int], list[Where]]
"""By scope, sender and number: where a message's name may be, the best place first."""


def ids_of(trace: Trace, naming: Naming, places: dict[Act, Place]) -> Ids:
    """Return the names of these messages."""
    wanted: dict[int, set[int]] = {}
    for candidates in naming.values():
        for act in candidates:
            if isinstance(act, Act):
                wanted.setdefault(places[act].segment, set()).add(places[act].line)
    found: dict[int, dict[int, str]] = {}
    for segment, lines in wanted.items():
        if trace.reports[segment].has_ids:
            with trace.fetched(trace.sources[segment]) as source:
                found[segment] = ids_at(source, lines, max(lines))

    def name(act: Where) -> str:
        if not isinstance(act, Act):
            return ""
        return found.get(places[act].segment, {}).get(places[act].line, "")

    return {key: next(filter(None, map(name, acts)), "") for key, acts in naming.items()}
