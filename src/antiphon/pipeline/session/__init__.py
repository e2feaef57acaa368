"""Java and Spark on this machine.

java   which Java runs Spark
spark  the session, started quietly

Law: importing both works without PySpark and Java; only calling them needs both.
"""
