"""The programs of the probes, lowered to host plans.

Exported modules have the plans, and no code generator (:mod:`runelift.runtime.tools.export`).
"""

from __future__ import annotations

from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.plan import Plan
from runelift.ir.names import Names
from runelift.ir.parse import parse

SCAN = """
entry main [n_1] (xs_2 : [n_1]i64) : (sums_3 : [n_1]i64) =
  let (sums_4 : [n_1]i64) = segscan.grid <i_5 < n_1> : (i64)
      operator (0i64)
        (\\(x_6 : i64) (y_7 : i64) : (i64) ->
          let (t_8 : i64) = add.i64(x_6, y_7)
          in (t_8)
        )
      {
        let (x_9 : i64) = xs_2[i_5]
        in (x_9)
      }
  in (sums_4)
"""

ROWS = """
entry main [n_1] [m_2] (xss_3 : [n_1][m_2]i64) : (sums_4 : [n_1][m_2]i64, totals_5 : [n_1]i64) =
  let (sums_6 : [n_1][m_2]i64, totals_7 : [n_1]i64) = segmap.group <i_8 < n_1> : ([m_2]i64, i64)
      {
        let (row_9 : [m_2]i64) = segscan.local <j_10 < m_2> : (i64)
            operator (0i64)
              (\\(x_11 : i64) (y_12 : i64) : (i64) ->
                let (t_13 : i64) = add.i64(x_11, y_12)
                in (t_13)
              )
            {
              let (e_14 : i64) = xss_3[i_8, j_10]
              in (e_14)
            }
        let (total_15 : i64) = segred.local <j_16 < m_2> : (i64)
            operator (0i64)
              (\\(x_17 : i64) (y_18 : i64) : (i64) ->
                let (t_19 : i64) = add.i64(x_17, y_18)
                in (t_19)
              )
            {
              let (e_20 : i64) = row_9[j_16]
              let (t_21 : i64) = mul.i64(e_20, j_16)
              in (t_21)
            }
        in (row_9, total_15)
      }
  in (sums_6, totals_7)
"""


def scan_plan() -> Plan:
    """The plan of a scan over the grid."""
    (fun,) = parse(SCAN).funs
    return plan_fun(fun, Names(100))


def rows_plan() -> Plan:
    """The plan of scans and sums of rows, a work-group for each."""
    (fun,) = parse(ROWS).funs
    return plan_fun(fun, Names(100), interleave=True)
