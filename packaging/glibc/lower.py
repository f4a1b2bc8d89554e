#!/usr/bin/env python3
"""Makes libraries run on an older glibc than the one that they were linked with.

    lower.py LIMIT FALLBACK FILE...     LIMIT: such as 2.34

References to versions GLIBC_* above LIMIT whose symbols FALLBACK, a shared library, defines all lose their version: the
first library of the process that has the symbol then provides it. Prints the files changed, which need FALLBACK from now
on (`patchelf --add-needed`), and to stderr what remains above LIMIT. Files keep their size. 64 bits, little-endian, as ELF
is described in elf(5) and the Linux Standard Base, "Symbol Versioning".
"""
import re
import struct
import sys

SHT_DYNSYM, SHT_VERNEED, SHT_VERSYM = 11, 0x6FFFFFFE, 0x6FFFFFFF
UNDEFINED, UNVERSIONED = 0, 1


class Library:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no ELF file of 64 bits, little-endian")
        table, = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        # name, type, flags, address, offset, size, link, info, alignment, size of an entry
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, table + i * size) for i in range(count)]

    def section(self, kind):
        return next((section for section in self.sections if section[1] == kind), None)

    def text(self, section, at):
        begin = self.sections[section[6]][4] + at
        return self.data[begin:self.data.index(0, begin)].decode()

    def symbols(self):
        """(place of its version, name, whether this file defines it) of each dynamic symbol."""
        section, versions = self.section(SHT_DYNSYM), self.section(SHT_VERSYM)
        for i in range(section[5] // section[9]):
            name, _, _, defined_in = struct.unpack_from("<IBBH", self.data, section[4] + i * section[9])
            yield versions[4] + 2 * i if versions else None, self.text(section, name), defined_in != UNDEFINED

    def needed_versions(self):
        """(place of the library's record, places of the version's own and of the one before it, index, version)."""
        section = self.section(SHT_VERNEED)
        record = section[4] if section else None
        while record is not None:
            _, _, _, first, following = struct.unpack_from("<HHIII", self.data, record)
            at, before = record + first, None
            while True:
                _, _, index, name, step = struct.unpack_from("<IHHII", self.data, at)
                yield record, at, before, index & 0x7FFF, self.text(section, name)
                if step == 0:
                    break
                at, before = at + step, at
            record = record + following if following else None

    def remove(self, record, at, before):
        """Takes a needed version out of its list."""
        count, = struct.unpack_from("<H", self.data, record + 2)
        if count == 1:
            raise ValueError("a library of which nothing older is needed")
        struct.pack_into("<H", self.data, record + 2, count - 1)
        step, = struct.unpack_from("<I", self.data, at + 12)
        link = record + 8 if before is None else before + 12
        old, = struct.unpack_from("<I", self.data, link)
        struct.pack_into("<I", self.data, link, old + step if step else 0)


def above(version, limit):
    match = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return match is not None and [int(part) for part in match[1].split(".")] > limit


def lower(path, limit, provided):
    library = Library(path)
    symbols = list(library.symbols())
    changed = False
    # From the end, so that places found before stay true.
    for record, at, before, index, version in reversed(list(library.needed_versions())):
        if not above(version, limit):
            continue
        users = [(place, name) for place, name, defined in symbols
                 if not defined and struct.unpack_from("<H", library.data, place)[0] & 0x7FFF == index]
        missing = sorted(name for _, name in users if name not in provided)
        if missing or not users:
            print(f"{path} needs {version}: {', '.join(missing)}", file=sys.stderr)
            continue
        for place, _ in users:
            struct.pack_into("<H", library.data, place, UNVERSIONED)
        library.remove(record, at, before)
        changed = True
    if changed:
        with open(path, "r+b") as file:
            file.write(library.data)
        print(path)


def main():
    limit = [int(part) for part in sys.argv[1].split(".")]
    provided = {name for _, name, defined in Library(sys.argv[2]).symbols() if defined}
    for path in sys.argv[3:]:
        lower(path, limit, provided)


main()
