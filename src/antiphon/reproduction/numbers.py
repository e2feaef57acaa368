"""What ISIS prints: Tables I to V. The only numbers here that no run has measured.

Destinations are the lines; S, M and L are packets of 0, 1,000 and 7,000 bytes; times in
milliseconds, on SUN 4/60 workstations and a 10 Mbit Ethernet.
"""

SIZES = {"S": 0, "M": 1_000, "L": 7_000}

FIXED_HEADER_BYTES = 28
"""Table I."""

FIRST_HEADER_BYTES = 220
"""Section 8: what the implementation that was measured really used, about."""

CBCAST_MS = {
    1: (6.51, 7.86, 17.0), 2: (8.67, 10.1, 23.4), 3: (10.7, 12.2, 34.9), 4: (12.9, 15.2, 43.4),
    5: (16.3, 18.8, 54.1), 6: (19.6, 21.9, 64.6), 7: (22.9, 25.7, 75.7),
}  # fmt: skip
"""Table II: round trips with S, M and L packets, by destinations."""

CBCAST_PER_S = {1: 1019, 2: 572, 3: 567, 4: 447, 5: 352, 6: 305, 7: 253}
"""Table II: asynchronous null multicasts per second."""

ABCAST_MS = {
    1: (12.7, 14.0, 25.5), 2: (18.5, 19.7, 30.7), 3: (24.6, 25.6, 42.6), 4: (31.4, 32.5, 53.5),
    5: (38.1, 39.2, 70.3), 6: (44.3, 42.1, 77.5), 7: (55.2, 48.3, 97.0),
}  # fmt: skip
"""Table III."""

ABCAST_PER_S = {1: 341, 2: 273, 3: 207, 4: 197, 5: 352, 6: 133, 7: 97}
"""Table III, asynchronous. The 352 of 5 destinations is the line of Table II: a slip in print."""

LOCAL_TOTAL_US, LOCAL_CAUSAL_US = 1_430, 234
"""Table IV: a null multicast and reply in one process, and what of it is due to causality."""

LAYERS_MS = {
    "causal multicast": 0.23, "rest of Isis": 1.21, "transport": 3.6, "system calls": 1.59,
    "wire time": 1.5,
}  # fmt: skip
"""Table V: a 1 kB multicast to one process, and its reply."""

CBCAST_KB_PER_S, TCP_KB_PER_S = 550, 550
"""Section 8: 7 kB packets to one destination, and TCP."""
