"""Futures within lists, tuples, sets and dictionaries, and their values in the same places."""
from penstock import _losses
from penstock._futures import Future
from penstock._light import LightFuture

SHAPES = (dict, list, tuple, set, frozenset)


def futures_in(given, client):
    """What is in these, however deep; each is to be a future of this client, or of an actor."""
    for part in given.values() if isinstance(given, dict) else given:
        if isinstance(part, SHAPES):
            yield from futures_in(part, client)
        elif not isinstance(part, LightFuture):
            raise TypeError(f"{part!r} is no future")
        elif isinstance(part, Future) and part.client is not client:
            raise ValueError(f"{part!r} belongs to another client")
        else:
            yield part


def gathered(client, futures, errors):
    """The values of those that have one, by their ids."""
    if errors not in ("raise", "skip"):
        raise ValueError("errors is 'raise' or 'skip'")
    good, values = [], {}
    client._flush()
    for future in futures:
        try:
            if isinstance(future, Future):
                future._about_to_wait()
                future._wait(None)
                good.append(future)
            else:
                values[id(future)] = future.result()
        except BaseException as error:  # A call may have raised a SystemExit, which is no Control-C here.
            if errors == "raise" or not (isinstance(error, Exception) or error is future._exception):
                raise
    return {**values, **dict(zip(map(id, good), _losses.values_of(client, good)))}


def values_in(given, values):
    """The same with the values of futures, by their ids, in the place of these; without those that have none."""
    def is_there(part):
        return not isinstance(part, LightFuture) or id(part) in values

    def value_of(part):
        return values[id(part)] if isinstance(part, LightFuture) else values_in(part, values)
    if isinstance(given, dict):
        return {name: value_of(part) for name, part in given.items() if is_there(part)}
    return type(given)([value_of(part) for part in given if is_there(part)])
