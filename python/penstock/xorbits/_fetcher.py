"""How the values of chunks come to the process that asks for them."""
# tidy: foreign-file task
import asyncio
import contextlib
from typing import Any, Dict, List, Optional, Tuple, Union

import xoscar
from xorbits._mars.services.task.execution.api import Fetcher, register_fetcher_cls

from penstock.xorbits._config import NAME
from penstock.xorbits._execute import select
from penstock.xorbits._values import ChunkValue, ElsewhereValue, held, no_value, value_of

CUT_HERE_BYTES_MAX = 16 << 20  # Of a chunk on another host, of which a part is asked for: a larger one is cut where it is.


@register_fetcher_cls
class PenstockFetcher(Fetcher):
    """Brings whole chunks, or the parts of them that are asked for."""

    name = NAME
    required_meta_keys = ("object_refs",)

    def __init__(self, **_: Any):
        self._wanted: List[Tuple[Union[ChunkValue, ElsewhereValue], Optional[List[Any]]]] = []

    async def append(self, chunk_key: str, chunk_meta: Dict, conditions: Optional[List] = None) -> None:
        """A further chunk."""
        references = (chunk_meta or {}).get("object_refs")
        if not references:
            raise no_value(chunk_key)
        value = references[0]
        known = value_of(value.session[0], chunk_key)  # Else of several, which Xorbits keeps in no order, any.
        self._wanted.append((known or value, conditions))

    async def get(self) -> List[Any]:
        """The values, in the order of the chunks."""
        values: List[Any] = [None] * len(self._wanted)
        here = [place for place, (value, _) in enumerate(self._wanted) if isinstance(value, ChunkValue)]
        for place, value in zip(here, await asyncio.to_thread(bring, [self._wanted[place] for place in here])):
            values[place] = value
        elsewhere: Dict[Tuple[str, str], List[int]] = {}
        for place, (value, _) in enumerate(self._wanted):
            if not isinstance(value, ChunkValue):
                elsewhere.setdefault(value.session, []).append(place)
        for (session, address), places in elsewhere.items():
            actor = await xoscar.actor_ref(ValuesActor.UID, address=address)
            wanted = [(self._wanted[place][0].key, self._wanted[place][1]) for place in places]
            for place, value in zip(places, await actor.bring(session, wanted)):
                values[place] = value
        return values


def bring(wanted: List[Tuple[ChunkValue, Optional[List[Any]]]]) -> List[Any]:
    """The values of chunks, or the parts of them that are asked for."""
    futures, here = [], []
    for value, conditions in wanted:
        client = value.future.client
        is_cut_here = conditions is not None and (client.address is None or value.nbytes() <= CUT_HERE_BYTES_MAX)
        here.append(is_cut_here)
        futures.append(value.future if conditions is None or is_cut_here else client.submit(select, value.future, conditions))
    return [select(value, conditions) if is_cut_here else value
            for value, (_, conditions), is_cut_here in zip(values_of(futures), wanted, here)]


def values_of(futures: List[Any]) -> List[Any]:
    """The values of futures of one client, brought together."""
    return futures[0].client.gather(futures) if futures else []


class ValuesActor(xoscar.Actor):
    """Beside Xorbits' supervisor: sends values to processes that have no client of their own, those of runs."""

    UID = "penstock_values"

    @classmethod
    async def ensure(cls, address: str) -> None:
        """Makes it, unless it is there."""
        if not await xoscar.has_actor(xoscar.create_actor_ref(address=address, uid=cls.UID)):
            with contextlib.suppress(xoscar.ActorAlreadyExist):
                await xoscar.create_actor(cls, uid=cls.UID, address=address)

    async def bring(self, session: str, wanted: List[Tuple[str, Optional[List[Any]]]]) -> List[Any]:
        """The values of chunks, or parts of them."""
        values = [(held(session, key), conditions) for key, conditions in wanted]
        return await asyncio.to_thread(bring, values)
