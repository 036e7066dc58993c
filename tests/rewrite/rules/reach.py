"""A small program for every rule that the front end can bring about."""

from __future__ import annotations

from typing import Any

import numpy as np

I32, I64, F32 = np.int32, np.int64, np.float32
XS = np.array([3, 1, 4, 1, 5], I32)
YS = np.array([2, 7, 1, 8, 2], I32)
FS = np.array([0.5, -0.0, -2.0], F32)
XSS = np.arange(6, dtype=I32).reshape(2, 3)
IS = np.array([0, 9, 2, -1, 3])
X, Y, N, B = I32(6), I32(-7), I64(3), True

ONE = "entry main (x: i32) (y: i32) = "
VECTOR = "entry main [n] (xs: [n]i32) = "
TWO = "entry main [n] (xs: [n]i32) (ys: [n]i32) = "
MATRIX = "entry main [n][m] (xss: [n][m]i32) = "

REACH: dict[str, tuple[str, list[Any]]] = {
    "copy_propagation": (ONE + "(x ^ x) + y", [X, Y]),
    "fold_constants": (ONE + "let z = x ^ x in i32.abs (z - 3) + y", [X, Y]),
    "fold_conversion": (ONE + "let z = x ^ x in i64.i32 z + i64.i32 y", [X, Y]),
    "same_conversion": (ONE + "i32.u32 (u32.i32 x) + y", [X, Y]),
    "conversion_chain": (ONE + "(i8.i64 (i64.i32 x), y)", [X, Y]),
    "neutral_element": (ONE + "let z = x ^ x in (x + z) * (z + 1) + y", [X, Y]),
    "float_neutral": ("entry main (x: f32) = (x * 1, x / 1, x - 0)", [F32(-0.0)]),
    "absorbing_element": (ONE + "let z = x - x in z * y", [X, Y]),
    "right_neutral": (ONE + "let z = x - x in (x - z) % (z + 1) + y", [X, Y]),
    "cheap_power": ("entry main (x: f32) (y: i32) = (x ** 2, y ** 2, x ** -1, x ** 0 + x ** 1)",
                    [F32(-1.1), X]),
    "same_operands": (ONE + "(x - x, i32.min y y)", [X, Y]),
    "same_compared": (ONE + "(x == x, x < x, y)", [X, Y]),
    "compared_with_bool": ("entry main (b: bool) = let t = (b == b) in b == t", [B]),
    "converted_bool": ("entry main (b: bool) = let x = i32.bool b in (x == 0, x == 1)", [B]),
    "double_negation": (ONE + "-(-x) + y", [X, Y]),
    "excluded_middle": ("entry main (b: bool) = let c = !b in (b && c, b || c)", [B]),
    "negated_comparison": (ONE + "!(x < y)", [X, Y]),
    "gather_constants": (ONE + "((x + 3) + 4) * 2 * 5 + y", [X, Y]),
    "cancel": (ONE + "(x + y) - y", [X, Y]),
    "index_flattened": (MATRIX + "let xs = flatten xss in tabulate_2d n m (\\i j -> xs[i * m + j])",
                        [XSS]),
    "index_quotient": (MATRIX + "tabulate (n * m) (\\p -> xss[p / m, p % m] + i32.i64 p)", [XSS]),
    "input_view": (VECTOR + "let ws = map (\\i -> xs[i:i + 2] :> [2]i32) (iota (n - 1)) "
                   "in map (\\x -> map (map (* x)) ws) [1, 2]", [XS]),
    "slice_of_map": (MATRIX + "(map (\\xs -> [i32.sum xs, 1]) xss)[:, 0]", [XSS]),
    "reduce_few": (MATRIX + "map (\\i -> map (\\j -> i32.sum xss[i, j:j + 2]) (iota (m - 1))) "
                   "(iota n)", [XSS]),
    "loop_few": (MATRIX + "map (map (\\x -> loop y = x for i < 3 do y * y - i32.i64 i)) xss",
                 [XSS]),
    "input_spread": (MATRIX + "let rows = transpose (replicate m (map i32.sum xss)) "
                     "in map2 (map2 (-)) xss rows", [XSS]),
    "literal_of_array": (VECTOR + "[map (+ 1) xs]", [XS]),
    "rearrange_unit": (VECTOR + "transpose [xs]", [XS]),
    "index_unit": (VECTOR + "let ys = transpose [xs] in tabulate n (\\i -> ys[i, 0] + 1)", [XS]),
    "reduce_filtered": (VECTOR + "let ys = filter (> 2) xs in (length ys, i32.sum (map (* 2) ys))",
                        [XS]),
    "last_of_scan": (VECTOR + "if n == 0 then 0 else last (scan (+) 0 xs)", [XS]),
    "slice_of_rest": (MATRIX + "map (\\xs -> map2 (-) xs[0:m - 2] xs[2:m]) xss", [XSS]),
    "loop_of_sums": (VECTOR + "loop (s, t) = (3, 9) for i < n do (s + xs[i] * 2, i32.min xs[i] t)",
                     [XS]),
    "input_element": (MATRIX + "map i32.sum (transpose (map (map (* 2)) xss))", [XSS]),
    "branch_common": (VECTOR + "map (\\i -> let j = (i ^ 1) % n in "
                      "if i & 1 == 0 then xs[i] + xs[j] else xs[j] - xs[i]) (iota n)", [XS]),
    "branch_joined": (VECTOR + "map (\\x -> (if x < 1 then 7 else if x == 4 then 7 else x, "
                      "if x < 4 then (if x == 1 then 8 else x) else 8i32)) xs", [XS]),
    "input_of_view": (VECTOR + "let ws = map (\\i -> xs[i:i + 2] :> [2]i32) (iota (n - 1)) "
                      "in map i32.sum (transpose ws)", [XS]),
    "index_view": (VECTOR + "let ws = map (\\i -> xs[i:i + 2] :> [2]i32) (iota (n - 1)) "
                   "in map (\\i -> ws[i, 0] - ws[0, 1] + i32.sum ws[i:i + 1, 1]) (iota (n - 1))",
                   [XS]),
    "reduce_view": (MATRIX + "map (\\x -> i32.sum (map (* x) (flatten xss[:, 1:]))) [1, 2]", [XSS]),
    "reduce_quotients": (MATRIX + "map (\\x -> i32.sum (map (\\p -> i32.i64 (p / m) * x + "
                         "i32.i64 (p % m)) (iota (n * m)))) [1, 2]", [XSS]),
    "fold_columns": ("entry main [n][m] (xss: [n][m]i32) = map (\\x -> let add = reduce (map2 (+)) "
                     "(replicate m 0) (map (map (* x)) xss) in scan (map2 i32.max) "
                     "(replicate m i32.lowest) xss |> map (map2 (+) add)) [1, 2]", [XSS]),
    "comparison_known": (VECTOR + "map (\\i -> (if i < n then 1i32 else 2, i < 0)) (iota n)", [XS]),
    "branch_extreme": ("entry main (x: i64) (y: i64) = ((if x < y then x else y), "
                       "if x <= y then y else x)", [N, I64(4)]),
    "size_not_negative": (VECTOR + "map (\\i -> i32.i64 i + 1) (iota n)", [XS]),
    "quotient_of_sum": (MATRIX + "tabulate_2d n m (\\i j -> let p = i * m + j "
                        "in xss[p / m, p % m] + i32.i64 (j / m))", [XSS]),
    "unflatten_map": (MATRIX + "let ys = tabulate (n * m) (\\p -> i32.i64 (p / m)) "
                      "in map2 (map2 (-)) (unflatten ys) xss", [XSS]),
    "flatten_nest": (MATRIX + "scan (+) 0 (flatten (map (map (* 2)) xss))", [XSS]),
    "transpose_nest": (MATRIX + "(map i32.sum (transpose (map (map (* 2)) xss)), "
                       "transpose (map (\\i -> map (\\j -> i32.i64 (i - j)) (iota m)) (iota n)))",
                       [XSS]),
    "map_layouts": (MATRIX + "(map (lift.pad 1 2 7) xss, "
                    "map (\\xs -> transpose (lift.slide 2 1 xs)) xss)", [XSS]),
    "index_slide": (MATRIX + "let ws = lift.slide2d 2 1 2 1 xss in (ws[0, 1, 1, 0], ws[0, :, 1], "
                    "map (map (\\w -> i32.sum (flatten w))) ws)", [XSS]),
    "index_pad": (VECTOR + "let ps = lift.pad 2 1 7 xs in map (\\i -> ps[i + 2] - ps[i]) (iota n)",
                  [XS]),
    "guarded_read": (MATRIX + "tabulate_2d n m (\\i j -> i32.sum (map (\\k -> "
                     "let (a, b) = (i + k - 1, j + 1) let c = j + k "
                     "in (if 0 <= a && a < n && c < m then xss[a, c] else 7) "
                     "- (if b < m then xss[i, b] else 0)) (iota 3)))", [XSS]),
    "pad_input": (MATRIX + "map (\\xs -> i32.sum xs * i32.product (lift.pad 1 2 7 xs)) xss",
                  [XSS]),
    "concat_margins": (VECTOR + "map i32.sum (lift.slide 3 1 ([7, 7] ++ xs ++ replicate n 7))",
                       [XS]),
    "pad_pad": (VECTOR + "lift.pad 1 (-3) 7 (lift.pad 2 1 7 xs)", [XS]),
    "pad_nothing": (VECTOR + "lift.pad 0 0 7 xs", [XS]),
    "rearrange_pad": (MATRIX + "lift.pad2d 1 2 0 1 7 xss", [XSS]),
    "slide_single": (VECTOR + "lift.slide 1 1 xs", [XS]),
    "slide_tiling": ("entry main (xs: [11]i32) = let ws = lift.slide 3 2 xs "
                     "in (lift.split 5 ws, map (map i32.sum) (unflatten (ws :> [5 * 1][3]i32)))",
                     [np.arange(11, dtype=I32) ** 2]),
    "check_inside": ("entry main [n] (xs: [n]i32) = loop s = 0 for i < n do s * 2 + xs[i]", [XS]),
    "index_whole": (VECTOR + "xs[0:n]", [XS]),
    "index_joined": (VECTOR + "map (\\i -> (rotate 2 xs)[i]) (iota n)", [XS]),
    "input_joined": (MATRIX + "map2 (map2 (-)) (rotate (-1) xss) (map (rotate 1) xss)", [XSS]),
    "index_iota": ("entry main (n: i64) (m: i64) = let is = iota n in loop s = 0 for i < n do "
                   "s + is[i] * m", [N, N]),
    "index_replicate": ("entry main (n: i64) (x: i32) = let rs = replicate n x in "
                        "loop s = 0 for i < n do s * 2 + rs[i]", [N, X]),
    "index_index": (MATRIX + "loop s = 0 for i < n do let r = xss[i] in "
                    "loop s for j < m do s * 2 + r[j]", [XSS]),
    "index_rearrange": (MATRIX + "let t = transpose xss in loop s = 0 for i < m do "
                        "loop s for j < n do s * 2 + t[i, j]", [XSS]),
    "index_copy": ("entry main [n] (xs: [n]i32) = let ys = copy xs in "
                   "loop s = 0 for i < n do s * 2 + ys[i]", [XS]),
    "index_literal": (ONE + "let xs = [x, y, x + y] in (xs[2], xs[0])", [X, Y]),
    "index_update": ("entry main [n] (xs: *[n]i32) = loop xs for i < n do "
                     "let ys = xs with [i] = i32.i64 i in ys with [i] = ys[i] * 3", [XS]),
    "concat_empty": (VECTOR + "xs ++ replicate 0 7", [XS]),
    "rearrange_twice": ("entry main [n][m][k] (xs: [n][m][k]i32) = "
                        "transpose (transpose xs)", [np.arange(24, dtype=I32).reshape(2, 3, 4)]),
    "rearrange_nothing": (MATRIX + "transpose (transpose xss)", [XSS]),
    "rearrange_replicate": ("entry main (n: i64) (x: i32) = "
                            "transpose (replicate n (replicate 2 x))", [N, X]),
    "reshape_twice": ("entry main [n][m][k] (xs: [n][m][k]i32) = flatten (flatten xs)",
                      [np.arange(24, dtype=I32).reshape(2, 3, 4)]),
    "reshape_nothing": (MATRIX + "unflatten (flatten xss :> [n*m]i32)", [XSS]),
    "copy_twice": (VECTOR + "copy (copy xs)", [XS]),
    "copy_generated": ("entry main (n: i64) = copy (iota n)", [N]),
    "replicate_twice": ("entry main (n: i64) (x: i32) = replicate 2 (replicate n x)", [N, X]),
    "concat_concat": (TWO + "xs ++ ys ++ xs", [XS, YS]),
    "update_own_element": ("entry main [n] (xs: *[n]i32) = let x = xs[1] in xs with [1] = x", [XS]),
    "update_whole": ("entry main [n] (xs: *[n]i32) (ys: [n]i32) = xs with [0:n] = ys", [XS, YS]),
    "branch_known": (ONE + "if x == x then y else x", [X, Y]),
    "branch_negated": (ONE + "let c = x < y || y < 3 in if !c then x * y else x / 2", [X, Y]),
    "branch_invariant": (ONE + "if x < y then (x, y * 2) else (x, y * 3)", [X, Y]),
    "branch_on_bools": (ONE + "if x < y then true else false", [X, Y]),
    "branch_same_result": (ONE + "let (a, b) = if x < y then (let z = x * 2 in (z, z)) "
                           "else (y, y) in a * b", [X, Y]),
    "loop_never": (ONE + "loop z = x for _i < (y - y) do z * 2", [X, Y]),
    "loop_unrolled": (ONE + "#[unroll] loop z = x for i < 5 do z * y + i32.i64 i", [X, Y]),
    "loop_once": (ONE + "let one = y - y + 1 in loop z = x for _i < one do z * 2", [X, Y]),
    "loop_invariant": (ONE + "(loop (a, b) = (x, y) for _i < 5 do (a, b * a)).1", [X, Y]),
    "loop_duplicate": (ONE + "let (a, b) = loop (a, b) = (x, x) for i < 5 do "
                       "let c = y + i in (c, c) in a * b", [X, Y]),
    "assert_true": (ONE + "assert (x == x) y", [X, Y]),
    "map_invariant": ("entry main [n] (xs: [n]i32) (y: i32) = map (\\_ -> y * 2) xs", [XS, Y]),
    "map_identity": (TWO + "map (\\x -> x) xs ++ ys", [XS, YS]),
    "map_same_result": (VECTOR + "unzip (map (\\x -> let y = x * 2 in (y, y)) xs)", [XS]),
    "sum_invariant": ("entry main [n] (xs: [n]i32) (x: i8) = (i8.sum (map (const x) xs), "
                      "i64.sum (map (const 1) xs))", [XS, np.int8(77)]),
    "assert_invariant": ("entry main (n: i64) (m: i64) = "
                         "map (\\i -> i64.sum (map (^ i) (iota m))) (iota n)", [N, N]),
    "commutative_operator": (
        "entry main [n] (xs: [n]f32) (ys: [n]f32) = "
        "reduce (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0) (zip xs ys)", [FS, FS]),
    "input_twice": (VECTOR + "map2 (*) xs xs", [XS]),
    "input_replicate": (VECTOR + "map2 (*) xs (replicate n 3)", [XS]),
    "input_copy": (VECTOR + "map (+ 1) (copy xs)", [XS]),
    "input_index": (VECTOR + "map (\\i -> xs[i] * i32.i64 i) (iota n)", [XS]),
    "width_zero": (VECTOR + "let k = n - n in (map (* 2) (xs[0:k]), i32.sum (xs[0:k]))", [XS]),
    "width_one": (VECTOR + "map (\\x -> i32.sum (map (+ x) [x * 2])) xs", [XS]),
    "unused_statement": (ONE + "let z = x * y in x + y", [X, Y]),
    "unused_branch_result": (ONE + "(if x < y then (x * 2, y) else (y, x * 3)).0", [X, Y]),
    "unused_loop_parameter": (
        ONE + "(loop (a, b) = (x, y) for _i < 5 do (a + 3, b * a)).0", [X, Y]),
    "unused_map_result": (VECTOR + "(unzip (map (\\x -> (x * 2, x * 3)) xs)).0", [XS]),
    "copy_of_dying": (VECTOR + "let ys = map (* 2) xs in copy ys", [XS]),
    "unused_input": (TWO + "map2 (\\x _ -> x * 2) xs ys", [XS, YS]),
    "common_subexpression": (ONE + "(x & y) * (y & x)", [X, Y]),
    "hoist_invariant": (
        "entry main [n] (xs: [n]f32) (y: f32) = map (\\x -> x * (y * y)) xs", [FS, F32(3)]),
    "hoist_stored": (
        "entry main [n] (xs: [n]i32) = "
        "map (\\x -> let ys = map (\\i -> i32.i64 i * 3) (iota n) "
        "in i32.sum (map (\\j -> if j < x then ys[(j % 2)] * ys[0] else ys[1]) xs)) xs", [XS]),
    "hoist_quotient": (
        "entry main [n] (xs: [n]i32) (m: i64) = "
        "map (\\x -> i32.sum (map (+ x) (map i32.i64 (iota (n / m))))) xs", [XS, I64(2)]),
    "map_map": (VECTOR + "map (+ 1) (map (* 2) xs)", [XS]),
    "map_redomap": (VECTOR + "i32.sum (map (* 2) xs)", [XS]),
    "map_scanomap": (VECTOR + "scan (+) 0 (map (* 2) xs)", [XS]),
    "map_scatter": (
        "entry main [n] (is: [n]i64) (xs: [n]i32) = scatter (replicate 4 0) is (map (* 2) xs)",
        [IS, XS]),
    "hist_by_component": (
        "entry main [n] (is: [n]i64) (xs: [n]i32) (ys: [n]i32) = "
        "hist (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) 4 is (zip xs ys)",
        [IS, XS, YS]),
    "hists_together": (
        "entry main [n] (is: [n]i64) (xs: [n]i32) = "
        "(hist (+) 0 4 is xs, hist i32.max 0 4 is (map (* 2) xs))", [IS, XS]),
    "map_hist": ("entry main [n] (is: [n]i64) (xs: [n]i32) = "
                 "reduce_by_index (replicate 4 0) (+) 0 is (map (* 2) xs)", [IS, XS]),
    "redomap_map": (VECTOR + "let ys = map (* 2) xs let s = i32.sum ys "
                    "in (s, ys, map (+ 1) ys)", [XS]),
    "redomap_redomap": (VECTOR + "let ys = map (* 2) xs in (i32.sum ys, i32.maximum ys)", [XS]),
    "scanomap_map": (VECTOR + "let ys = map (* 2) xs let s = scan (+) 0 ys "
                     "in (s, ys, map (+ 1) ys)", [XS]),
    "scanomap_scanomap": (VECTOR + "let ys = map (* 2) xs "
                          "in (scan (+) 0 ys, scan i32.max i32.lowest ys)", [XS]),
    "maps_together": (VECTOR + "(map (* 2) xs, map (+ 1) xs)", [XS]),
    "map_beside_redomap": (VECTOR + "(map (* 2) xs, i32.sum xs)", [XS]),
    "redomap_beside_map": (VECTOR + "let s = i32.sum xs let ys = map (* 2) xs in (s, ys)", [XS]),
    "reduce_by_rows": (TWO + "i32.sum (flatten (map (\\x -> map (* x) ys) xs))", [XS, YS]),
    "redomaps_together": (VECTOR + "(i32.sum xs, i32.maximum xs)", [XS]),
    "scanomaps_together": (VECTOR + "(scan (+) 0 xs, scan i32.max i32.lowest xs)", [XS]),
    "scatters_together": (
        "entry main [n] (is: [n]i64) (xs: [n]i32) = "
        "(scatter (replicate 4 0) is xs, scatter (replicate 5 1) (map (+ 1) is) xs)", [IS, XS]),
}

