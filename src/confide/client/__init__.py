"""Client of an evaluation server: submit scores, read the board, organise a contest."""

from confide.client.oracle_client import OracleClient as OracleClient
