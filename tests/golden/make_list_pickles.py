#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes list_pickles.inc of tests/cli: NumPy's pickles of vectors of lists, in every protocol that has been in use for
.npz files. Needs NumPy. Run: make_list_pickles.py.

A row is LISTS(name, rows, values, bytes). The names of NumPy 1 and the bytes of Python 2, whose memo begins with 1, are
put in by hand.
"""
import os
import pickle

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = [[1, 5, 9, 20000], [], [7, 7], [70000, -3, 2**31 - 1, -2**31], list(range(250, 260))]
WIDE = [[2**31, -2**63], [2**63 - 1]]


def vector(rows):
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


def text(data):
    lines = ("".join(f"\\x{byte:02x}" for byte in data[at:at + 24]) for at in range(0, len(data), 24))
    return "\n      ".join(f'"{line}"' for line in lines)


def row(name, rows, data):
    splits = [sum(len(r) for r in rows[:i]) for i in range(len(rows) + 1)]
    values = [n for r in rows for n in r]
    numbers = ["INT64_MIN" if n == -2**63 else f"{n}" for n in values]
    return (f"LISTS({name}, NUMBERS({', '.join(map(str, splits))}), NUMBERS({', '.join(numbers)}),\n"
            f"      {text(data)})\n")


def python2():
    """[[1, 300], [2]] as cPickle of Python 2 writes it by protocol 2."""
    return (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03(K\x01K\x02\x85"
            b"cnumpy\ndtype\nq\x04U\x02O8K\x00K\x01\x87Rq\x05(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89]q\x06"
            b"(]q\x07(K\x01M,\x01e]q\x08K\x02aetb.")


def main():
    rows = [row(f"protocol_{p}", ROWS, pickle.dumps(vector(ROWS), p)) for p in (2, 3, 4, 5)]
    rows.append(row("numpy_1", ROWS, pickle.dumps(vector(ROWS), 2).replace(b"numpy._core", b"numpy.core")))
    rows.append(row("wide", WIDE, pickle.dumps(vector(WIDE), 4)))
    many = [[] for _ in range(1001)] + [[9]]   # more than a pickle appends at a time
    rows.append(row("many", many, pickle.dumps(vector(many), 4)))
    same = [3, 1, 4]
    rows.append(row("one_list_twice", [same, same], pickle.dumps(vector([same, same]), 4)))
    rows.append(row("python_2", [[1, 300], [2]], python2()))
    path = os.path.join(HERE, "..", "cli", "list_pickles.inc")
    with open(path, "w", encoding="ascii") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n"
                  f"/* Written by tests/golden/make_list_pickles.py, with NumPy {np.__version__}. */\n" + "".join(rows))


if __name__ == "__main__":
    main()
