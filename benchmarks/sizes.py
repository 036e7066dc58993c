"""Sizes of our examples for tuning, and further sizes that are held out.

Each program trains on the sizes of its anchor rows and of its test blocks.  Sizes between and
beyond them are held out.  They are meant for a GPU; on a processor every number is divided by the
row's factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compare import VOLATILITY

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a program: ``inputs`` makes the specifications of arguments from the numbers."""

    program: str
    inputs: Callable[..., list[str]]
    training: tuple[Numbers, ...]
    held_out: tuple[Numbers, ...]
    divisors: Numbers
    entry: str = "main"

    def on(self, host: bool) -> Sizes:
        """The sizes for a processor, if ``host``; sizes that become equal are kept once."""
        if not host:
            return self
        training = tuple(dict.fromkeys(map(self._smaller, self.training)))
        held_out = tuple(n for n in dict.fromkeys(map(self._smaller, self.held_out))
                         if n not in training)
        return Sizes(self.program, self.inputs, training, held_out, (), self.entry)

    def _smaller(self, numbers: Numbers) -> Numbers:
        return tuple(max(1, n // by) for n, by in zip(numbers, self.divisors, strict=True))


SIZES = (
    Sizes("matmul", lambda n, m, p: [f"[{n}][{m}]f32", f"[{m}][{p}]f32"],
          ((1024, 1024, 1024), (16, 1048576, 16), (262144, 64, 16), (32, 64, 32)),
          ((256, 256, 256), (2048, 2048, 2048), (16, 65536, 16), (64, 16384, 64),
           (32768, 64, 16), (512, 32, 2048)), (4, 4, 4)),
    Sizes("mapscan", lambda m, n: [f"[{m}][{n}]i32"],
          ((1048576, 16), (16, 1048576), (4096, 4096), (65536, 256)),
          ((262144, 64), (16384, 1024), (1024, 16384), (128, 32768), (2048, 512)), (4, 4)),
    Sizes("variant", lambda n: [f"[{n}][{n}]f32"] * 2,
          ((64,), (256,), (1024,)), ((128,), (512,), (2048,)), (4,)),
    Sizes("lud", lambda n: [f"=matrix {n}i64"],
          ((32,), (128,), (512,), (2048,)), ((64,), (256,), (1024,)), (4,)),
    Sizes("srad", lambda i, b, n: [f"{i}i32", f"[{b}][{n}][{n}]u8"],
          ((100, 1, 16), (100, 1, 1024), (100, 1024, 16)),
          ((100, 1, 128), (100, 1, 512), (100, 64, 64), (100, 256, 16)), (5, 16, 2)),
    Sizes("pathfinder", lambda b, m, n: [f"[{b}][{m}][{n}]i32"],
          ((1, 100, 100000), (1, 100, 1000000), (256, 100, 256)),
          ((1, 100, 10000), (1, 100, 300000), (64, 100, 1024), (1024, 100, 128)), (4, 4, 4)),
    Sizes("nbody", lambda n: ["1i32", "0.01f32", *[f"[{n}]f32"] * 7],
          ((1000,), (10000,), (100000,)), ((3000,), (30000,), (60000,)), (10,)),
    Sizes("mandelbrot", lambda w, h: [f"{w}i64", f"{h}i64", "255i32", "-2f32", "-1f32", "1f32",
                                      "1f32"],
          ((256, 256), (2048, 2048), (64, 16384)), ((512, 512), (1024, 1024), (8192, 64)), (4, 4)),
    Sizes("hotspot", lambda i, n: [f"{i}i32", *[f"[{n}][{n}]f32"] * 2],
          ((360, 64), (360, 512), (360, 1024)), ((360, 128), (360, 256), (360, 2048)), (18, 2)),
    Sizes("sgemm", lambda m, k, n: ["0.5f32", f"[{m}][{k}]f32", f"[{k}][{n}]f32", "2f32",
                                    f"[{m}][{n}]f32"],
          ((1024, 992, 1056), (16, 262144, 16), (65536, 64, 16)),
          ((512, 512, 512), (2048, 512, 256), (16, 32768, 16), (16384, 64, 16), (64, 64, 64)),
          (4, 4, 4)),
    Sizes("backprop", lambda n, h: [f"[{n}]f32", "[1]f32",
                                    *[f"[{n + 1}][{h}]f32", f"[{h + 1}][1]f32"] * 2],
          ((16384, 16), (1048576, 16), (4096, 1024)),
          ((65536, 16), (262144, 16), (16384, 128), (1024, 64)), (4, 2)),
    Sizes("nw", lambda m, n: ["10i32", f"[{m}][{n}]i32"],
          ((1024, 1024), (3072, 3072), (64, 16384)), ((512, 512), (2048, 2048), (256, 8192)),
          (4, 4)),
    Sizes("mri-q", lambda k, n: [*[f"[{k}]f32"] * 5, *[f"[{n}]f32"] * 3],
          ((2048, 262144), (3072, 32768), (1048576, 64)),
          ((2048, 65536), (2048, 131072), (65536, 1024), (16384, 4096)), (8, 16)),
    Sizes("stencil", lambda i, p, m, n: [f"{i}i32", "0.1666667f32", "0.0277778f32",
                                         f"[{p}][{m}][{n}]f32"],
          ((100, 64, 512, 512), (100, 128, 128, 128), (100, 3, 64, 64)),
          ((100, 64, 256, 256), (100, 16, 128, 128), (100, 8, 512, 512)), (10, 1, 4, 4)),
    Sizes("tpacf", lambda n, s: [*[f"[{n}]f64"] * 2, *[f"[{s}][{n}]f64"] * 2],
          ((512, 100), (4096, 100), (16384, 1)), ((1024, 100), (2048, 32), (8192, 1)), (8, 4)),
    Sizes("LocVolCalib", lambda s, t, x, y: [f"{s}i64", f"{t}i64", f"{x}i64", f"{y}i64",
                                             *VOLATILITY],
          ((16, 32, 256, 256), (128, 256, 32, 64), (256, 256, 256, 64)),
          ((32, 64, 128, 128), (64, 128, 64, 64), (512, 64, 32, 32), (8, 64, 512, 256)),
          (4, 16, 4, 4)),
    Sizes("OptionPricing", lambda p, d, u: [f"{p}i64", f"{d}i64", f"{u}i64"],
          ((8388608, 1, 1), (1048576, 5, 3), (131072, 367, 3)),
          ((2097152, 1, 1), (262144, 5, 3), (131072, 64, 3), (16384, 367, 3)), (64, 1, 1),
          "synthetic"),
    Sizes("lavaMD", lambda n, p: [f"{n}i64", "0.5f32", *[f"[{n**3}][{p}]f32"] * 5],
          ((3, 100), (10, 100), (2, 1024)), ((5, 100), (7, 100), (4, 256)), (1, 4)),
    Sizes("bfast", lambda p, n, h: ["3i64", f"{h}i64", "12f32", "0.25f32", "1.736f32",
                                    f"[{p}][{n}]f32"],
          ((16384, 414, 228), (4096, 235, 113), (16, 4096, 2000)),
          ((8192, 300, 150), (1024, 414, 228), (128, 2048, 1000), (32768, 235, 113)), (8, 2, 2)),
    Sizes("heston", lambda m, g, x, q: ["1i32", f"{m}i64", f"{g}i64", f"{x}i64", "1f64",
                                        "0.02f64", *[f"[{q}]f64"] * 3],
          ((256, 4, 128, 2000), (8192, 4, 64, 32), (32, 4, 64, 8)),
          ((64, 4, 128, 1000), (1024, 4, 64, 100), (16, 4, 128, 4000)), (8, 2, 2, 8)),
    Sizes("kmeans", lambda k, i, n, d: [f"{k}i64", f"{i}i32", f"[{n}][{d}]f32"],
          ((5, 20, 4096, 34), (5, 20, 100000, 34), (5, 20, 494019, 34)),
          ((5, 20, 16384, 34), (5, 20, 262144, 34), (16, 20, 65536, 8)), (1, 4, 8, 1)),
    Sizes("conv1d", lambda n, m: [f"[{n}]f32", f"[{m}]f32"],
          ((32767, 16384), (131071, 65536), (1048576, 64)),
          ((65535, 32768), (262144, 1024), (16384, 256)), (16, 16)),
    Sizes("conv2d", lambda n, m: [f"[{n}][{n}]f32", f"[{m}][{m}]f32"],
          ((767, 256), (1279, 256), (1024, 5)), ((511, 128), (2048, 9), (256, 32)), (4, 4)),
    Sizes("coulomb", lambda n, m: [*[f"{n}i64"] * 3, "0.1f32", *[f"[{m}]f32"] * 4],
          ((32, 2048), (64, 4096), (16, 65536)), ((48, 2048), (96, 512), (8, 131072)), (4, 4)),
    Sizes("syrk", lambda n, m: ["0.5f32", f"[{n}][{m}]f32", "2f32", f"[{n}][{n}]f32"],
          ((1024, 1024), (32, 65536), (2048, 64)), ((512, 512), (64, 16384), (1024, 32)), (4, 4)),
)
