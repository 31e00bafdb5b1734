"""Futures within lists, tuples, sets and dictionaries, and their values in the same places."""
from penstock._futures import Future

SHAPES = (dict, list, tuple, set, frozenset)


def futures_in(given, client):
    """What is in these, however deep; each is to be a future of this client."""
    for part in given.values() if isinstance(given, dict) else given:
        if isinstance(part, SHAPES):
            yield from futures_in(part, client)
        elif not isinstance(part, Future):
            raise TypeError(f"{part!r} is no future")
        elif part.client is not client:
            raise ValueError(f"{part!r} belongs to another client")
        else:
            yield part


def values_in(given, values):
    """The same with the values of futures, by their ids, in the place of these; without those that have none."""
    def is_there(part):
        return not isinstance(part, Future) or id(part) in values

    def value_of(part):
        return values[id(part)] if isinstance(part, Future) else values_in(part, values)
    if isinstance(given, dict):
        return {name: value_of(part) for name, part in given.items() if is_there(part)}
    return type(given)([value_of(part) for part in given if is_there(part)])
