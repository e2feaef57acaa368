"""What is reckoned step by step is what the definitions say, over any history of words."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.ordering.blocks.matrix import EVERYWHERE, BlockMatrix
from antiphon.ordering.blocks.messages import BlockKind, BlockMessage

Word = tuple[int, int, int, list[int]]


def _words(size: int) -> st.SearchStrategy[list[Word]]:
    block = st.integers(1, 12)
    vector = st.lists(st.integers(0, 8), min_size=size, max_size=size)
    return st.lists(st.tuples(st.integers(0, size - 1), block, st.integers(0, 9), vector))


@given(st.integers(2, 5).flatmap(lambda size: st.tuples(st.just(size), _words(size))), st.data())
def test_least_and_limit_are_as_defined(case: tuple[int, list[Word]], data: st.DataObject) -> None:
    """The newest word of each counts; minima run over the live ones; own words count at once."""
    size, words = case
    me = 0
    matrix = BlockMatrix(size, me)
    newest: dict[int, Word] = {}
    stamped = 0
    suspects: set[int] = set()
    for word in words:
        sender, block, maximum, vector = word
        if sender == me:
            stamped = matrix.stamp()[0]
        else:
            message = BlockMessage(sender, BlockKind.NULL, block, maximum, tuple(vector))
            assert matrix.hear(message, 0) is (block > newest.get(sender, (0, 0))[1])
            newest[sender] = max(newest.get(sender, word), word, key=lambda each: each[1])
        if sender != me and data.draw(st.integers(0, 9)) == 0:
            matrix.suspect(sender)
            suspects.add(sender)
    nothing: Word = (0, 0, 0, [0] * size)
    said = {member: newest.get(member, nothing) for member in range(size) if member != me}
    live = [member for member in range(size) if member not in suspects]
    for column in range(size):
        reports = [said[member][3][column] for member in live if member not in {me, column}]
        assert matrix.least[column] == min(reports, default=EVERYWHERE)
    highest = {member: said[member][1] for member in live if member != me} | {me: stamped}
    own = min(highest.values())
    assert matrix.maximum() == own
    if words:
        assert matrix.limit == min([own, *(said[member][2] for member in live if member != me)])
    assert matrix.counter >= max([stamped, *(word[1] for word in words if word[0] != me)])
