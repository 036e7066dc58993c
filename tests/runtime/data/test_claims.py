"""Data that claim more than they have, or that are not what they say."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.data import values
from runelift.runtime.data.dataset import Generator, parse_spec
from runelift.runtime.data.values import load_values, read_values


def npy(descr: object, shape: object, order: object = False, content: bytes = bytes(16),
        version: int = 1) -> bytes:
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def saved(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize(("data", "message"), [
    (npy("<i4", (99999999999, 99999)), "needs .* bytes, but only 16 are left"),
    (npy("<i4", (1 << 70,)), "too large"),
    (npy("<i4", (0, 1 << 62, 1 << 62)), "too large"),
    (npy("<i4", (1,) * 100), "too large"),
    (npy("<i4", (-1,)), "shape"),
    (npy("<i4", (True,)), "shape"),
    (npy("<i4", [4]), "shape"),
    (npy("<i4", (4,), "no"), "fortran_order"),
    (npy([("x", "<i4")], (4,)), "fields"),
    (npy("|O", (4,)), "pickled"),
    (npy("nonsense", (4,)), "type of its elements"),
    (npy("<c8", (2,)), "complex64"),
    (npy("<M8[s]", (2,)), "datetime64"),
    (npy("<i4", (4,), version=7), "version 7"),
    (b"\x93NUMPY\1\0" + b"\xff\xff" + b"{" * 100, "header"),
    (b"\x93NUMPY\1\0" + (9000).to_bytes(2, "little") + b"(" * 9000, "header"),
    (b"\x93NUMPY\1\0" + (2).to_bytes(2, "little") + b"{}", "header"),
    (b"\x93NUMPY\1", "begin"),
])
def test_npy_files_that_cannot_be(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=rf"data: error\[malformed-data\].*{message}|{message}"):
        read_values(data, "data")


@pytest.mark.parametrize("array", [
    np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    np.arange(6, dtype=">f8").reshape(3, 2), np.array(7, np.uint8), np.zeros((0, 3), np.float32),
    np.array([True, False]),
])
def test_npy_files_that_are_right(array: np.ndarray) -> None:
    (found,) = read_values(saved(array), "data")
    np.testing.assert_array_equal(found, array)
    assert np.asarray(found).dtype.isnative


def test_bytes_of_bools_are_0_or_1() -> None:
    for data in (npy("|b1", (3,), content=b"\0\2\1"), b"b\2\1bool" + b"\3" + bytes(7) + b"\0\2\1"):
        (found,) = read_values(data, "data")
        assert found.view(np.uint8).tolist() == [0, 1, 1]


def test_members_of_npz_are_checked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy("<i4", (1 << 40,)))
    with pytest.raises(UserError, match=r"x\.npy: .*needs"):
        load_values(tmp_path / "a.npz")


def test_what_unpacks_to_very_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_UNPACKED", 1 << 20)
    out = io.BytesIO()
    np.savez_compressed(out, np.zeros(1 << 20))
    for data in (gzip.compress(b"1 " * (1 << 20)), out.getvalue()):
        with pytest.raises(UserError, match="more than 1 MiB"):
            read_values(data, "data")


def test_what_is_no_data_is_refused_before_all_of_it_is_unpacked() -> None:
    with pytest.raises(UserError, match=r"byte 0: .*neither text"):
        read_values(gzip.compress(bytes(1 << 20)), "data")


@pytest.mark.parametrize(("text", "message"), [
    ("empty([99999999999999999999][0]i32)", "too large"),
    ("empty([0][4611686018427387904]i32)", "too large"),
    ("empty([0]" + "[1]" * 100 + "i32)", "too large"),
    ("[" * 5000, "dimensions"),
    ("9" * 5000, "does not fit"),
    ("-" + "9" * 5000 + "i64", "does not fit"),
    ("empty([" + "9" * 5000 + "][0]i8)", "too large"),
    ("x" * 1_000_000, "found 'xxx"),
    ("1 " * 20_000, "more than 10000 values"),
    ("5" * 1_000_000 + "x", "found '555"),
])
def test_messages_about_large_text_are_short(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read_values(text.encode(), "data")
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(("text", "prim", "value"), [
    ("[5u16, -1u16]", None, [5, 65535]),
    ("[-1, 3]", Prim.U16, [65535, 3]),
    ("-0x1u8", None, 255),
    ("[-40000u16]", None, [25536]),
    ("[70000u16, -70000u16]", None, [4464, 61072]),
    ("[32767i8, 300i8, 255i8, -129i8]", None, [-1, 44, -1, 127]),
    ("18446744073709551615i64", None, -1),
    ("300u8", None, 44),
    (".5", None, 0.5),
    ("[.25f32, 5.]", None, [0.25, 5]),
    ("1" * 5000, Prim.F64, np.inf),
    ("0x1p99999", None, np.inf),
    ("-1e400f32", None, -np.inf),
    ("0" * 5000 + "7i8", None, 7),
    ("[[], []]", Prim.I32, np.zeros((2, 0))),
])
def test_numbers_as_futhark_reads_them(text: str, prim: Prim | None, value: object) -> None:
    (found,) = read_values(text.encode(), "data", [prim] if prim else [])
    np.testing.assert_array_equal(found, np.asarray(value))
    assert np.shape(found) == np.shape(value)


@pytest.mark.parametrize("spec", ["[99999999999999999999]i32", "[1000000000][1000000000]f64",
                                  "[4000000000][100]f32"])
def test_random_arrays_have_room(spec: str) -> None:
    with pytest.raises(UserError, match=r"too large|memory"):
        Generator().value(parse_spec(spec))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_unpack_at_once(method: int, tmp_path: Path) -> None:
    """Few bytes of these unpack to gigabytes in one step; NumPy does not write them."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", saved(np.zeros(1 << 20, np.uint8)))
    with pytest.raises(UserError, match="NumPy does not compress in this way"):
        load_values(tmp_path / "a.npz")


def test_large_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not packed is never too much; what is packed may be eight times the file."""
    monkeypatch.setattr(values, "MOST_UNPACKED", 1 << 10)
    array = np.random.default_rng(1).integers(0, 1 << 30, 5000, np.int64)
    np.savez(tmp_path / "plain.npz", array)
    np.savez_compressed(tmp_path / "packed.npz", array)
    np.savez_compressed(tmp_path / "zeros.npz", array * 0)
    for name in ("plain", "packed"):
        (found,) = load_values(tmp_path / f"{name}.npz")
        assert found.tolist() == array.tolist()
    with pytest.raises(UserError, match="more than"):
        load_values(tmp_path / "zeros.npz")
