# SPDX-License-Identifier: MIT
"""A descriptor that is kept for long, as src/base/guarded_fd.h has it for C++: other code of the process may close it
(os.closerange, a close too many) and open a file of its own under its number. That file is neither read nor written nor
closed from here. Not seen are a file with the inode of one that had no name left, and another pseudo terminal's own end
in the place of one. Threads: any. Cost: one system call a use."""

from __future__ import annotations

import errno
import os


class GuardedFd:
    """Closes nothing by itself: a forked child has the same object."""

    def __init__(self, number: int) -> None:
        found = os.fstat(number)
        self._number = number
        self._file = found.st_dev, found.st_ino, found.st_rdev

    def is_ours(self) -> bool:
        try:
            found = os.fstat(self._number)
        except OSError as error:  # a server that has forgotten the file has not closed it
            return self._number >= 0 and error.errno != errno.EBADF
        return (found.st_dev, found.st_ino, found.st_rdev) == self._file

    def is_same(self, other: GuardedFd) -> bool:
        """Whether both were opened on one file."""
        return self._file == other._file

    def number(self) -> int:
        """For one call that follows at once. OSError EBADF where it is not ours any more."""
        if not self.is_ours():
            raise OSError(errno.EBADF, "closed by other code of this process")
        return self._number

    def read(self, size: int) -> bytes:
        return os.read(self.number(), size)

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self.number(), data)

    def close(self) -> None:
        try:
            number = self.number()
            self._number = -1
            os.close(number)
        except OSError:
            pass
