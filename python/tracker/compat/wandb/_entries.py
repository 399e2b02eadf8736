# SPDX-License-Identifier: MIT
"""One file of an artifact, and all of them by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker import ArtifactFile
    from tracker.compat.wandb._version import Version


class Entry:
    """A file, or a reference to something elsewhere."""

    def __init__(self, artifact: Version, file: ArtifactFile) -> None:
        self._artifact, self._file = artifact, file

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def path(self) -> str:
        return self._file.name

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def digest(self) -> str:
        """SHA-256 in hex digits, once the artifact is stored; of a reference its checksum."""
        return self._file.digest or self._file.checksum

    @property
    def ref(self) -> str | None:
        return self._file.uri or None

    def ref_target(self) -> str:
        if not self._file.uri:
            raise ValueError("Only reference entries support ref_target().")
        return self._file.uri

    def ref_url(self) -> str:
        return f"wandb-artifact://{self._artifact.qualified_name}/{self.name}"

    @property
    def local_path(self) -> str:
        """Where the store has it."""
        return str(self._artifact._version.get_path(self.name))

    def download(self, root: str | os.PathLike[str] | None = None, skip_cache: bool | None = None) -> str:
        """Writes this file below `root` and returns its path."""
        folder = self._artifact.download(root, path_prefix=self.name)
        return str(Path(folder) / self.name)


class Manifest:
    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[dict[str, str | int]]:
        for entry in self.entries.values():
            yield {"path": entry.path, "size": entry.size}
