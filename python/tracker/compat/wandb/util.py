# SPDX-License-Identifier: MIT
"""wandb.util: the functions that old scripts call."""

from __future__ import annotations


def generate_id(length: int = 8) -> str:
    """An id for init(id=...): lower-case letters and digits."""
    import secrets
    import string

    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(length))
