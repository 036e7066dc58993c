#!/usr/bin/env bash
# Write a data-parallel program, cure a mistake in it, test it, and tune it for your data.
# Run it in an empty folder.  Each step says what you want, and what you see then.
set -eu
clone=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# 1. Install Runelift, unless it is there; see "runelift 0.1".
runelift --version || python -m pip install "$clone"

# 2. Write a program: sums of the positive elements of rows, with a test and two shapes of data.
cat > sums.fut <<'PROGRAM'
-- Sums of the positive elements of the rows of a matrix.
-- ==
-- input { [[1f32, -2f32, 3f32], [-4f32, 5f32, 6f32]] }
-- output { [4f32, 11f32] }
-- "short rows" notest random input { [100000][8]f32 }
-- "long rows" notest random input { [2][400000]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> f32.sum (map (\x -> if x > 0 then x else 0) xss)) xss
PROGRAM

# 3. Check it before it runs; see "sums.fut:8:38: error[type-mismatch]", "found [m]f32".
! runelift check sums.fut

# 4. Understand the mistake: x is a row, as xss stands where xs is meant; see "Without the mistake:".
runelift explain type-mismatch

# 5. Cure it: the inner map is over xs.
sed -i 's/else 0) xss/else 0) xs/' sums.fut

# 6. Run it on values; see "[4.0f32]".
echo '[[1, -2, 3]]' | runelift run sums.fut

# 7. Test it, in every version; see "1 passed, 0 failed".
runelift test sums.fut --all-versions

# 8. Learn which versions there are, and when each runs; see "V1 (outer)", "V3 (flat)".
runelift dump --stage tree sums.fut

# 9. Find the fastest version for each shape of data; see "short rows: a call takes", "beside default".
runelift profile sums.fut --all-versions

# 10. Tune it, and see what was gained, and how certain that is; see "best version", "Written: sums.fut.tuning".
runelift autotune sums.fut --html sums.html

# 11. Time it again: the tuning is used from now on; see "short rows", "long rows".
runelift bench sums.fut
