"""The network driver: carries between the machine of one incarnation and the network."""
