"""Tokens in a file of uint16, as the readers of nanoGPT and Megatron-LM take them: slices of a memory-mapped file."""

import functools

import numpy as np
import turns

_SIZE = turns.ROWS["tokens"][1]  # a row's last token is the label of the one before it, and the next row's first
_HEADER = 34  # bytes of an .idx file before its lengths


class TokenRows:
    """A map-style data set. Its rows are views: the loader copies them when it makes a batch."""

    def __init__(self, path):
        self.path = path

    @functools.cached_property
    def _tokens(self):
        # Slices of a memmap object are slower than those of an array. Mode "c", because torch warns about read-only arrays.
        return np.asarray(np.memmap(self.path, np.uint16, "c"))

    def __len__(self):
        return (len(self._tokens) - 1) // (_SIZE - 1)

    def __getitem__(self, i):
        begin = i * (_SIZE - 1)
        return self._tokens[begin : begin + _SIZE]

    def __reduce__(self):
        """A worker process maps the file again: a pickled array would be a copy of the whole file."""
        return TokenRows, (self.path,)


class Documents:
    """The documents of Megatron-LM's files, as slices of a memory-mapped file."""

    def __init__(self, prefix):
        self.prefix = prefix

    @functools.cached_property
    def _parts(self):
        index = np.fromfile(self.prefix + ".idx", np.uint8)
        count = int(index[18:26].view("<u8")[0])
        lengths = index[_HEADER : _HEADER + 4 * count].view("<i4")
        offsets = index[_HEADER + 4 * count : _HEADER + 12 * count].view("<i8") // 2
        return np.asarray(np.memmap(self.prefix + ".bin", np.uint16, "c")), offsets, lengths

    def __len__(self):
        return len(self._parts[1])

    def __getitem__(self, i):
        tokens, offsets, lengths = self._parts
        return {"packed": tokens[offsets[i] : offsets[i] + lengths[i]]}

    def __reduce__(self):
        return Documents, (self.prefix,)
