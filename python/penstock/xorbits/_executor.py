"""Xorbits' task executor that has its subtasks run by Penstock."""
# tidy: foreign-file task, tasks, session id, object ref
import asyncio
from typing import Any, Dict, List, Optional, Tuple

from xorbits._mars.core import ChunkGraph
from xorbits._mars.core.operand import Fetch
from xorbits._mars.resource import Resource
from xorbits._mars.services.lifecycle.api import LifecycleAPI
from xorbits._mars.services.meta.api import MetaAPI
from xorbits._mars.services.subtask import SubtaskGraph
from xorbits._mars.services.task import task_options
from xorbits._mars.services.task.execution.api import ExecutionChunkResult, TaskExecutor, register_executor_cls
from xorbits._mars.services.task.execution.utils import ResultTileablesLifecycle

from penstock._futures import Future
from penstock.errors import PenstockError
from penstock.xorbits._config import NAME, PenstockExecutionConfig, bands_of
from penstock.xorbits._fetcher import ValuesActor
from penstock.xorbits._plan import Plan
from penstock.xorbits._stage import ChunkFuture, Ended, Stage, descriptions_of
from penstock.xorbits._tile import TileContext
from penstock.xorbits._values import ChunkValue, no_value, value_of


@register_executor_cls
class PenstockTaskExecutor(TaskExecutor):
    """Executes the stages of one task of Xorbits: each graph of subtasks is a job of Penstock. Xorbits' own services for
    scheduling and storage have no part in it."""

    name = NAME

    def __init__(self, config: PenstockExecutionConfig, task: Any, tile_context: Any, lifecycle_api: Any, meta_api: Any,
                 context: TileContext, address: str):
        self._config, self._task, self._tile_context = config, task, tile_context
        self._client = config.client()
        self._lifecycle_api, self._meta_api, self._context, self._address = lifecycle_api, meta_api, context, address
        self._values: Dict[str, ChunkValue] = {}  # Of this task, until it ends.
        self._lifecycle: Optional[ResultTileablesLifecycle] = None
        self._bands: Optional[Dict[Tuple[str, str], Resource]] = None
        self._shown: Dict[str, Any] = {}          # Chunks that Xorbits' meta service knows before the task ends.
        self._stages: List[float] = []            # What each adds to the progress, once it has ended.
        self._tiled, self._running = 0.0, None
        self._cancelled = False

    @classmethod
    async def create(cls, config: Any, *, session_id: str, address: str, task: Any, tile_context: Any,
                     **_: Any) -> "PenstockTaskExecutor":
        """The executor of one task, in the process of Xorbits' supervisor."""
        lifecycle_api = await LifecycleAPI.create(session_id, address)
        meta_api = await MetaAPI.create(session_id, address)
        context = TileContext(config.client(), session_id, address, asyncio.get_running_loop())
        await context.init()
        await ValuesActor.ensure(address)
        return cls(config, task, tile_context, lifecycle_api, meta_api, context, address)

    def get_execution_config(self) -> PenstockExecutionConfig:
        return self._config

    def get_stage_processors(self) -> List[Any]:
        """None: there are no stage processors of Xorbits' own."""
        return []

    def destroy(self) -> None:
        """The task has ended: what it holds goes, and what its result tileables have stays with Xorbits' meta service."""
        self._values, self._stages, self._running = {}, [], None

    async def get_available_band_resources(self) -> Dict[Tuple[str, str], Resource]:
        """The workers of the cluster; Xorbits divides graphs by them."""
        if self._bands is None:
            self._bands = await asyncio.to_thread(bands_of, self._client)
            if not self._bands:
                raise PenstockError("has no worker", subject="the cluster", code="WrongState",
                                    remedy="start a worker: penstock worker --supervisor HOST:PORT")
        return self._bands

    async def __aenter__(self):
        self._lifecycle = ResultTileablesLifecycle(self._task.tileable_graph, self._tile_context, self._lifecycle_api)
        await self._check_gpus()
        self._context.__enter__()
        return self

    async def __aexit__(self, exc_type, exc_val, exc_tb):
        self._context.__exit__()
        try:
            await self._leave(exc_type)
        finally:
            if self._shown:
                await self._lifecycle_api.decref_chunks(list(self._shown))

    async def _leave(self, exc_type):
        if exc_type is not None:
            await self._lifecycle.decref_tracked()
            return
        metas, tileables = {}, self._task.tileable_graph.result_tileables
        for tileable in tileables:
            tiled = self._tile_context.get(tileable.data if hasattr(tileable, "data") else tileable)
            for chunk in () if tiled is None else tiled.chunks:
                value = self._values.get(chunk.key)
                if value is not None and value.described is not None and chunk.key not in metas:
                    size = value.described.nbytes
                    metas[chunk.key] = self._meta_api.set_chunk_meta.delay(
                        chunk, bands=[], object_ref=value, memory_size=size, store_size=size)
        if metas:
            await self._meta_api.set_chunk_meta.batch(*metas.values())

    async def execute_subtask_graph(self, stage_id: str, subtask_graph: SubtaskGraph, chunk_graph: ChunkGraph,
                                    tile_context: Any, context: Any = None) -> Dict[Any, ExecutionChunkResult]:
        """Runs one stage; what is told of each of its result chunks."""
        if self._cancelled:
            raise asyncio.CancelledError
        # An earlier execution may have made the same tileables, and may let them go meanwhile.
        await self._lifecycle.incref_tiled()
        chunks = [chunk for chunk in chunk_graph.result_chunks if not isinstance(chunk.op, Fetch)]
        session = self._task.session_id, self._address
        plan = await asyncio.to_thread(Plan, subtask_graph, [chunk.key for chunk in chunks], session,
                                       task_options.runtime_engines)
        values = await self._read_from_outside(plan.read_from_outside())
        made = await self._run(plan, values, session)
        futures = {key: value.future for key, value in made.items()}
        for key, described in (await asyncio.to_thread(descriptions_of, self._client, futures)).items():
            made[key].described = described
            made[key].show()
        return {chunk: ExecutionChunkResult(dict(made[chunk.key].described.params), made[chunk.key])
                for chunk in chunks if chunk.key in made}

    async def _run(self, plan, values, session):
        """The values of a stage, when all of them are there."""
        def prepare():
            plan.build({key: value.future for key, value in values.items()})
            stage = Stage(self._client, plan, self._config.call_options())
            return stage, stage.prepare()
        progress = self._tile_context.get_all_progress()
        adds, self._tiled = progress - self._tiled, progress
        stage, futures = await asyncio.to_thread(prepare)
        made = {key: ChunkValue(session, key, future) for key, future in futures.items()}
        self._values.update(made)
        await self._show_meanwhile(plan, {**values, **made})
        self._running = stage
        try:
            await asyncio.to_thread(stage.start)
            await self._wait(futures)
        except BaseException:
            await asyncio.to_thread(stage.cancel)
            raise
        finally:
            self._running = None
            self._stages.append(adds)
        return made

    async def _show_meanwhile(self, plan, values):
        """Functions that users have spawned may fetch what they wait for: it is known before they run, until the task
        ends."""
        chunks = {key: chunk for key, chunk in plan.fetched_meanwhile().items() if key not in self._shown}
        if chunks:
            self._shown.update(chunks)
            for key in chunks:
                values[key].show()
            await self._lifecycle_api.incref_chunks(list(chunks))
            await self._meta_api.set_chunk_meta.batch(
                *[self._meta_api.set_chunk_meta.delay(chunk, bands=[], object_ref=values[key]) for key, chunk in chunks.items()])

    async def _wait(self, futures: Dict[str, ChunkFuture]) -> None:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        ended = Ended(futures.values(), lambda: loop.call_soon_threadsafe(over.set))
        if not self._cancelled:  # It may have been before there was anything to cancel.
            await over.wait()
        if self._cancelled:
            raise asyncio.CancelledError
        if ended.failed is not None and ended.failed.cancelled():
            raise PenstockError("was cancelled, by another than Xorbits", subject=ended.failed.key, code="Cancelled",
                                remedy="execute its tileable again")
        if ended.failed is not None:
            raise Future.exception(ended.failed)

    async def _read_from_outside(self, keys) -> Dict[str, ChunkValue]:
        """The values of chunks of earlier stages and tasks."""
        values, unknown = {}, []
        for key in keys:
            value = self._values.get(key) or value_of(self._task.session_id, key)
            if value is None:
                unknown.append(key)
            else:
                values[key] = value
        if unknown:
            metas = await self._meta_api.get_chunk_meta.batch(
                *[self._meta_api.get_chunk_meta.delay(key, fields=["object_refs"], error="ignore") for key in unknown])
            for key, meta in zip(unknown, metas):
                references = (meta or {}).get("object_refs")
                if not references:
                    raise no_value(key)
                values[key] = references[-1]
        return values

    async def _check_gpus(self):
        bands = await self.get_available_band_resources()
        if any(tileable.op.gpu for tileable in self._task.tileable_graph) and not any(
                name.startswith("gpu-") for _, name in bands):
            raise PenstockError("is asked for, and no worker has one", subject="a GPU", code="InvalidArgument",
                                remedy="build the tensor or dataframe without gpu=True, or start a worker on a host with one")

    async def get_progress(self) -> float:
        """From 0 to 1: of the tileables, what is tiled and has run."""
        done = sum(self._stages)
        running = self._running
        if running is not None:
            done += (self._tiled - done) * await asyncio.to_thread(running.succeeded_part)
        return min(1.0, done)

    async def cancel(self) -> None:
        """Ends the running stage, and begins no other."""
        self._cancelled = True
        if self._running is not None:
            await asyncio.to_thread(self._running.cancel)

