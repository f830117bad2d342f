"""Identity of the data of a release: files have one of their own."""

from __future__ import annotations

from confide.errors import ParameterError


def refuse_names_of_files(**given: object) -> None:
    """Refuse parameters that declare an identity, for a file. The message names those alone that were given."""
    names = [f"`{name}`" for name, value in given.items() if value is not None]
    if names:
        raise ParameterError(f"the bytes of a file identify its data; leave {' and '.join(names)} out")
