#!/usr/bin/env bash
# Ask why a flattening rule did not fire, switch one off, and add a rewrite rule of your own.
# Run it in an empty folder.  Each step says what you want, and what you see then.
set -eu

# 1. Write a nest: each row goes through a loop, and a row with small elements stays as it is.
cat > nest.fut <<'PROGRAM'
-- ==
-- "small" random input { 3i64 [5][7]i32 }
-- "many rows" notest random input { 10i64 [20000][16]i32 }
-- "few rows" notest random input { 10i64 [4][80000]i32 }
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> let ys = loop xs for _i < k do
                let most = i32.maximum xs in map (\x -> x / 2 + (most & (most | x))) xs
              in if i32.sum ys > 9 then map (+ 1) ys else xs) xss
PROGRAM

# 2. Ask which rules fired, and why others did not; see "G7  loop", "not G8", "its condition differs".
runelift explain nest.fut

# 3. Read the rule that did not fire; see "c invariant to Σ".
runelift rules G8

# 4. See all steps as a page, each with the rules that did not fire; see "nest.html".
runelift explain nest.fut --html

# 5. Learn which versions there are; see "V2 (intra)", "V3 (flat)".
runelift dump --stage tree nest.fut

# 6. Switch rules off: without G7 and G20 the loop stays inside of its work-item; see "G0  loop".
runelift explain nest.fut --disable G7 --disable G20

# 7. Compare the versions' times; see "few rows: a call takes", "beside default".
runelift profile nest.fut --all-versions --only few

# 8. Compare them with the program without G7; see "few rows".
runelift bench nest.fut --only few --disable G7

# 9. Write a rewrite rule in a package: a module, and an entry point that names the rule.
mkdir lattice
cat > lattice/pyproject.toml <<'TOML'
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "lattice"
version = "1.0"

[tool.setuptools]
py-modules = ["lattice"]

[project.entry-points."runelift.rules"]
absorb_or = "lattice:absorb_or"
TOML
cat > lattice/lattice.py <<'PYTHON'
from runelift.ir.syntax import AtomExp, PrimOp, Stm
from runelift.rewrite.engine.rule import Replacement, rule
from runelift.rewrite.engine.scope import Scope


@rule(PrimOp, ops=("and",))
def absorb_or(scope: Scope, stm: Stm) -> Replacement:
    """x & (x | y) ⇒ x

    Because: bits that are in x are in x | y, too.
    """
    match stm.exp:
        case PrimOp("and", _, (x, y)):
            for one, other in ((x, y), (y, x)):
                match scope.exp(other):
                    case PrimOp("or", _, args) if one in args:
                        return AtomExp(one)
    return None
PYTHON

# 10. Install it, here beside the program; see "absorb_or", "x & (x | y) ⇒ x".
python -m pip install --quiet --target packages ./lattice
export PYTHONPATH=packages
runelift rules "package lattice"

# 11. See that it fires, and on what; see "absorb_or:", "fired 1 time".
runelift explain nest.fut --trace-rule absorb_or

# 12. Check it: every version must agree with the interpreter, which uses no rules; see "1 passed, 0 failed".
runelift test nest.fut --all-versions

# 13. Try a wrong law, x & (x | y) ⇒ y: it is found; see "FAILED", "should be".
sed -i 's/return AtomExp(one)/return AtomExp(args[1 - args.index(one)])/' packages/lattice.py
! runelift test nest.fut --all-versions
