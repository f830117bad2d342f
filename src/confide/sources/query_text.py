"""Text of a query as one statement, which engines take inside a subquery."""

from __future__ import annotations

_BYTE_ORDER_MARK = "\ufeff"


def statement_of(query: str, dialect: str) -> str:
    """Return a query without the semicolons that end it, nor comments after them.

    Semicolons inside stay, and what cannot be divided into words of SQL stays as it is: the engine refuses both.

    >>> statement_of("SELECT ';' AS a; -- done", "duckdb")
    "SELECT ';' AS a"
    """
    import sqlglot
    from sqlglot.errors import TokenError

    text = query.removeprefix(_BYTE_ORDER_MARK).strip()
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except TokenError:
        return text
    end = len(text)
    for token in reversed(tokens):
        if token.text != ";" or text[token.start] != ";":
            break
        end = token.start
    return text[:end].rstrip()
