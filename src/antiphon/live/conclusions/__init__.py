"""From what was found to a verdict, while the run goes on or when it is over.

conclusion  the verdict
left_out    who is not held to a promise, and what waits for a row to be read
untested    what nothing has put to the test so far
outlook     who was where, and who was there to the end
"""
