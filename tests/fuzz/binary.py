"""The frames of binary logs, byte by byte."""

import struct
import zlib
from collections.abc import Iterable
from functools import cache

WANDB_BLOCK = 32768
WANDB_HEADER = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)


def wandb_frames(records: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """LevelDB's frames around records, and where each record ends in the file."""
    data, ends = WANDB_HEADER, []
    for record in records:
        rest, first = record, True
        while first or rest:
            room = WANDB_BLOCK - len(data) % WANDB_BLOCK
            if room < 7:
                data += bytes(room)
                continue
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = (2 if rest else 1) if first else (3 if rest else 4)
            data += wandb_frame(kind, part)
            first = False
        ends.append(len(data))
    return data, ends


def wandb_frame(kind: int, data: bytes) -> bytes:
    """A frame with a record, or with a part of one."""
    return struct.pack("<IHB", zlib.crc32(bytes([kind]) + data), len(data), kind) + data


def masked_crc32c(data: bytes) -> bytes:
    """The checksum of TensorBoard's records."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """CRC-32C byte by byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _of_bytes()[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@cache
def _of_bytes() -> list[int]:
    """What each byte changes, bit by bit."""
    table = range(256)
    for _ in range(8):
        table = [crc >> 1 ^ 0x82F63B78 * (crc & 1) for crc in table]
    return table


def event_frame(data: bytes) -> bytes:
    """A record of TensorBoard's files."""
    size = struct.pack("<Q", len(data))
    return size + masked_crc32c(size) + data + masked_crc32c(data)
