"""R data frames as saveRDS() lays them out, before they are compressed."""

from __future__ import annotations

import struct

HEAD = b"X\n" + struct.pack(">3i", 2, 0x30602, 0x20300)
_LIST, _PAIRS, _SYMBOL, _CHAR, _INTEGERS, _REALS, _TEXTS = 0x313, 0x402, 1, 0x40009, 13, 14, 16
_END, _MISSING = 0xFE, -(2**31)


def number(value):
    return struct.pack(">i", value)


def text(value):
    return number(_CHAR) + number(len(value.encode())) + value.encode()


def texts(values):
    return number(_TEXTS) + number(len(values)) + b"".join(map(text, values))


def reals(values):
    return number(_REALS) + number(len(values)) + struct.pack(f">{len(values)}d", *values)


def symbol(name):
    return number(_SYMBOL) + text(name)


def data_frame(columns, records):
    """Return the bytes of a data frame whose columns, by name, are bytes already."""
    return (
        HEAD + number(_LIST) + number(len(columns)) + b"".join(columns.values()) + tail(list(columns), records)
    )  # fmt: skip


def tail(names, records):
    """Return what follows the columns: their names, the class and the names of the rows."""
    rows = number(_INTEGERS) + number(2) + number(_MISSING) + number(-records)
    pairs = {"names": texts(names), "class": texts(["data.frame"]), "row.names": rows}
    return b"".join(number(_PAIRS) + symbol(name) + one for name, one in pairs.items()) + number(_END)  # fmt: skip
