"""Ways to damage a file: cut off, a few bits flipped, something put in the middle."""

import random


def cut(rng: random.Random, good: bytes) -> bytes:
    return good[: rng.randrange(len(good))]


def flip(rng: random.Random, good: bytes) -> bytes:
    data = bytearray(good)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def splice(rng: random.Random, good: bytes) -> bytes:
    at, size = rng.randrange(len(good)), rng.randrange(1, 64)
    middle = rng.choice((b"", rng.randbytes(size), bytes(size), b"\xff" * size, good[:size]))
    return good[:at] + middle + good[at + rng.choice((0, size)) :]
