"""Validation of a model at sites that share no rows: the question, the policy, the protocol and the tables.

Anybody may import these; `site` is what a site does, `coordinator` what the coordinator does, `flare` the network.
"""
