"""A wave on a string, step by step: calls that hand arrays to each other on the device.

``python examples/waves.py [--device NAME] [--steps N]``

Each step is a call.  Its arrays stay on the device, and only the energy, a scalar, comes back.
"""

from __future__ import annotations

import argparse

import numpy as np

import runelift

PROGRAM = """
-- The next heights of a string, from the present ones and those before.
entry step [n] (before: [n]f32) (now: [n]f32): [n]f32 =
  tabulate n (\\i ->
    let left = if i > 0 then now[i - 1] else 0
    let right = if i < n - 1 then now[i + 1] else 0
    in 2 * now[i] - before[i] + 0.25 * (left - 2 * now[i] + right))

-- The energy of a string: of its motion, and of its tension.
entry energy [n] (before: [n]f32) (now: [n]f32): f32 =
  let motion = map2 (\\a b -> (b - a) ** 2) before now
  let tension = tabulate n (\\i ->
    let next = if i < n - 1 then i + 1 else i
    in 0.25 * (now[next] - now[i]) * (before[next] - before[i]))
  in f32.sum motion + f32.sum tension
"""


def main() -> None:
    """Print the energy ten times."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    program = runelift.compile(PROGRAM, device=options.device)
    places = np.linspace(0, 1, 10_000, dtype=np.float32)
    string = np.exp(-1000 * (places - 0.5) ** 2)
    before = now = program.to_device(string)  # from here on, arrays are on the device
    for number in range(options.steps):
        if number % max(1, options.steps // 10) == 0:
            print(f"step {number:6}  energy {program.energy(before, now):.6f}")
        before, now = now, program.step(before, now, device_arrays=True)
    heights = now.get()  # a NumPy array
    print(f"the highest place is {places[heights.argmax()]:.3f} of the way, {heights.max():.3f}")


if __name__ == "__main__":
    main()
