"""One page that shows a run: its verdict, its measures, and who did what when.

Law: a page is made from the rows of a trace and a finished verdict, and judges nothing itself. It
is one file that asks the network for nothing; everything that comes from the trace is data in
it, never markup or code; the same trace and verdict give the same bytes.

    record     the rows, as columns per process: about 70 bytes each
    matching   which multicast a delivery is of, and when it had arrived
    moments    what happened that is worth looking at
    selection  which rows are shown where there are too many
    diagram    the space-time diagram as data
    measures   counts, delays, depths, headers, view changes
    plots      figures of these
    page       all of it as one page
    export     the rows, for other programs to show

Sweeps and reproductions have pages of their own (``sweep_page``, ``claims_page``), whose figures
are lines, ours beside a paper's (``series``).
"""
