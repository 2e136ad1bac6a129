"""The loader: epochs of batches for a loop."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import weakref
from collections import deque
from typing import Any, Callable, Deque, Dict, Generic, Iterator, Optional, TypeVar, Union

from ._batch import Batch
from ._cpus import available_cpus
from ._deadline import Deadline
from ._errors import ConfigurationError, MachineError, PenstockError, TimeoutError
from ._feeder import FeederOptions, feeder_for
from ._map import MappedLoader
from ._ranks import Place, find_place
from ._request import DataRoot, Path, data_roots, job_members, refuse_data_loader_workers
from ._schema_types import Column
from ._sizes import parse_size
from ._stats import LoopStats
from ._stream import Late, Offer, Stream

T = TypeVar("T")
U = TypeVar("U")

STATE_VERSION = 1
MAX_READ_THREADS = 512  # as a worker's
_said: Dict[str, bool] = {}  # what is said once in a process


def say_once(text: str) -> None:
    if text not in _said:
        _said[text] = True
        print(f"penstock: {text}", file=sys.stderr)


class BaseLoader(Generic[T]):
    """What all loaders do; `_convert` says what a loop gets of a batch."""

    def __init__(
        self,
        job: Any,
        *,
        coordinator: Optional[str] = None,
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
        counts = {"batch_size": batch_size, "epochs": epochs, "start_epoch": start_epoch, "threads": threads}
        for name, value in {**counts, "read_threads": read_threads}.items():
            if value < 0:
                raise ConfigurationError(f"{name}={value} is less than 0")
        if read_threads > MAX_READ_THREADS:
            raise ConfigurationError(f"read_threads={read_threads}: at most {MAX_READ_THREADS}")
        if not timeout > 0:
            raise ConfigurationError(f"timeout={timeout} s is no time")
        self._place_given = (rank, world_size)
        find_place(*self._place_given, environment={}) if rank is not None or world_size is not None else None
        self._job = job_members(job, coordinator)
        if allow_missing and "job" in self._job:
            raise ConfigurationError("allow_missing is said when a job is submitted: penstock submit --allow-missing")
        self._epochs = epochs
        self._timeout = float(timeout)
        self._accept_new_pipeline = accept_new_pipeline
        self._start_epoch = start_epoch
        self._request: Dict[str, Any] = {
            "data_roots": data_roots(data_root),
            "group": group,
            "batch_size": batch_size,
            "epoch": start_epoch,
            **({"allow_missing": True} if allow_missing else {}),
            "prefetch_steps": prefetch_steps,
            "prefetch_bytes": parse_size("prefetch_bytes", prefetch_bytes),
        }
        self._feeder_options = FeederOptions(
            parse_size("memory", memory),
            threads,
            parse_size("memory_budget", memory_budget),
            parse_size("record_cache", record_cache) if record_cache is not None else None,
            parse_size("decoded_cache", decoded_cache) if decoded_cache is not None else None,
            os.path.abspath(os.path.expanduser(os.fspath(index_dir))) if index_dir is not None else "",
            read_threads=read_threads,
            row_cache=parse_size("row_cache", row_cache) if row_cache is not None else None,
            disk_cache=os.path.abspath(os.path.expanduser(os.fspath(disk_cache))) if disk_cache is not None else "",
            disk_cache_size=parse_size("disk_cache_size", disk_cache_size),
        )
        self._place: Optional[Place] = None
        self._pid: Optional[int] = None
        self._closed = False
        self._stream: Optional[Stream] = None
        self._loop: Optional[weakref.ref[Loop[T]]] = None
        self._target: Optional[Dict[str, Any]] = None  # where the stream must go before a batch is taken
        self._stats = LoopStats()
        self._feeder_stats: Dict[str, float] = {}

    def _convert(self, batch: Batch) -> T:
        raise NotImplementedError

    # ---- the loop

    def __iter__(self) -> Iterator[T]:
        """One loop: `epochs` epochs, from where the last loop ended.

        A loop that was left (`break`, an exception) is over: the next one begins with the next epoch. One that got no batch
        has used up nothing. After `load_state_dict` the next loop goes on behind that state, to the end of its epoch.
        """
        loop = self._new_loop()
        # Delivering is the C code's: what a signal interrupts is either not taken yet, or the loop's.
        return map(deque.popleft, iter(loop.prepare, None))

    def __len__(self) -> int:
        """Batches of one loop from its start."""
        if self._epochs == 0:
            raise TypeError("epochs=0: a loop without end has no length")
        return self._started().opened.steps_per_epoch * self._epochs

    @property
    def schema(self) -> Dict[str, Column]:
        """The columns that every batch has, by name."""
        return dict(self._started().layout.columns)

    @property
    def batch_size(self) -> int:
        """Rows of a global step."""
        return self._started().opened.batch_size

    @property
    def rank(self) -> int:
        return self._where().rank

    @property
    def world_size(self) -> int:
        return self._where().world_size

    @property
    def epoch(self) -> int:
        """The epoch that the loop under way is in; else that which the next loop begins with."""
        loop = self._loop() if self._loop is not None else None
        if loop is None or self._stream is None:
            self._leave()
            return self._settle().offer.mark.next_epoch
        mark = self._stream.offer.mark
        return mark.epoch if mark.received else mark.next_epoch

    # ---- the state

    def state_dict(self) -> Dict[str, Any]:
        """Where the loop is: behind the last batch that its body has received. A few numbers as text."""
        target = self._target
        state = target["state"] if target and "state" in target else self._started().offer.mark.state
        return {"version": STATE_VERSION, "state": state}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next loop goes on behind that state, exactly. A loop under way is over."""
        text = state.get("state") if isinstance(state, dict) else None
        if not isinstance(text, str) or state.get("version") != STATE_VERSION:
            raise ConfigurationError(f"no state of a penstock.Loader: {state!r:.200}; give what state_dict() returned")
        self._go_to({"state": text})

    # ---- numbers

    def stats(self) -> Dict[str, float]:
        """What loops of this loader waited and got so far, as flat numbers; those of the feeder begin with "feeder_"."""
        numbers = self._stats.numbers()
        stream = self._stream
        if stream is not None and self._pid == os.getpid() and not self._closed:
            with contextlib.suppress(PenstockError):
                answer = stream.ask("stats", 2.0)
                if answer is not None:
                    self._feeder_stats = {
                        f"feeder_{name}": float(value)
                        for name, value in answer.items()
                        if isinstance(value, (int, float)) and not isinstance(value, bool)
                    }
        return {**numbers, **self._feeder_stats}

    # ---- its life

    def close(self) -> None:
        """Ends the loader, from any thread; a loop that waits gets an error. Batches stay valid. May be said again."""
        self._closed = True
        stream = self._stream
        if stream is not None:
            stream.close()

    def __enter__(self: LoaderType) -> LoaderType:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if stream is not None:
            with contextlib.suppress(BaseException):
                stream.close()

    def __getstate__(self) -> Dict[str, Any]:
        if self._pid is not None:
            raise TypeError(
                "a loader that has begun cannot be pickled: it reads in this process. Pickle it before its first use, or "
                "send state_dict()"
            )
        return dict(self.__dict__)

    # ---- inside

    def _where(self) -> Place:
        if self._place is None:
            self._place = find_place(*self._place_given)
            if self._place_given[0] is None:
                say_once(f"rank {self._place.rank} of {self._place.world_size} ({self._place.source})")
        return self._place

    def _options(self, place: Place) -> FeederOptions:
        options = self._feeder_options
        if options.disk_cache and place.local_world > 1:  # each process has a folder of its own
            options = options._replace(disk_cache=f"{options.disk_cache}-rank{place.rank}")
        if "job" in self._job or options.threads or place.local_world == 1:
            return options
        share = max(1, available_cpus() // place.local_world)
        say_once(
            f"{place.local_world} ranks on this host read by themselves, each with {share} of the cores; one `penstockd "
            "standalone` for all (coordinator=) would share its caches among them and serve them better"
        )
        return options._replace(threads=share)

    def _new_loop(self) -> Loop[T]:
        """The one that is under way is over."""
        loop = Loop(self)
        self._loop = weakref.ref(loop)
        return loop

    def _go_to(self, where: Dict[str, Any]) -> None:
        """The next loop begins there: an `epoch`, or behind a `state`."""
        self._loop = None
        self._target = where

    def _offered(self) -> Offer:
        """What Loop.prepare has put up last."""
        assert self._stream is not None
        return self._stream.offer

    def _check_loop(self, loop: Loop[T]) -> None:
        self._check_process()
        if self._loop is None or self._loop() is not loop:
            raise PenstockError(
                "this loop is over: another one over the same loader was begun, or a state was loaded; for two loops at "
                "once make two loaders"
            )

    def _check_process(self) -> None:
        if self._closed:
            raise PenstockError("this loader was closed")
        if self._pid is not None and self._pid != os.getpid():
            raise PenstockError(
                f"this loader began in process {self._pid}, and this is a fork of it: make a loader here, or loop there"
            )

    def _started(self) -> Stream:
        """The stream, opened where it is not; again where its feeder has died, which is said once."""
        self._check_process()
        stream = self._stream
        if stream is not None and stream.feeder.alive:
            return stream
        if stream is not None and not stream.died_said:
            raise stream.died()
        refuse_data_loader_workers()
        place = self._where()
        request = {**self._job, "rank": place.rank, "world_size": place.world_size, "open_timeout": self._timeout}
        request.update({name: value for name, value in self._request.items() if value})
        if self._target is not None:
            request.update(self._target)
        elif stream is not None:
            request["state"] = stream.offer.mark.state  # a new feeder goes on where the loop is
        if "state" in request:
            request.pop("epoch", None)
            if self._accept_new_pipeline or stream is not None:
                request["accept_new_pipeline"] = True
        feeder = feeder_for(self._options(place))
        self._pid = os.getpid()
        try:
            # Opening has a deadline of its own, whose message is the better one.
            opened = Stream(feeder, request, self._timeout + 10)
        except Late:
            raise TimeoutError(f"the job was not open after {self._timeout:.0f} s, and nothing is said why") from None
        self._stream = opened
        self._target = None
        return opened

    def _leave(self) -> None:
        """No loop is under way: what was left in the middle of an epoch goes on with the next one."""
        stream = self._stream
        if stream is not None and self._target is None:
            mark = stream.offer.mark
            if mark.received and not mark.last:
                self._target = {"epoch": mark.epoch + 1}

    def _settle(self) -> Stream:
        """The stream, at the place where the next batch is to come from."""
        stream = self._started()
        if self._target is not None:
            where = dict(self._target)
            if self._accept_new_pipeline and "state" in where:
                where["accept_new_pipeline"] = True
            try:
                stream.seek(where, Deadline(self._timeout))
            except Late:
                raise TimeoutError(f"the loader was not at {self._target} after {self._timeout:.0f} s") from None
            self._target = None
        return stream

    def _last_epoch(self, first: int) -> Optional[int]:
        """The last one of a loop that begins in epoch `first`: loops end every `epochs` epochs from start_epoch."""
        if self._epochs == 0:
            return None
        return self._start_epoch + ((first - self._start_epoch) // self._epochs + 1) * self._epochs - 1

    def _fetch(self, stream: Stream, until: Optional[int]) -> Offer:
        begin = time.monotonic()
        deadline = Deadline(self._timeout)
        try:
            try:
                offer = stream.fetch(deadline, until, self._convert)
            except MachineError as error:
                if error.code != "RESOURCE_EXHAUSTED":
                    raise
                offer = self._fetch_short_of_memory(stream, deadline, until)
        except Late:
            answer = stream.ask("waiting", 2.0)
            missing = str((answer or {}).get("message") or "and the feeder does not say what is missing")
            raise TimeoutError(f"no batch for {self._timeout:.0f} s (timeout=): {missing}", "DEADLINE_EXCEEDED") from None
        self._stats.delivered(offer.rows, offer.bytes, time.monotonic() - begin)
        return offer

    def _fetch_short_of_memory(self, stream: Stream, deadline: Deadline, until: Optional[int]) -> Offer:
        releases = stream.feeder.releases
        try:
            # It may be about the time when the batch was asked for ahead: something may have been released since.
            return stream.fetch(deadline, until, self._convert)
        except MachineError as error:
            # Batches in reference cycles hold memory until they are collected.
            held = releases.held
            gc.collect()
            releases.flush()
            if error.code != "RESOURCE_EXHAUSTED" or releases.held == held:
                raise
        return stream.fetch(deadline, until, self._convert)


class Loop(Generic[T]):
    """One loop over a loader. `prepare` is called for each batch, and C code takes the batch out of what it returns."""

    def __init__(self, loader: BaseLoader[T]) -> None:
        self._loader = loader
        self._stream: Optional[Stream] = None
        self._begun = False
        self._until: Optional[int] = None  # the loop's last epoch

    def prepare(self) -> Optional[Deque[T]]:
        """A deque with the next batch; None at the loop's end. An exception: nothing was delivered; may be called again."""
        loader = self._loader
        stream = self._stream
        if stream is None or stream is not loader._stream or loader._target is not None or stream.died_said:
            stream = self._begin()
        loader._check_loop(self)
        offer = stream.offer
        if not offer.ready:
            if offer.ends(self._until):
                return None
            loader._fetch(stream, self._until)
        return stream.kept().ready

    def _begin(self) -> Stream:
        """Where the loop begins, or goes on with another feeder."""
        loader = self._loader
        loader._check_loop(self)
        if not self._begun:
            loader._leave()
        stream = loader._settle()
        if not self._begun:
            self._until = loader._last_epoch(stream.offer.mark.next_epoch)
            self._begun = True
        self._stream = stream
        return stream


LoaderType = TypeVar("LoaderType", bound="BaseLoader[Any]")


class Loader(BaseLoader[Batch]):
    """Batches of a job for a training loop, as NumPy arrays.

        for batch in penstock.Loader("train.textproto", data_root="/data"):
            batch["image"], batch["label"]

    job                  a job file or a penstock.Job, read in this process's feeder on all its cores; or a job's name
    coordinator          "HOST:PORT": the job is served (else PENSTOCK_COORDINATOR, where `job` is no file)
    data_root            where the job's files are: a folder, several, or {name: folder}; else they are named by path
    rank, world_size     this trainer's place; else as penstock.find_place says
    group                ranks of one run share it; two runs at once on one served job give two
    batch_size           rows of a global step; 0: the job's
    epochs               that one loop goes through; 0: without end
    start_epoch          the first loop begins with
    accept_new_pipeline  go on from a state though features or ops have changed
    allow_missing        of a job that is read here: keys that none of the first records has are meant
    timeout              seconds that anything may take; then penstock.TimeoutError says what is missing. Time in which
                         the process was stopped does not count
    prefetch_steps, prefetch_bytes
                         how far ahead batches are prepared: 16 steps, 256 MiB

    One feeder serves all loaders of a process. These are the first loader's to say; sizes are bytes or text such as "4GiB":

    memory               of all batches, those that are kept included; half of the machine's
    threads              of jobs that are read here; all cores, shared with other ranks on this host
    read_threads         threads beside them that only read, for a network file system whose reads take milliseconds
                         (0: as many as pay, found while it reads)
    memory_budget        what rows under way may take (1 GiB)
    record_cache, decoded_cache, row_cache
                         of records, of decoded images, and of finished rows where a job draws nothing, all inside
                         memory_budget (found while it reads: what fits and pays, from the second epoch on; 0 for none)
    disk_cache, disk_cache_size
                         a folder on a local disk, this process's alone (with several ranks on a host each takes one beside
                         it), and the most that it may take: records stay there from start to start
    index_dir            where indexes of shards are kept (~/.cache/penstock)

    Nothing is started or read before the first use, so a loader can be pickled until then. A loader's loop is for one thread
    at a time; several loaders, in several threads, are independent.
    """

    def _convert(self, batch: Batch) -> Batch:
        return batch

    def map(self, function: Callable[[Batch], U], threads: int = 1) -> MappedLoader[U]:
        """What `function` makes of each batch, on that many threads and ahead of the loop, in the loader's order.

        Ctrl-C may have it called twice for a batch, of which one result is delivered.
        """
        return MappedLoader(self, function, threads)
