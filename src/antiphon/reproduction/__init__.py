"""Papers reproduced: what they claim, run and judged.

claim     what a claim is, and how much effort to make
judges    how numbers are compared with what is claimed
counts    claims of ISIS about messages, counted in simulation
table_1   Table I of ISIS: the overhead of a message, counted in simulation
sockets   claims of ISIS about time, on real sockets: Tables II to V, figures 6 and 7
numbers   what ISIS prints in its tables
uniform   claims of Uniform
blocks    claims of Blocks, in simulation
overlay   claims of Overlay
running   claims run one after the other, and what is written

Law: adding a paper is a module with a tuple of claims, and one line in ``running``. No number is
written down here but the papers'.
"""
