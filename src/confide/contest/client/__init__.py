"""Client of an evaluation server: submit scores, read the board, organise a contest."""

from confide.contest.client.oracle_client import OracleClient as OracleClient
