# SPDX-License-Identifier: MIT
"""Integers, varints and the CRC of docs/formats/frame.md."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def _table() -> list[int]:
    out = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        out.append(crc)
    return out


_TABLE = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc32c_words(words: list[int]) -> int:
    """The register of the CRC over 8-byte words, as ring.md has it: not inverted at the end."""
    return crc32c(b"".join(word.to_bytes(8, "little") for word in words)) ^ 0xFFFFFFFF


def signed(value: int) -> int:
    """The int64 of the low 64 bits."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


class Bytes:
    """A cursor over bytes. A read after the end is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def more(self) -> bool:
        return self.at < len(self.data)

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError(f"{size} bytes wanted at {self.at}, {len(self.data) - self.at} are there")
        self.at += size
        return self.data[self.at - size : self.at]

    def uint(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.uint(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError(f"varint too long at {self.at}")

    def zigzag(self) -> int:
        value = self.varint()
        return signed((value >> 1) ^ -(value & 1))

    def sized(self) -> bytes:
        return self.take(self.varint())
