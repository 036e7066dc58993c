"""Codes of mistakes in the text of a program."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

_MANY = "\n".join("  | " + " | ".join(f"#c{n}" for n in range(start, start + 16))
                  for start in range(0, 256, 16))
_TUPLES = "".join(f"type v{10 * size} = ({', '.join([f'v{size}'] * 10)})\n"
                  for size in (1, 10, 100, 1000, 10_000))

CODES = (
    Explanation(
        "syntax-error", "the text is not a program",
        "The reader came to a word or sign that cannot stand at this place.  The mistake is there "
        "or before it, often a missing bracket, 'in', 'then' or '='.  The hint lists what could "
        "have stood there, when that is a short list.",
        wrong="""\
entry main (x: i32): i32 =
  let y = x + 1
  let z = y * )
  in z
""", cure="""\
entry main (x: i32): i32 =
  let y = x + 1
  let z = y * x
  in z
"""),
    Explanation(
        "unsupported-feature", "a part of the language that Runelift does not have",
        "Futhark has this, Runelift does not: sizes of type abbreviations that are computed from "
        "other values than integers, for example.",
        wrong="""\
def h (b: bool) = 3i64
type t [n] = [h (n > 2)]i32
entry main (x: i32): i32 = x
""", cure="""\
type t [n] = [n]i32
entry main (x: i32): i32 = x
"""),
    Explanation(
        "no-derivative", "a derivative that no rule gives",
        "jvp and vjp go through all of the language but this: gamma and lgamma, functions that "
        "call themselves, writes with another operator than +, and in reverse mode loops that "
        "carry arrays of changing size, and writes without an operator.  A name that does not "
        "vary with the argument may do any of it.  The exit status is 2: the mistake is not yours.",
        wrong="""\
-- ==
-- input { 1.5 } output { 0.1 }
entry main (x: f64): f64 = vjp f64.gamma x 1
""", cure="""\
-- ==
-- input { 0.0 } output { 1.0 }
entry main (x: f64): f64 = vjp f64.exp x 1
"""),
    Explanation(
        "constant-derivative", "a derivative that is always zero (a warning)",
        "Comparisons, roundings, bits, sizes and conversions from floats to integers have the "
        "derivative zero.  Here each path from the argument of jvp or vjp to the result goes "
        "through one of them, or there is no path: a name that the function does not get as its "
        "argument is a constant.",
        wrong="""\
entry main (xs: []f64) (w: f64): f64 = vjp (\\_ -> f64.sum (map (* w) xs)) w 1
""", cure="""\
entry main (xs: []f64) (w: f64): f64 = vjp (\\w -> f64.sum (map (* w) xs)) w 1
"""),
    Explanation(
        "custom-adjoint-captures", "a name that an adjoint of with_vjp leaves out (a warning)",
        "with_vjp f f' x has the adjoint f' by x alone.  Here f reads another name that varies "
        "with the argument of vjp, and what comes to the result by this name is not part of the "
        "derivative.  Let x be a tuple with all that varies, or leave it out on purpose.",
        wrong="""\
def scaled (w: f64) (x: f64) = with_vjp (\\x -> x * w) (\\_ y -> y * w) x

entry main (w: f64) (x: f64) = vjp (\\(w, x) -> scaled w x) (w, x) 1
""", cure="""\
def scaled (w: f64) (x: f64) =
  with_vjp_tape (\\(x, w) -> ((x, w), x * w)) (\\((x, w), y) -> (y * w, y * x)) (x, w)

entry main (w: f64) (x: f64) = vjp (\\(w, x) -> scaled w x) (w, x) 1
"""),
    Explanation(
        "literal-out-of-range", "a number that does not fit its type",
        "Computations wrap around silently, but a number that is written down must be one of its "
        "type: 0 to 255 for u8, for example.  Use a larger type, or a number that fits.",
        wrong="""\
entry main (x: u8): u8 = x + 300
""", cure="""\
entry main (x: u8): u16 = u16.u8 x + 300
"""),
    Explanation(
        "unknown-attribute", "an unknown attribute (a warning)",
        "An attribute #[...] asks for something that does not change what a program means, so one "
        "that Runelift does not know is ignored.  The warning is there because the name may be "
        "misspelt.",
        wrong="""\
entry main (xs: []f32): []f32 = #[sequentail] map (* 2) xs
""", cure="""\
entry main (xs: []f32): []f32 = #[sequential] map (* 2) xs
"""),
    Explanation(
        "hole", "a gap in a program (a warning)",
        "??? stands for an expression that is still to be written.  The rest of the program is "
        "checked, and the warning says which type belongs there.  A run that comes to it fails.",
        wrong="""\
entry main [n] (xs: [n]f32): f32 = reduce (+) 0 (map ??? xs)
""", cure="""\
entry main [n] (xs: [n]f32): f32 = reduce (+) 0 (map (\\x -> x * x) xs)
"""),
    Explanation(
        "too-large", "a program without mistakes that is too large for Runelift",
        "Calls are inlined, and each component of a tuple, record or sum type becomes a variable.  "
        "The program may then have at most 200,000 statements and a million calls, and a value at "
        "most 100,000 components.  Use loops instead of repeated calls, and arrays instead of "
        "tuples.  A run may be too large, too: a map has at most 2^31 - 1 rows of different "
        "lengths, and calls side by side must fit into device memory.  The exit status is 2: the "
        "mistake is not yours.",
        wrong=f"type v1 = i32\n{_TUPLES}entry main (v: (v100000, v100000)): i32 = v.0.0.0.0.0.0\n",
        cure="""\
entry main (v: [200000]i32): i32 = v[0]
"""),
    Explanation(
        "too-many-constructors", "a sum type with more than 256 constructors",
        "The constructor of a value is kept in one byte, so a sum type has at most 256 of them.  "
        "Use a number, or a constructor that has one.",
        wrong=f"type t =\n  {_MANY[4:]} | #c256\n\nentry main (x: t): bool = x == #c7\n",
        cure="""\
type t = #c i32

entry main (x: t): bool = x == #c 7
"""),
)
