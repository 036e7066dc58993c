"""Entry points as functions of PyTorch; without PyTorch nothing of this is tested."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.programs.program import Program

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TEXT = """
entry cost [n] (xs: [n]f64) (w: f64) = f64.sum (map (\\x -> f64.sin (x - w) * x) xs)
entry sums [n] (xs: [n]f64) = scan (+) 0 (map (\\x -> x * x) xs)
entry product [n][m][k] (a: [n][m]f64) (b: [m][k]f64) =
  map (\\row -> map (\\col -> f64.sum (map2 (*) row col)) (transpose b)) a
entry gathered [n][m] (xs: [n]f64) (is: [m]i64) = map (\\i -> f64.exp xs[i % n]) is
entry steps (n: i64) (x: f64) = loop x for _i < n do f64.cos x * x
entry both [n] (xs: [n]f64) = (f64.product xs, n, map f64.tanh xs)
entry changed [n] (xs: *[n]f64) = xs with [0] = 1
entry loss [n][d] (w: [d]f32) (xs: [n][d]f32) (ys: [n]f32) =
  f32.sum (map2 (\\x y -> (f32.sum (map2 (*) w x) - y) ** 2) xs ys) / f32.i64 n
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile(TEXT, device="Portable")


def tensor(*shape: int, grad: bool = True) -> Any:
    torch.manual_seed(len(shape))
    return torch.rand(shape, dtype=torch.float64, requires_grad=grad)


CASES = {"cost": lambda: (tensor(5), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)),
         "sums": lambda: (tensor(6),), "product": lambda: (tensor(3, 4), tensor(4, 2)),
         "gathered": lambda: (tensor(4), torch.tensor([0, 3, 3, 1, 6])),
         "steps": lambda: (5, tensor()), "both": lambda: (tensor(4),)}


@pytest.mark.parametrize("name", CASES)
def test_gradients_pass_the_check_twice(program: Program, name: str) -> None:
    called, args = program[name].torch(), CASES[name]()

    def function(*args: Any) -> Any:  # the checks take no integers
        found = called(*args)
        return found if isinstance(found, torch.Tensor) else found[::2]
    assert torch.autograd.gradcheck(function, args)
    assert torch.autograd.gradgradcheck(function, args)


def test_integers_have_no_gradient(program: Program) -> None:
    product, number, tanhs = program.both.torch()(tensor(3))
    assert (product.requires_grad, number.requires_grad, tanhs.requires_grad) == (True, False, True)
    assert number.dtype == torch.int64


def test_strided_tensors_are_copied_and_inputs_unchanged(program: Program) -> None:
    whole = tensor(8, grad=False)
    xs = whole[::2].requires_grad_()
    before = xs.clone()
    program.changed.torch()(xs).sum().backward()
    assert torch.equal(xs, before)
    assert xs.grad.tolist() == [0, 1, 1, 1]


def test_plain_calls_name_the_cure(program: Program) -> None:
    with pytest.raises(runelift.ArgumentError, match=r"\.torch\(\)"):
        program.sums(tensor(3))
    with pytest.raises(runelift.ArgumentError, match=r"torch\.bfloat16"):
        program.sums.torch()(tensor(3).to(torch.bfloat16))


def test_a_thousand_steps_train_and_do_not_grow(program: Program) -> None:
    random = np.random.default_rng(1)
    xs = torch.from_numpy(random.random((64, 3), np.float32))
    ys = xs @ torch.tensor([1.0, -2.0, 0.5])
    w = torch.zeros(3, requires_grad=True)
    loss, steps = program.loss.torch(), torch.optim.SGD([w], lr=0.5)
    live = []
    for number in range(1000):
        steps.zero_grad()
        loss(w, xs, ys).backward()
        steps.step()
        if number in (99, 999):
            gc.collect()
            live.append((program.device.pool.allocated, len(gc.get_objects()) // 2000))
    assert all(late <= early for early, late in zip(*live, strict=True))
    torch.testing.assert_close(w.detach(), torch.tensor([1.0, -2.0, 0.5]), rtol=1e-3, atol=1e-3)
