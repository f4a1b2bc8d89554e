"""Writes a scalar into an event file, record by record, with nothing but the standard library."""

import os
import struct
import sys
import time


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "events.out.tfevents.1.host"), "wb", buffering=0) as file:
    for step in range(1, 41):
        value = field(1, b"val/loss") + b"\x15" + struct.pack("<f", 1 / step)
        event = b"\x09" + struct.pack("<d", time.time()) + bytes([0x10, step]) + field(5, field(1, value))
        whole = record(event)
        file.write(whole[:9])
        time.sleep(0.02)
        file.write(whole[9:])
