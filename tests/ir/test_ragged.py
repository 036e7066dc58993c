"""Ragged spaces: their text, what is well formed, and their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import CompilerBug, ProgramFailure
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names, VName
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.ragged import Ragged
from runelift.ir.syntax import SegDim, SegRed
from runelift.ir.traverse import free_vars, rename_body, substitute_body
from runelift.ir.types import i64

ADD = """
      operator (0i64)
        (\\(a_{0}0 : i64) (b_{0}1 : i64) : (i64) ->
          let (c_{0}2 : i64) = add.i64(a_{0}0, b_{0}1)
          in (c_{0}2)
        )"""
PROGRAM = f"""
entry main [n_1] (len_2 : [n_1]i64) (m_4 : i64) (off_3 : [n_9]i64) (fill_8 : [m_4]i64)
    : (r_20 : [n_1]i64, s_21 : [m_4]i64, q_22 : [m_4]i64, t_23 : [m_4]i64, u_24 : [m_4]i64) =
  let (r_5 : [n_1]i64, s_6 : [m_4]i64) =
    segred.grid <i_7 < n_1, j_8 < len_2[i_7] of m_4 at off_3> : (i64, i64){ADD.format(5)}
      {{
        let (x_13 : i64) = add.i64(j_8, i_7)
        in (x_13, j_8)
      }}
  let (q_14 : [m_4]i64) =
    segscan.grid <i_15 < n_1, j_16 < len_2[i_15] of m_4 most 5i64 squares m_4 by merge> : (i64){
      ADD.format(6)}
      {{
        in (j_16)
      }}
  let (t_31 : [m_4]i64) =
    segmap.grid <i_32 < n_1, j_33 < len_2[i_32] of m_4 most 5i64 by flat> : (i64)
      {{
        in (i_32)
      }}
  let (u_34 : [m_4]i64) = segscatter.grid (fill_8@1) <i_35 < n_1, j_36 < len_2[i_35] of m_4>
      {{
        let (o_37 : i64) = off_3[i_35]
        let (p_38 : i64) = add.i64(o_37, j_36)
        in (p_38, j_36)
      }}
  in (r_5, s_6, q_14, t_31, u_34)
""".replace("[n_1] (len", "[n_1] [n_9] (len")


def test_text() -> None:
    program = parse(PROGRAM)
    check(program, "versioned")
    text = pretty(program)
    assert "segred.grid <i_7 < n_1, j_8 < len_2[i_7] of m_4 at off_3>" in text
    assert parse(text) == program


@given(st.lists(st.integers(0, 5), max_size=8))
def test_meaning(lengths: list[int]) -> None:
    total = sum(lengths)
    off = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = interpret(parse(PROGRAM), "main", [
        np.array(lengths, np.int64), total, off, np.full(total, 9)])
    inner = np.concatenate([np.zeros(0, np.int64), *map(np.arange, lengths)])
    owner = np.repeat(np.arange(len(lengths)), lengths)
    wanted = [np.array([sum(j + i for j in range(n)) for i, n in enumerate(lengths)], np.int64),
              inner, np.concatenate([np.zeros(0, np.int64), *(
                  np.cumsum(np.arange(n)) for n in lengths)]), owner, inner]
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert (one == other).all()


def test_a_negative_length_fails() -> None:
    with pytest.raises(ProgramFailure, match="-2"):
        interpret(parse(PROGRAM), "main", [np.array([3, -2]), 1, np.array([0, 3, 1]), np.zeros(1)])


def test_names() -> None:
    program = parse(PROGRAM)
    body = program.funs[0].body
    assert free_vars(body) >= {VName("len", 2), VName("m", 4), VName("off", 3)}
    other = substitute_body(body, {VName("len", 2): VName("l", 77), VName("off", 3): VName("o", 78),
                                   VName("m", 4): i64(5)})
    dim = rename_body(other, Names(100)).stms[0].exp
    assert isinstance(dim, SegRed)
    assert dim.space[1].ragged == Ragged(VName("l", 77), i64(5), VName("o", 78))


@pytest.mark.parametrize(("before", "after"), [
    ("<i_7 < n_1, j_8 < len_2[i_7] of m_4 at off_3>", "<j_8 < len_2[j_8] of m_4 at off_3>"),
    ("len_2[i_7] of m_4 at off_3", "m_4[i_7] of m_4 at off_3"),
    ("len_2[i_7] of m_4 at off_3", "len_2[i_7] of off_3 at off_3"),
    ("len_2[i_7] of m_4 at off_3", "len_2[i_7] of m_4 at m_4"),
    ("most 5i64 squares m_4", "most 5i64 squares off_3"),
])
def test_what_is_malformed(before: str, after: str) -> None:
    assert before in PROGRAM
    with pytest.raises(CompilerBug, match=r"ragged|type|before it is bound"):
        check(parse(PROGRAM.replace(before, after).replace("i_7)", "j_8)")), "versioned")


def test_a_ragged_width_is_no_number() -> None:
    dim = SegDim(VName("j", 1), Ragged(VName("len", 2), VName("m", 3)))
    with pytest.raises(CompilerBug, match="differs between points"):
        _ = dim.width


def test_facts() -> None:
    program = parse("""
entry main [n_1] (len_2 : [n_1]i64) : (facts_3 : [4i64]i64) =
  let (facts_4 : [4i64]i64) = facts len_2
  in (facts_4)
""")
    check(program, "versioned")
    assert parse(pretty(program)) == program
    (found,) = interpret(program, "main", [np.array([0, 1, 2, 3, 4, 5, -7, 1 << 30])])
    assert list(found) == [15 + (1 << 30), 1 << 30, 6, 55 + (1 << 60)]
