"""What is used after a statement."""

from __future__ import annotations

from runelift.ir.analysis.lookahead import with_uses_after
from runelift.ir.names import Names
from runelift.ir.parse import parse
from runelift.ir.traverse import free_vars


def test_uses_after() -> None:
    body = parse("""
entry main (x_1 : i32) (y_2 : i32) : (result_9 : i32) =
  let (a_3 : i32) = add.i32(x_1, y_2)
  let (b_4 : i32) = add.i32(a_3, x_1)
  let (c_5 : i32) = add.i32(b_4, b_4)
  in (a_3)
""", Names()).funs[0].body
    found = [after for _, after in with_uses_after(body, frozenset({body.stms[0].pat[0].name}))]
    a, b = (stm.pat[0].name for stm in body.stms[:2])
    (x, *_) = sorted(free_vars(body.stms[0]))
    assert [set(after) for after in found] == [{a, b, x}, {a, b}, {a}]
    assert [x in after for after in found] == [True, False, False]
    assert found[0] | {x} == {a, b, x}
    assert len(found[2]) == 1
