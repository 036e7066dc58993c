"""Call a function of the language on NumPy arrays in a notebook, and see where the time goes.

Editors that know cells (VS Code, Spyder, PyCharm) run this file as a notebook.
"""

# %% 1. Write a function in the language as a cell of Python; see "centred"
import numpy as np

import runelift

program = runelift.compile(r"""
-- | The elements of each row, less the mean of the row.
entry centred [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\xs -> let mean = f32.sum xs / f32.i64 m in map (\x -> x - mean) xs) xss
""")
program.centred

# %% 2. See its documentation, names and types; see "less the mean of the row", "xss"
help(program.centred)

# %% 3. Call it on float64 (an error is meant); see "[2000][500]f64", "xss.astype(np.float32)"
xss = np.random.default_rng(1).random((2000, 500))
program.centred(xss)

# %% 4. Cure it as the message says, and compare with NumPy; see "True"
rows = xss.astype(np.float32)
np.allclose(program.centred(rows), rows - rows.mean(axis=1, keepdims=True), atol=1e-5)

# %% 5. Keep arrays on the device between calls; see "DeviceArray [2000][500]f32"
there = program.to_device(rows)
for _ in range(5):
    there = program.centred(there, device_arrays=True)
there

# %% 6. Take the result when it is needed; see "float32"
there.get().dtype

# %% 7. See which version ran in each call, and for how long; see "V", "time"
program.recording = True
program.centred(there, device_arrays=True)
program.recording = False
program.records.to_pandas(choices=True)[["entry", "version", "time"]]

# %% 8. See where the time goes: kernels, memory, the host; see "of peak", "kernel"
runelift.profile(program.centred, there, all_versions=True)