REACH_VERSIONED: dict[str, tuple[str, list[Any]]] = {
    "rows_by_element": (MATRIX + "map (\\i -> if i % 3 == 0 then xss[i % n] else replicate m 7) "
                        "(iota (n + 2))", [XSS]),
    "access_proved": (VECTOR + "map (\\i -> if i > 0 then xs[i - 1] else 0) (iota n)", [XS]),
    "division_proved": (VECTOR + "map (\\x -> i64.i32 x % n + i64.i32 x / (n + 1)) xs", [XS]),
    "assertion_proved": (VECTOR + "map (\\i -> if i > 3 then assert (i >= 2) xs[i] else 0) "
                         "(iota n)",
                         [XS]),
    "predicated_updates": (VECTOR + "let ys = map (+ 1) xs "
                           "in if i32.sum xs > 0 then ys with [0] = 7 else ys", [XS]),
    "predicated_scatter": (
        "entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 = loop ys = copy xs for i < n do "
        "if ys[i] > 3 then scatter ys (map (+ i) is[:n / (i + 1)]) (map i32.i64 is[:n / (i + 1)]) "
        "else ys", [XS, IS]),
    "concat_in_parts": (VECTOR + "map (+ 1) xs ++ xs", [XS]),
    "rearranged_result": (
        "entry main [n][m] (xss: [n][m]i32): [m][n][3]i32 = "
        "transpose (map (map (\\x -> [x, x + 1, x * 2])) xss)", [XSS]),
    "facts_before_loop": (
        "entry main [n] (ks: [n]i64) (t: i64): [n]i64 = loop ss = ks for i < t do "
        "map2 (\\k s -> s + i64.sum (map (* s) (iota (k / 2)))) ks ss",
        [np.array([4, 0, 7]), I64(2)]),
    "scatter_with_map": (
        "entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 = "
        "let (ks, ys) = unzip (map2 (\\x i -> (i % 3, x * 2)) xs is) "
        "let zs = scatter (replicate n 7) ks ys in scatter zs (map (+ 1) is) ys", [XS, IS]),
    "scan_backwards": (
        MATRIX + "let yss = map (\\xs -> reverse (scan (+) 0 (reverse xs))) xss "
        "in (yss, map reverse (map (scan i32.max 0) xss) |> map (map (+ 1)))", [XSS]),
    "scan_with_map": (
        VECTOR + "let ks = map (% 3) xs let ys = scan (+) 0 ks "
        "in (map3 (\\i k y -> if k == 1 then y - k else i32.i64 i) (iota n) ks ys, "
        "if n > 1 then ys[n - 1] else 5)", [XS]),
    "copy_beside": (
        "entry main [n] (xs: [n]i32) (is: [n]i64): ([n]i32, [n]i32) = "
        "let ys = scan (+) 0 xs in (ys, scatter (copy xs) is (map2 (+) xs ys))", [XS, IS]),
    "read_together": (
        VECTOR + "let ss = scan (+) 0 xs let ts = scan i32.max 0 xs "
        "let k = if n > 2 then i64.i32 ss[n - 1] else 1 let ys = tabulate k (\\i -> xs[i % n] * 2) "
        "let m = if n > 2 then i64.i32 ts[n - 1] else 2 in (ys, iota m)", [XS]),
    "fill_together": (
        "entry main [n] (xs: [n]i32) (is: [n]i64): ([n]i32, [n]i32) = "
        "(scatter (replicate n 1) is xs, scatter (replicate n 2) is (map (* 3) xs))", [XS, IS]),
    "sink_elements": (
        "entry main [n] (xs: [n]i32): [n]i32 = let ys = scan (+) 0 xs "
        "let last = if n > 3 then ys[n - 1] * 2 else 1 in map (\\y -> y % (last + 100)) ys", [XS]),
    "size_known": (VECTOR + "(n + 2) - (n + 1)", [XS]),
    "update_early": ("entry main [n] (xs: [n]i32) = loop yss = replicate n xs for i < n do "
                     "let ys = map (+ i32.i64 i) yss[i] "
                     "let (r, zs) = if i > 0 then (i32.sum ys, yss[i - 1]) else (0, xs) "
                     "let zs = map (+ r) zs let yss[i] = ys in "
                     "if i > 0 then yss with [i - 1] = zs else yss", [XS]),
    "made_in_place": ("entry main [n] (xs: [n]i32) = loop yss = replicate n xs for i < n do "
                      "yss with [i] = map (+ i32.i64 i) yss[i]", [XS]),
}
"""The same for rules that work after flattening."""
