"""Boot a Linux guest in QEMU with a card as its PCI function, and encode in it by the same driver.

The function is ivshmem: its BAR is memory that the guest and this process map, and a simulated card
is served through it (`zeton.accel.transports.pci`). The guest's root is this Python, packed into
memory. It needs `qemu-system-x86_64` and a kernel, as Debian's `linux-image-cloud-amd64` has.
"""

import argparse
import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import zeton
from zeton.accel import configuration
from zeton.accel.transports.names import open_transport
from zeton.accel.transports.pci import BarServer
from zeton.accel.wire.bar import BAR_BYTES
from zeton.cli.options.samples import SAMPLES

PACKAGES = ("numpy", "numpy.libs", "click", "tqdm")
LEFT_OUT = {"test", "tests", "idlelib", "ensurepip", "tkinter", "lib2to3", "site-packages", "rtl"}
SHAPE = {"units": 2, "slots": 8, "wide_units": 1, "wide_slots": 16, "bytes_log": 8}

INIT = '''#!{python}
"""The guest's first process: finds the card, encodes, compares, and turns the machine off."""
import ctypes, os, sys, time, traceback
from pathlib import Path

libc = ctypes.CDLL(None)
for kind, folder in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")):
    os.makedirs(folder, exist_ok=True)
    libc.mount(kind.encode(), folder.encode(), kind.encode(), 0, None)
try:
    sys.path[:0] = {path!r}
    os.environ["ZETON_CACHE"] = "/tmp"
    # A file is read into a buffer of the largest size.
    Path("/proc/sys/vm/overcommit_memory").write_text("1")
    import zeton
    from zeton import accel
    from zeton.cli.options.samples import SAMPLES

    functions = Path("/sys/bus/pci/devices").iterdir()
    (card,) = (each for each in functions if (each / "device").read_text() == "0x1110\\n")
    (card / "enable").write_text("1")
    tok = zeton.load("/tok.zeton")
    with accel.open(f"pci:{{card}}/resource2") as device:
        device.load(tok)
        texts = [*SAMPLES.values(), b"", b" " * 700 + b"x", bytes(range(256))]
        right = device.encode_batch(texts) == [tok.encode(text) for text in texts]
        size = sum(map(len, texts))
        print(f"guest: {{card.name}}, {{len(texts)}} texts, {{size}} bytes,", end=" ")
        print("right ids" if right else "WRONG IDS", flush=True)
except BaseException:
    traceback.print_exc()
sys.stdout.flush()
time.sleep(0.2)
libc.reboot(0x4321FEDC)
'''


def main() -> None:
    """Boot the guest, and return its output."""
    parser = argparse.ArgumentParser(prog="guest.py", description=__doc__)
    parser.add_argument("--kernel", type=Path, required=True, help="a bzImage")
    parser.add_argument("--card", default="sim", help="the card that is served (sim)")
    parser.add_argument("--seconds", type=float, default=240.0, help="memory of the guest")
    options = parser.parse_args()
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        sys.exit("qemu-system-x86_64 is not here; install Debian's qemu-system-x86")
    with TemporaryDirectory(prefix="zeton-guest-") as name:
        folder = Path(name)
        tok = zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=1500)
        tok.save(folder / "tok.zeton")
        (folder / "initramfs").write_bytes(packed(folder / "tok.zeton"))
        card = open_transport(options.card, configuration("small", **SHAPE))
        start = time.monotonic()
        with BarServer(card, folder / "bar"):
            memory = f"memory-backend-file,id=bar,share=on,size={BAR_BYTES}"
            command = [
                *(qemu, "-cpu", "max", "-m", "1024", "-nographic", "-no-reboot", "-net", "none"),
                *("-kernel", str(options.kernel), "-initrd", str(folder / "initramfs")),
                *("-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on"),
                *("-object", f"{memory},mem-path={folder / 'bar'}"),
                *("-device", "ivshmem-plain,memdev=bar"),
            ]
            ended = subprocess.run(  # noqa: S603 - our own command.
                command, capture_output=True, timeout=options.seconds, check=False, text=True
            )
    said = re.search(r"^guest: .*$", ended.stdout, re.MULTILINE)
    if said is None or not said[0].strip().endswith("right ids"):
        sys.exit(f"the guest did not encode: {ended.stdout[:4000]}{ended.stderr[-500:]}")
    print(f"{said[0].strip()}, {time.monotonic() - start:.1f} s")


def packed(tokenizer: Path) -> bytes:
    """Return an initramfs with this Python, the package, its needs, and a first process."""
    files = dict(sorted(root_files()))
    path = [str(Path(zeton.__file__).parent.parent), *site_folders()]
    init = INIT.format(python=os.path.realpath(sys.executable), path=path)
    made = bytearray()
    folders = {parent for file in files for parent in Path(file).parents} | {Path("/dev")}
    for at, folder in enumerate(sorted(folders)):
        made += entry(str(folder), b"", stat.S_IFDIR | 0o755, at)
    for at, (place, source) in enumerate(files.items(), len(folders)):
        made += entry(place, source.read_bytes(), stat.S_IFREG | 0o755, at)
    made += entry("/tok.zeton", tokenizer.read_bytes(), stat.S_IFREG | 0o644, 1 << 20)
    made += entry("/init", init.encode(), stat.S_IFREG | 0o755, (1 << 20) + 1)
    made += entry("/TRAILER!!!", b"", 0, 0)
    return gzip.compress(bytes(made), 1)


def site_folders() -> list[str]:
    """Return the folders of the packages that the guest needs."""
    return [str(Path(np.__file__).parent.parent)]


def root_files() -> Iterator[tuple[str, Path]]:
    """Yield the path of each file in the guest, and its content."""
    python = Path(os.path.realpath(sys.executable))
    libraries = [python]
    site = Path(site_folders()[0])
    trees = [Path(sysconfig.get_path("stdlib")), Path(zeton.__file__).parent]
    for tree in (*trees, *(site / package for package in PACKAGES)):
        for parent, folders, names in os.walk(tree):
            folders[:] = [name for name in folders if name not in LEFT_OUT]
            for name in names:
                file = Path(parent, name)
                if file.suffix in (".a", ".o") or not file.is_file():
                    continue
                yield str(file), file
                if ".so" in name:
                    libraries.append(file)
    yield str(python), python
    ldd = shutil.which("ldd") or "ldd"
    done = subprocess.run(  # noqa: S603 - our own files.
        [ldd, *map(str, libraries)], capture_output=True, check=False, text=True
    )
    for found in set(re.findall(r"(/\S+) \(0x", done.stdout)):
        yield found, Path(found).resolve()


def entry(name: str, content: bytes, mode: int, number: int) -> bytes:
    """Return a file in the format of cpio that Linux reads."""
    path = name.removeprefix("/").encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


if __name__ == "__main__":
    main()
