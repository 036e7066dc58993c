#!/usr/bin/env bash
# Prepare a lesson for laptops without a GPU, and check what pupils hand in.
# Run it in an empty folder.  Each step says what you want, and what you see then.
set -eu
clone=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# 1. Install Runelift and what runs notebooks, unless they are there; see "runelift 0.1".
runelift --version || python -m pip install "$clone"
python -c 'import hypothesis, ipykernel, nbclient' 2> /dev/null || python -m pip install hypothesis notebook

# 2. See if a laptop is ready: a device for the CPU is enough; see "usable", "Programs run on".
runelift doctor

# 3. Run a lesson from the first cell to the last, as pupils will; see "Executing notebook".
cp "$clone/docs/lessons/02-nested-parallelism.ipynb" lesson.ipynb
jupyter execute lesson.ipynb

# 4. Give an exercise: a file with a gap for pupils, and tests in a file of yours.
mkdir -p exercise answers/ada answers/ben answers/eve
cat > exercise/answer.fut <<'PROGRAM'
-- The mean of the elements of each row.
def means [n][m] (xss: [n][m]f32): [n]f32 = ???
PROGRAM
cat > exercise/check.fut <<'PROGRAM'
import "answer"

-- ==
-- entry: rows
-- input { [[1f32, 3f32], [5f32, 6f32]] } output { [2f32, 5.5f32] }
-- input { [[7f32]] } output { [7f32] }
-- "many rows" notest random input { [100000][16]f32 }
entry rows [n][m] (xss: [n][m]f32): [n]f32 = means xss

-- Equal elements have themselves as their mean.
-- ==
-- property: equal_elements
#[prop]
entry equal_elements (x: i8): bool = means [replicate 4 (f32.i8 x)] == [f32.i8 x]
PROGRAM

# 5. See what pupils see before they begin; see "answer.fut:2:45", "Reached hole".
! runelift test --interpreter exercise/check.fut

# 6. Collect the answers: one right, one wrong, one with a mistake in its types.
cp exercise/check.fut answers/ada; cp exercise/check.fut answers/ben; cp exercise/check.fut answers/eve
echo 'def means [n][m] (xss: [n][m]f32): [n]f32 = map (\xs -> f32.sum xs / f32.i64 m) xss' > answers/ada/answer.fut
echo 'def means [n][m] (xss: [n][m]f32): [n]f32 = map (\xs -> f32.sum xs / 2) xss' > answers/ben/answer.fut
echo 'def means [n][m] (xss: [n][m]f32): [n]f32 = map (\xs -> f32.sum xs / m) xss' > answers/eve/answer.fut

# 7. Check them all; see "ada/check.fut: 3 passed, 0 failed", "should be 7.0f32", "Convert it: f32.i64 m".
! runelift test --interpreter answers/*/check.fut

# 8. Show each step of the right answer as a page: source, rules, versions, kernels; see "means.html".
runelift explain answers/ada/check.fut --html means.html

# 9. Show where its time goes, with a roofline and a timeline; see "of peak", "times.html".
runelift profile answers/ada/check.fut --entry rows --html times.html

# 10. Show what tuning it finds, with charts; see "best version", "tuning.html".
runelift autotune answers/ada/check.fut --entry rows --effort quick --html tuning.html
