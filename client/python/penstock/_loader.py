"""The loader of NumPy batches."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TypeVar, Union

from ._arguments import Path, rejects_foreign_arguments
from ._arrays import ArrayFile
from ._base import LoaderBase
from ._batch import Batch
from ._checks import check_job
from ._columns import Columns, Selection
from ._connection import connection_of
from ._core import Core
from ._description import describe
from ._errors import ConfigurationError
from ._loop import Loop, batches
from ._map import MappedLoader
from ._ranks import find_place
from ._request import DataRoot, data_roots, job_members
from ._settings import Settings, check_numbers, feeder_options, request_members
from ._tracebacks import public

U = TypeVar("U")


class Loader(LoaderBase):
    """Batches of a job for a training loop, as NumPy arrays.

        for batch in penstock.Loader("train.textproto", data_root="/data"):
            batch["image"], batch["label"]

    job                  a job file or a penstock.Job, which this process's feeder reads; or the name of a served job
    arrays               the data in place of files: {"x": x, "y": y}. They are copied once, and each is a column. A record is a
                         row of all arrays. `job` is then left out, or a penstock.Job without files
    columns              columns by name ("valid", "ids", "sources", "datasets" too): a batch is a tuple of them. One name: each
                         batch is that column. Default: each batch is a `Batch` of all columns
    coordinator          "HOST:PORT" of the coordinator that serves the job. Default: PENSTOCK_COORDINATOR, if `job` is no file
    tls_ca               use TLS: a PEM file of the authorities that sign the certificates of coordinator and workers. "system":
                         those that this host trusts. Default: PENSTOCK_TLS_CA, otherwise plaintext
    tls_cert, tls_key    PEM files of this trainer's certificate and its private key, if the servers require one. Default:
                         PENSTOCK_TLS_CERT and PENSTOCK_TLS_KEY. New connections use changed files
    token_file           the file of this trainer's token, if the coordinator asks for one. Default: PENSTOCK_TOKEN_FILE
    data_root            the folder of the job's files, several folders, or {name: folder}. Default: the job names their paths
    rank, world_size     this trainer's rank among the trainers. Default: the result of penstock.find_place
    group                a name that the ranks of one run share. Two concurrent runs of several ranks on one served job need two
                         names
    batch_size           the rows of a global step, which all ranks share (0: as in the job)
    epochs               the number of epochs of one loop (0: no end)
    start_epoch          the epoch in which the first loop starts
    accept_new_pipeline  continue from a state even if features or ops have changed
    allow_missing        in a job that this process reads, accept keys that none of the first records has
    timeout              the limit in seconds for each wait. penstock.TimeoutError then names what is missing. Time in which
                         the process was stopped does not count
    prefetch_steps, prefetch_bytes
                         how far ahead batches are prepared (16 steps, 256 MiB)

    One feeder serves all loaders of a process. The first loader sets the feeder's options. A later loader that gives another
    value gets a ConfigurationError. Sizes are bytes, or text such as "4GiB":

    memory               memory of all batches, including those that the trainer holds (half of the memory that this process may
                         use)
    threads              threads for jobs that this process reads (all cores, shared with other ranks on this host)
    read_threads         additional threads that only read, for a network file system whose reads take milliseconds
                         (0: the feeder tunes the number)
    memory_budget        memory for rows in progress and caches (a quarter of the memory that this process may use, at most
                         1 GiB)
    record_cache, decoded_cache, row_cache
                         caches of records, of decoded images, and of finished rows if a job has no random ops, all inside
                         memory_budget (the feeder tunes the sizes from the second epoch on; 0: no cache)
    disk_cache, disk_cache_size
                         a folder on a local disk for this process only, and its maximum size. Records stay there between
                         runs. With several ranks on a host, each uses a folder of its own next to it
    index_dir            the folder of the shards' indexes (~/.cache/penstock)

    The constructor checks the arguments, the job file and the data roots. The feeder starts on first use, and a loader
    can be pickled until then. One thread at a time can use a loader's loop. Several loaders can run in several threads.
    """

    @rejects_foreign_arguments
    def __init__(
        self,
        job: Any = None,
        *,
        arrays: Optional[Mapping[str, Any]] = None,
        columns: Columns = None,
        coordinator: Optional[str] = None,
        tls_ca: Optional[Path] = None,
        tls_cert: Optional[Path] = None,
        tls_key: Optional[Path] = None,
        token_file: Optional[Path] = None,
        data_root: Optional[DataRoot] = None,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        group: str = "",
        batch_size: int = 0,
        epochs: int = 1,
        start_epoch: int = 0,
        accept_new_pipeline: bool = False,
        allow_missing: bool = False,
        timeout: float = 600.0,
        prefetch_steps: int = 0,
        prefetch_bytes: Union[int, str] = 0,
        memory: Union[int, str] = 0,
        threads: int = 0,
        read_threads: int = 0,
        memory_budget: Union[int, str] = 0,
        record_cache: Optional[Union[int, str]] = None,
        decoded_cache: Optional[Union[int, str]] = None,
        row_cache: Optional[Union[int, str]] = None,
        disk_cache: Optional[Path] = None,
        disk_cache_size: Union[int, str] = 0,
        index_dir: Optional[Path] = None,
    ) -> None:
        counts = {
            "batch_size": batch_size,
            "epochs": epochs,
            "start_epoch": start_epoch,
            "threads": threads,
            "prefetch_steps": prefetch_steps,
        }
        check_numbers(counts, read_threads, timeout)
        selection = Selection(columns)
        if rank is not None or world_size is not None:
            find_place(rank, world_size, environment={})  # checks the arguments; Opening.place reads the environment
        held = ArrayFile(arrays) if arrays is not None else None
        if held is not None:
            if coordinator is not None or data_root is not None:
                raise ConfigurationError("arrays are read by this process: leave coordinator and data_root out")
            job, data_root = held.job(job, batch_size), held.roots()
        elif job is None:
            raise ConfigurationError("a job or arrays= is missing")
        members = job_members(job, connection_of(coordinator, tls_ca, tls_cert, tls_key, token_file))
        roots = data_roots(data_root)
        known = check_job(members, job, roots, timeout)
        if allow_missing and "job" in members:
            raise ConfigurationError("allow_missing is an argument of submit for a served job: penstock submit --allow-missing")
        settings = Settings(
            job=members,
            known=known,
            request=request_members(
                data_roots=roots,
                group=group,
                batch_size=batch_size,
                epoch=start_epoch,
                allow_missing=allow_missing,
                prefetch_steps=prefetch_steps,
                prefetch_bytes=prefetch_bytes,
            ),
            feeder=feeder_options(
                memory=memory,
                threads=threads,
                read_threads=read_threads,
                memory_budget=memory_budget,
                record_cache=record_cache,
                decoded_cache=decoded_cache,
                row_cache=row_cache,
                disk_cache=disk_cache,
                disk_cache_size=disk_cache_size,
                index_dir=index_dir,
            ),
            place=(rank, world_size),
            epochs=epochs,
            start_epoch=start_epoch,
            timeout=float(timeout),
            accept_new_pipeline=accept_new_pipeline,
            arrays=held,
        )
        self._core = Core(settings, selection.pick)

    def __iter__(self) -> Iterator[Batch]:
        """Starts a loop over `epochs` epochs, from the end of the last loop.

        After a loop that stopped early (`break`, an exception), the next loop starts with the next epoch. A loop that
        received no batch does not count. After a MachineError (such as FeederDied) or a TimeoutError of the loop itself,
        the next loop continues at the same place. After `load_state_dict`, it continues after that state. Loops end
        every `epochs` epochs, counted from start_epoch.
        """
        return batches(Loop(self._core).prepare)

    def __repr__(self) -> str:
        return describe(self, self._core.facts())

    @property
    @public
    def epoch(self) -> int:
        """The epoch of the current loop, otherwise the epoch in which the next loop starts."""
        return self._core.epoch()

    @public
    def state_dict(self) -> Dict[str, Any]:
        """Returns the state after the last batch that the loop's body has received: a few numbers as text.

        Before the first batch, returns the loaded state or the state of the start. Opens the job if necessary.
        """
        return self._core.state()

    @public
    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next loop continue exactly after that state. Ends the current loop."""
        self._core.load_state(state)

    @public
    def map(self, function: Callable[[Batch], U], threads: int = 1) -> MappedLoader[U]:
        """Returns a loader of the results of `function` for each batch.

        The function runs on `threads` threads and ahead of the loop. The order is the loader's. After Ctrl-C the
        function may run twice for a batch. The loop then receives one of the results.
        """
        return MappedLoader(self, function, threads)
