#!/usr/bin/env bash
# Add a simplification rule and a primitive to Runelift, as CONTRIBUTING.md says, and test them.
# Run it in an empty folder.  Each step says what you want, and what you see then.
set -eu
clone=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# 1. Take a copy to work in; its code is what Python imports (pip install -e '.[test]' does that for good).
git clone --quiet "$clone" mine
cd mine
export PYTHONPATH=$PWD/.typing

# 2. See that the law is new: the program keeps both operations; see "or.i32", "and.i32".
echo 'entry main (x: i32) (y: i32) = x & (x | y)' > ../absorbed.fut
runelift dump --stage opt ../absorbed.fut

# 3. Write the rule in front of the book of its file, and add it to the book.
cat > ../rule.py <<'PYTHON'
@rule(PrimOp, ops=("and", "or"))
def absorption(scope: Scope, stm: Stm) -> Replacement:
    """x & (x | y) ⇒ x,  x | (x & y) ⇒ x

    Because: bits that are in x are in x | y, too, and those in x & y are in x.
    """
    match stm.exp:
        case PrimOp("and" | "or" as name, _, (x, y)):
            for one, other in ((x, y), (y, x)):
                match scope.exp(other):
                    case PrimOp("and" | "or" as inner, _, args) if inner != name and one in args:
                        return AtomExp(one)
    return None


PYTHON
sed -i -e '/^ALGEBRA = /e cat ../rule.py' -e 's/gather_constants, cancel,/absorption, &/' rewrite/rules/algebra.py

# 4. See that tests ask for a program that makes it fire; see "Extra items in the left set", "absorption".
! python -m pytest -q tests/rewrite/rules/test_rules.py -k "every_rule"

# 5. Write this program.
sed -i '/^    "cancel": /i \    "absorption": (ONE + "(x \& (x | y)) + (x | (x \& y))", [X, Y]),' tests/rewrite/rules/reach.py

# 6. Test the rule: alone, with the others, without it, and on programs nearby; see "5 passed".
python -m pytest -q --sweeps tests/rewrite/rules -k "absorption or every_rule_has"

# 7. Find the tests that a wrong law breaks; see "(x | (x | y))", "FAILED", "keep_their_meaning[absorption]".
sed -i 's/inner != name and one in args/one in args/' rewrite/rules/algebra.py
! python -m pytest -q --sweeps tests/rewrite/rules -k absorption

# 8. Put the law right again, and look at it in the program; see "(x_1)".
sed -i 's/_, args) if one in args/_, args) if inner != name and one in args/' rewrite/rules/algebra.py
runelift dump --stage opt ../absorbed.fut

# 9. Add a primitive, 2 to the power of x: its row of operands, and the row that says what it computes.
sed -i '/^    _row("exp", 1, FLOATS),/a \    _row("exp2", 1, FLOATS),' ir/prim.py
sed -i '/^    "exp": np.exp,/a \    "exp2": np.exp2,' ir/meaning.py

# 10. Run it: programs know it, as functions of floats get their type by themselves; see "[8.0f32]".
echo 'entry main [n] (xs: [n]f32) = map f32.exp2 xs' > ../exp2.fut
echo '[3f32]' | runelift run ../exp2.fut

# 11. Compare its code on the device with what it computes; see "passed".
python -m pytest -q tests/codegen/emit/test_opencl.py

# 12. Run the quick checks: style, types, and the tests beside what changed; see "All checks passed", "Success", "passed".
python -m ruff check .
python -m mypy
python -m pytest -q tests/rewrite/rules/test_rules.py tests/ir/test_integers.py
