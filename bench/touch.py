"""Allocate memory, write to it and free it, so that the next process gets its memory at once."""

import mmap

TOUCHED = 256 << 20
"""Bytes, more than a measurement needs."""


def main() -> None:
    with mmap.mmap(-1, TOUCHED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        for place in range(0, TOUCHED, mmap.PAGESIZE):
            memory[place] = 1


if __name__ == "__main__":
    main()
