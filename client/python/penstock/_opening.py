"""Opens a loader's stream: finds the rank, the feeder's options, and the request."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Optional

from ._ask import Late
from ._cpus import available_cpus
from ._errors import MachineError, PenstockError, TimeoutError
from ._feeder import FeederOptions, feeder_for
from ._notices import say_once
from ._ranks import Place, find_place
from ._request import refuse_data_loader_workers
from ._settings import Settings
from ._stream import Stream


class Opening:
    """Opens the streams of one loader. The first one binds the loader to this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._place: Optional[Place] = None
        self.pid: Optional[int] = None  # the process that opened a stream
        self.keep_pages = False  # whether the feeder keeps the arena's pages, so that a device can read them

    def place(self) -> Place:
        """Returns this trainer's rank and world size. Only the first call reads the environment."""
        if self._place is None:
            given = self._settings.place
            self._place = find_place(*given)
            if given[0] is None and self._place.world_size > 1:
                say_once(f"rank {self._place.rank} of {self._place.world_size} ({self._place.source})")
        return self._place

    def check_process(self) -> None:
        """Raises PenstockError in a process that is a fork of the loader's."""
        if self.pid is not None and self.pid != os.getpid():
            raise PenstockError(
                f"this loader belongs to process {self.pid}, and this process is a fork of it: make another loader here"
            )

    def open(self, where: Dict[str, Any], again: bool, timeout: float) -> Stream:
        """Returns a new stream, which starts at `where`: members of OPEN such as `epoch` or `state`.

        `again` is true if the loader had a stream before. Its state is then accepted even if the pipeline has changed.
        """
        refuse_data_loader_workers()
        settings, place = self._settings, self.place()
        request = {**settings.job, "rank": place.rank, "world_size": place.world_size, "open_timeout": timeout}
        request.update(settings.request)
        request.update(where)
        if "state" in request:
            request.pop("epoch", None)
            if settings.accept_new_pipeline or again:
                request["accept_new_pipeline"] = True
        feeder = feeder_for(self._options(place))
        self.pid = os.getpid()
        begin = time.monotonic()
        try:
            # The feeder has the same deadline for opening, and its message is more informative than one from here.
            return Stream(feeder, request, timeout + 10)
        except MachineError as error:
            # The feeder retries an absent coordinator until the deadline, except during its last pause.
            if error.code != "UNAVAILABLE" or time.monotonic() - begin < timeout - 1:
                raise
            raise TimeoutError(str(error), error.code) from None
        except Late:
            raise TimeoutError(f"the feeder did not open the job within {timeout:.0f} s, and gave no reason") from None

    def _options(self, place: Place) -> FeederOptions:
        options = self._settings.feeder
        if options.disk_cache and place.local_world > 1:  # each process needs its own folder
            options = options._replace(disk_cache=f"{options.disk_cache}-rank{place.rank}")
        if "job" not in self._settings.job and not options.threads and place.local_world > 1:
            share = max(1, available_cpus() // place.local_world)
            say_once(
                f"{place.local_world} ranks on this host read by themselves, each with {share} of the cores; one `penstockd "
                "standalone` for all (coordinator=) would share its caches among them and serve them better"
            )
            options = options._replace(threads=share)
        return options._replace(keep_pages=True) if self.keep_pages else options
