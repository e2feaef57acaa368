"""Java and Spark on this machine.

java   which Java runs Spark
spark  the session, started quietly
cluster  whether a cluster is there, and what became of it

Law: importing both works without PySpark and Java; only calling them needs both.
"""
