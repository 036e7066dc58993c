"""Reading, writing, generating and comparing values."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runelift.ir.base.errors import ProgramError, UserError
from runelift.ir.base.source import Source
from runelift.ir.prim import Prim
from runelift.runtime.data import dataset
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Bounds, Generator, parse_bounds, parse_spec
from runelift.runtime.data.outline import outline
from runelift.runtime.data.text import Reader, Spec, format_value, type_of
from runelift.runtime.data.values import format_values, load_values, read_values, save_values


def read(text: str) -> list[object]:
    return read_values(text.encode(), "data")


@pytest.mark.parametrize(("text", "type_", "value"), [
    ("1i32", "i32", 1),
    ("-7i8", "i8", -7),
    ("3", "i32", 3),
    ("2.5", "f64", 2.5),
    ("1e3f32", "f32", 1000.0),
    ("0xFFu8", "u8", 255),
    ("0b101i16", "i16", 5),
    ("1_000i64", "i64", 1000),
    ("true", "bool", True),
    ("f32.inf", "f32", np.inf),
    ("1.5f16", "f16", 1.5),
    ("7f16", "f16", 7.0),
    ("-f16.inf", "f16", -np.inf),
    ("1e5f16", "f16", np.inf),
    ("0x1.8p1f16", "f16", 3.0),
    ("[1f16, 0.1]", "[2]f16", np.array([1, 0.1], np.float16)),
    ("-f64.inf", "f64", -np.inf),
    ("0x1.8p1f32", "f32", 3.0),
    ("[1, 2, 3]", "[3]i32", [1, 2, 3]),
    ("[[1f32, 2.5f32]]", "[1][2]f32", [[1, 2.5]]),
    ("[1u8, 2, 3]", "[3]u8", [1, 2, 3]),
    ("[1, 2,]", "[2]i32", [1, 2]),
    ("[false,true]", "[2]bool", [False, True]),
    ('"hi"', "[2]u8", [104, 105]),
    ("-- a comment\n 4i64 -- and another", "i64", 4),
])
def test_text_values(text: str, type_: str, value: object) -> None:
    (found,) = read(text)
    assert str(type_of(found)) == type_
    np.testing.assert_array_equal(found, value)


def test_nan_and_empty_arrays() -> None:
    nan, empty = read("f32.nan empty([2][0]i32)")
    assert np.isnan(nan)
    assert str(type_of(empty)) == "[2][0]i32"


@pytest.mark.parametrize(("text", "place", "message"), [
    ("[1, 2", "1:6", "data ends here"),
    ("1i32\n  [1, x]", "2:7", "found 'x]'"),
    ("[[1, 2], [3]]", "1:10", "shape"),
    ("[1i32, 2i64]", "1:8", "element of type i64"),
    ("[1i32, 2.5]", "1:8", "whole number"),
    ("99999999999999999999999u8", "1:1", "does not fit"),
    ("[3u8, 300]", "1:7", "does not fit"),
    ("empty([3]i32)", "1:1", "size that is 0"),
    ("empty([0]int)", "1:10", "primitive type"),
    ("[]", "1:1", "empty"),
    ("[true, 1]", "1:8", "not of type bool"),
    ("hello", "1:1", "found 'hello'"),
])
def test_malformed_text_names_line_and_column(text: str, place: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        read(text)
    assert str(caught.value).startswith(f"data:{place}: error[malformed-data]")


SCALARS = st.sampled_from(list(Prim)).flatmap(
    lambda prim: hnp.arrays(prim.dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0,
                                                         max_side=4)))


@given(SCALARS, st.booleans())
def test_written_values_read_back(value: np.ndarray, binary: bool) -> None:
    (found,) = read_values(format_values([value], binary), "data")
    assert type_of(found) == type_of(value)
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("shape", [(0, 1 << 62, 1 << 62), (1,) * 200])
def test_binary_shapes_that_no_array_has(shape: tuple[int, ...]) -> None:
    sizes = b"".join(size.to_bytes(8, "little") for size in shape)
    with pytest.raises(UserError, match=r"byte 7: error\[malformed-data\]: .* too large"):
        read_values(b"b\x02" + bytes([len(shape)]) + b" i32" + sizes + bytes(4), "data")


def test_binary_layout() -> None:
    data = format_values([np.array([[1, 2]], np.int32)], binary=True)
    assert data == (b"b\x02\x02 i32" + (1).to_bytes(8, "little") + (2).to_bytes(8, "little")
                    + b"\1\0\0\0\2\0\0\0")


@pytest.mark.parametrize(("data", "message"), [
    (b"b\x01\x00 i32\0\0\0\0", "Version 1"),
    (b"b\x02\x00 i33\0\0\0\0", "Unknown element type 'i33'"),
    (b"b\x02\x01 i32\x05", "within the sizes"),
    (b"b\x02\x00 i32\0\0", "needs 4 bytes, but only 2"),
    (b"b\x02", "within the header"),
    (b"b\x02\x01 i32" + b"\xff" * 8, "needs"),
    (b"\x1f\x8bnothing", "gzip"),
    (b"\x93NUMPYnothing", "NumPy"),
    (b"PK\x03\x04nothing", "NumPy"),
    (b"\xff\xfe", "neither text"),
])
def test_malformed_binary(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_values(data, "data")


@pytest.mark.parametrize("name", ["a.in", "a.in.gz", "a.bin", "a.gz", "a.npz", "a.npz.gz", "a.npy",
                                  "a.npy.gz"])
def test_files(tmp_path: Path, name: str) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    save_values(tmp_path / name, [value])
    (found,) = load_values(tmp_path / name)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, value)


def test_numpy_arrays_of_unsupported_type(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", np.zeros(2, complex))
    with pytest.raises(UserError, match="complex128"):
        load_values(tmp_path / "c.npy")


def test_fortran_order_and_big_endian(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.asfortranarray([[1, 2], [3, 4]], dtype=">i4"))
    (found,) = load_values(tmp_path / "f.npy")
    assert found.flags.c_contiguous
    assert found.dtype == np.int32
    assert found.tolist() == [[1, 2], [3, 4]]


def test_missing_file() -> None:
    with pytest.raises(UserError, match=r"Cannot read 'nowhere\.in'"):
        load_values(Path("nowhere.in"))


def test_strings_may_hold_unicode() -> None:
    assert bytes(read('"\u00e4\\n"')[0]) == "\u00e4\n".encode()


# Random data


def test_specs() -> None:
    assert parse_spec("[10][20]f32") == Spec((10, 20), Prim.F32)
    assert parse_spec("i32") == Spec((), Prim.I32)
    assert parse_spec("5i64") == np.int64(5)
    with pytest.raises(ProgramError):
        parse_spec("[10]f33")
    with pytest.raises(ProgramError):
        parse_spec("[10]f32 rest")


@pytest.mark.parametrize("prim", list(Prim))
def test_generation_is_deterministic(prim: Prim) -> None:
    spec = Spec((3, 50), prim)
    first, second = Generator(7).value(spec), Generator(7).value(spec)
    np.testing.assert_array_equal(first, second)
    assert type_of(first) == spec
    assert not np.array_equal(first, Generator(8).value(spec))


def test_generated_numbers_never_change() -> None:
    """Times of different releases are comparable only if the data are the same."""
    numbers = Generator(0).value(Spec((3,), Prim.I32)).tolist()
    assert numbers == [-641564065, -1559237681, -2099652831]
    assert 0 <= Generator(0).value(Spec((), Prim.F32)) < 1


@pytest.mark.parametrize("prim", list(Prim))
def test_threads_make_the_same_numbers(prim: Prim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of an array are entered in the middle of the stream, and need not end with a word."""
    specs = [Spec((1003,), prim), Spec((), Prim.U8), Spec((101, 43), prim)]
    bounds = {prim: Bounds(-1 if prim.is_float else 3, 77)} if prim is not Prim.BOOL else {}
    for chosen in ({}, bounds):
        whole = Generator(3, chosen).values(specs)
        with monkeypatch.context() as patched:
            patched.setattr(dataset, "WORDS_PER_THREAD", 50)
            patched.setattr(dataset, "RANDOM_CHUNK", 7)
            parts = Generator(3, chosen).values(specs)
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("prim", "stored"), [(Prim.I16, np.int16), (Prim.U64, np.uint64)])
def test_integers_are_the_bits_of_the_stream(prim: Prim, stored: type) -> None:
    words = np.random.PCG64(5).random_raw(300).astype("<u8")
    generator = Generator(5)
    found = [generator.value(Spec((count,), prim)) for count in (1, 70, 90)]
    start = 0
    for value in found:
        used = -(-value.nbytes // 8)
        expected = words[start:start + used].view(np.dtype(stored).newbyteorder("<"))
        np.testing.assert_array_equal(value, expected[:len(value)])
        start += used


def test_arrays_are_made_where_they_are_needed() -> None:
    """Until then, and on the way there, they are a few bytes; scalars are made at once."""
    specs = [parse_spec(text) for text in ("[300]i32", "f64", "[1000][1000]f32", "7i8")]
    drawn = Generator(2).recipes(specs)
    values = Generator(2).values(specs)
    assert len(pickle.dumps(drawn)) < 2000
    for one, other in zip(pickle.loads(pickle.dumps(drawn)), values, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(np.asarray(one), other)
    assert [type(each) for each in drawn[1::2]] == [np.float64, np.int8]


def test_outlines_have_shapes_and_take_no_memory() -> None:
    drawn = Generator().drawn(Spec((1 << 20, 1 << 20), Prim.F32))
    array, drawn_one, scalar = outline([np.ones((3, 1000), np.int16), drawn, np.int32(5)])
    assert len(pickle.dumps([array, drawn_one])) < 2000
    assert np.asarray(array).shape == (3, 1000)
    assert np.asarray(array).dtype == np.int16
    assert np.asarray(drawn_one).nbytes == 1 << 42
    assert scalar == 5


@given(st.sampled_from([p for p in Prim if p.is_int]), st.data())
def test_bounds(prim: Prim, data: st.DataObject) -> None:
    low = data.draw(st.integers(int(prim.least), int(prim.greatest)))
    high = data.draw(st.integers(low, int(prim.greatest)))
    value = Generator(1, {prim: Bounds(low, high)}).value(Spec((40,), prim))
    assert low <= int(value.min()) <= int(value.max()) <= high


@pytest.mark.parametrize("text", ["5", "a:b", "3:1", "-1:4"])
def test_malformed_bounds(text: str) -> None:
    with pytest.raises(UserError):
        parse_bounds(Prim.U8, text)


# Comparison


def test_equality_up_to_rounding() -> None:
    want = [np.array([1.0, np.nan, np.inf, 1000.0], np.float32)]
    assert first_difference(want, [np.array([1.001, np.nan, np.inf, 1001], np.float32)]) is None
    assert "[3]" in str(first_difference(want, [np.array([1, np.nan, np.inf, 1003], np.float32)]))
    assert first_difference([np.float32(np.inf)], [np.float32(3)]) is not None
    assert first_difference([np.float32(np.nan)], [np.float32(3)]) is not None
    assert first_difference([np.float32(0)], [np.float32(np.inf)]) is not None


def test_differences_are_described() -> None:
    assert first_difference([np.int32(3)], [np.int32(4)]) == (
        "the value should be 3i32, but is 4i32")
    assert "type [2]i32" in str(first_difference([np.zeros(2, np.int32)], [np.zeros(3, np.int32)]))
    assert "2 values" in str(first_difference([np.int32(3)] * 2, [np.int32(4)]))


def test_reader_takes_a_blanked_text() -> None:
    source = Source("p.fut", "-- 1i32\n-- x")
    reader = Reader(source, 0, None, "   1i32\n   x")
    assert reader.value() == 1
    with pytest.raises(ProgramError, match=r"p\.fut:2:4"):
        reader.value()


def test_formatting() -> None:
    assert format_value(np.float32(0.1)) == "0.1f32"
    assert format_value(np.zeros((2, 0), np.int32)) == "empty([2][0]i32)"
    assert format_value(np.array([True])) == "[true]"


def test_numbers_without_a_suffix_take_the_wanted_type() -> None:
    wanted = [Prim.I64, Prim.F32, Prim.U8, Prim.I64]
    values = read_values(b"3000000000 [1, 2] true 2.5 7", "input", wanted)
    assert [v.dtype for v in values] == ["int64", "float32", "bool", "float64", "int32"]
    assert read_values(b"1i16", "input", wanted)[0].dtype == "int16"
    with pytest.raises(UserError, match="does not fit in u8"):
        read_values(b"300", "input", [Prim.U8])
