"""Do the programs of docs/findings still show what the page says of them?"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import engine_version, find_adapter
from refgrad.native.engine import start
from refgrad.scenario import parse

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"

SHARED_MEMORY = """
a = leaf float64[] {0x1p+0} requires_grad
b = leaf float64[] {0x1p+0} requires_grad
c = stack a b axis=0
d = sum c
backward d
backward a
read grad b
"""


@pytest.mark.engines
def test_the_oracle_proves_the_findings_on_pytorch() -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    if version("torch").partition("+")[0] != "2.13.0":
        pytest.skip("the findings are about PyTorch 2.13.0")
    torch = start(find_adapter("torch"))
    found = examine(parse(SHARED_MEMORY), torch)
    assert (found.outcome, found.step) == ("wrong", 7)
    behaviours = {behaviour.id: behaviour for behaviour in all_behaviours()}
    assert examine(behaviours["contracts/gradients_of_leaves_are_apart"].scenarios[-1], torch).outcome == "wrong"
    seeded = behaviours["contracts/seeds_stay_as_they_are"].scenarios
    assert [examine(s, torch, seeds=True).outcome for s in seeded] == ["wrong", "passed", "passed"]
    assert [examine(s, torch).outcome for s in seeded] == ["passed"] * 3


JAX_PROGRAMS = {
    "jax_gradient_of_a_singular_determinant.py": "gradient at x[2, 2]: 0.0\n",
    "jax_gradient_of_hypot_of_large_and_small_numbers.py": "slope at (1e20, 1e20) in float32: 1.060660\n",
    "jax_bessel_functions_at_zero.py": "jax.scipy.special.i0 at 0: slope 1.0 for 0, second derivative 1.5 for 0.5\n",
    "jax_erfcx_is_zero_in_between.py": "erfcx(26.6) = 0.0000000 for 0.0211952",
    "jax_log_ndtr_of_numbers_below_eight.py": "off by 3e-02\n",
    "jax_derivatives_near_zero.py": "slope of jax.numpy.sinc at 1e-9: 0 for -3.29e-09\n",
}
"""What each program prints, among other lines, of what is wrong."""

WRONG_IN_JAX = {
    "det": "x = leaf float64[4, 4] {0x1p+0 0x0p+0 0x0p+0 0x0p+0 0x0p+0 0x1p+1 0x0p+0 0x0p+0 0x0p+0 0x0p+0 0x0p+0 "
    "0x0p+0 0x0p+0 0x0p+0 0x0p+0 0x1.8p+1} requires_grad\na = det x\nbackward a\nread grad x\n",
    "hypot": "x = leaf float64[] {0x1p+600} requires_grad\na = hypot x x\nbackward a\nread grad x\n",
    "i1": "x = leaf float64[] {0x0p+0} requires_grad\na = i1 x\ng = grad a x\nbackward g\nread grad x\n",
    "erfcx": "x = leaf float64[] {0x1.a9999999999a0p+4} requires_grad\na = erfcx x\nbackward a\nread grad x\n",
    "log_ndtr": "x = leaf float64[] {0x1.ep+2} requires_grad\na = log_ndtr x\nread value a\n",
    "sinc": "x = leaf float64[] {0x1.12e0be826d695p-30} requires_grad\na = sinc x\nbackward a\nread grad x\n",
}


@pytest.mark.engines
@pytest.mark.parametrize("program", JAX_PROGRAMS)
def test_the_programs_on_jax_show_what_is_wrong(program: str) -> None:
    pytest.importorskip("jax", reason="needs refgrad[jax]")
    if version("jax") != "0.10.2":
        pytest.skip("the findings are about JAX 0.10.2")
    assert "refgrad" not in (FINDINGS / program).read_text().split('"""')[2]
    printed = subprocess.run([sys.executable, FINDINGS / program], capture_output=True, text=True, check=True).stdout
    assert JAX_PROGRAMS[program] in printed


@pytest.mark.engines
@pytest.mark.parametrize("operator", WRONG_IN_JAX)
def test_the_oracle_proves_the_findings_on_jax(operator: str) -> None:
    pytest.importorskip("jax", reason="needs refgrad[jax]")
    if version("jax") != "0.10.2":
        pytest.skip("the findings are about JAX 0.10.2")
    scenario = parse(WRONG_IN_JAX[operator])
    assert examine(scenario, start(find_adapter("jax"))).outcome == "wrong"
    assert examine(scenario, start(find_adapter("refgrad"))).outcome == "passed"


PROGRAMS = {
    "mygrad_cleared_graph_is_walked_silently.py": "z made before y.backward(): InvalidBackprop\n"
    "z made after it: no error, x.grad = 4.0, but dz/dx = 20.0\n",
    "mygrad_write_to_a_constant_loses_the_gradient.py": "buffer = [4.0, 0.0], loss = 4.0, x.grad = None, "
    "but d loss / dx = 4.0\n",
    "mlx_vmap_drops_the_rule_of_a_custom_function.py": ""
    "gradient by the rule, cos x: [0.07069999724626541, 0.8775999546051025]\n"
    "gradient of the mapped function, 2 x: [3.0, -1.0]\n",
    "paddle_assign_keeps_the_old_gradient.py": "y = [5.0, 5.0]; x.grad after assign: [2.0, 4.0]\n"
    "y = [5.0, 5.0]; x.grad after y[:] = ...: [0.0, 0.0]\n",
    "paddle_lerp_has_no_gradient_of_its_weight.py": "x.grad = [0.75, 0.5], y.grad = [0.25, 0.5], weight.grad = None, "
    "due [2.0, 3.0]\nrequires grad by its weight alone: False\n",
    "paddle_refused_write_is_made.py": "add_ is refused; the leaf was [1.0, 2.0] and is [4.0, 5.0]\n"
    "multiply_ is refused; the leaf was [4.0, 5.0] and is [12.0, 15.0]\n",
    "paddle_solve_with_a_constant_kills_the_process.py": "a is constant: False, b is constant: False, exit status: 0\n"
    "a is constant: True, b is constant: False, exit status: -11\n"
    "a is constant: False, b is constant: True, exit status: -11\n",
    "paddle_write_to_a_part_loses_the_gradient.py": "y = [6.0, 4.0]; x.grad = [2.0, 2.0], due [6.0, 2.0]; "
    "k.grad = None, due 2.0\n"
    "y[0] *= k is refused: used in gradient computation has been modified by an inplace operation\n",
    "pytorch_backward_writes_to_its_seed.py": "after 1 backward calls: x.grad = [1.0, 1.0], seed = [1.0, 1.0]\n"
    "after 2 backward calls: x.grad = [2.0, 2.0], seed = [2.0, 2.0]\n"
    "after 3 backward calls: x.grad = [4.0, 4.0], seed = [4.0, 4.0]\n"
    "x.grad and the seed share their memory: True\n",
    "pytorch_derivatives_near_zero.py": "torch.sinc at 1e-09: derivative of order 1 is 0 for -3.29e-09\n"
    "torch.sinc at 1e-09: derivative of order 2 is 0 for -3.29\n"
    "torch.special.i1 at 1e-09: derivative of order 1 is 0.5 for 0.5\n"
    "torch.special.i1 at 1e-09: derivative of order 2 is -5.96e-08 for 3.75e-10\n"
    "torch.special.i1 at 1e-09: derivative of order 3 is 256 for 0.375\n",
    "pytorch_gradient_that_cannot_be_added_to.py": "gradients after one backward: 0.0 1.0\n"
    "the second backward: ZeroTensors are immutable\n"
    "x.grad.add_(1): ZeroTensors are immutable\n",
    "pytorch_leaf_gradients_share_memory.py": "b.grad after d(a + b)/db: [1.0, 1.0]\n"
    "b.grad after a further backward that has nothing to do with b: [6.0, 6.0]\n"
    "a.grad and b.grad share their memory: True\n",
    "pytorch_views_share_gradients.py": "after 1 backward calls: x.grad = [5.0, 3.0], y.grad = [5.0, 3.0], "
    "due are [5.0, 3.0]\n"
    "after 2 backward calls: x.grad = [15.0, 9.0], y.grad = [15.0, 9.0], due are [10.0, 6.0]\n"
    "both share their memory: True\n",
    "tensorflow_vectorized_map_drops_a_custom_gradient.py": ""
    "gradient by the rule, cos x: [0.07069999724626541, 0.8776000142097473]\n"
    "gradient through map_fn: [0.07069999724626541, 0.8776000142097473]\n"
    "gradient through vectorized_map, 2 x: [3.0, -1.0]\n",
    "triton_interpreter_truncates_bfloat16.py": "by default: [1.0, -1.0, 1.0, 1.9921875]\n"
    "by rtne:    [1.0, -1.0, 1.0, 1.9921875]\n"
    "expected:   [1.0078125, -1.0078125, 1.0, 2.0]\n",
}
"""What programs of one fault print."""

VERSIONS = {
    "mlx": ("mlx", "0.32.4"),
    "mygrad": ("mygrad", "2.5.0"),
    "paddle": ("paddlepaddle", "3.3.1"),
    "pytorch": ("torch", "2.13.0"),
    "tensorflow": ("tensorflow-cpu", "2.21.0"),
    "triton": ("triton", "3.9.0"),
}
"""By how the programs' names begin: the package, and the version that findings are about."""


@pytest.mark.engines
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_of_one_fault_show_what_is_wrong(program: str) -> None:
    package, known = VERSIONS[program.partition("_")[0]]
    try:
        installed = version(package)
    except PackageNotFoundError:
        pytest.skip(f"needs {package}")
    if installed.partition("+")[0] != known:
        pytest.skip(f"the finding is about {package} {known}")
    assert "refgrad" not in (FINDINGS / program).read_text().split('"""')[2]
    command = [sys.executable, "-W", "ignore", str(FINDINGS / program)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == PROGRAMS[program]


UNWRITTEN = "pytorch_reads_uninitialized_memory.py"


@pytest.mark.engines
def test_a_loss_and_the_gradient_of_a_weight_are_what_memory_was_filled_with() -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    if version("torch").partition("+")[0] != "2.13.0":
        pytest.skip("the finding is about PyTorch 2.13.0")
    command = [sys.executable, str(FINDINGS / UNWRITTEN)]
    loss, plain, half = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert loss == "multi_margin_loss of no samples, summed up: 7.477e+20, due 0"
    assert plain == "torch.float32: gradient of the weight [0.0, 1.0], due [0.0, 1.0]"
    if half == "torch.bfloat16: gradient of the weight [0.0, 1.0], due [0.0, 1.0]":
        pytest.skip("the convolution that PyTorch chooses on this processor writes all of its gradient")
    assert half == "torch.bfloat16: gradient of the weight [784.0, 1.0], due [0.0, 1.0]"


FURTHER = {
    "chainer": ("chainer", "7.8.1"),
    "dezero": ("dezero", "0.0.13"),
    "mlx": ("mlx", "0.32.4"),
    "mxnet": ("mxnet", "1.9.1"),
    "neograd": ("neograd", "0.0.4"),
    "num_dual": ("num-dual", "0.15.1"),
    "pytensor": ("pytensor", "3.0.7"),
    "smallpebble": ("smallpebble", "3.0.5"),
    "tensorflow": ("tensorflow-cpu", "2.21.0"),
    "tinygrad": ("tinygrad", "0.14.0"),
}
"""The packages whose programs print what the page shows of them, and their versions."""


@pytest.mark.engines
@pytest.mark.parametrize("engine", FURTHER)
def test_the_programs_on_further_engines_print_what_the_page_shows(engine: str) -> None:
    package, known = FURTHER[engine]
    try:
        installed = version(package)
    except PackageNotFoundError:
        pytest.skip(f"needs {package}")
    if installed != known:
        pytest.skip(f"the findings are about {package} {known}")
    program = FINDINGS / f"{engine}_gradients_that_are_wrong.py"
    command = [sys.executable, "-W", "ignore", str(program)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"```text\n{printed}```" in (FINDINGS / "README.md").read_text(encoding="utf-8")


OTHER_LANGUAGES = {
    "commons-math": ("3.6.1", ("java", "-cp", "/usr/share/java/commons-math3.jar"), "commons_math", ".java"),
    "r-deriv": ("4.2.2", ("Rscript",), "r", ".R"),
}
"""By engine, its version, what runs its program, how the name of that begins, and ends."""


@pytest.mark.engines
@pytest.mark.parametrize("engine", OTHER_LANGUAGES)
def test_the_programs_in_other_languages_print_what_the_page_shows(engine: str) -> None:
    known, command, name, suffix = OTHER_LANGUAGES[engine]
    if not engine_version(find_adapter(engine)).startswith(known) or shutil.which(command[0]) is None:
        pytest.skip(f"the findings are about {engine} {known}")
    program = FINDINGS / f"{name}_derivatives_that_are_wrong{suffix}"
    told = subprocess.run([*command, str(program)], capture_output=True, text=True, check=True).stdout
    assert f"```text\n{told}```" in (FINDINGS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", FURTHER)
def test_programs_of_findings_import_nothing_of_refgrad(engine: str) -> None:
    text = (FINDINGS / f"{engine}_gradients_that_are_wrong.py").read_text(encoding="utf-8")
    assert "refgrad" not in text.split('"""', 2)[2]


def test_the_reference_engine_keeps_leaf_gradients_apart() -> None:
    assert examine(parse(SHARED_MEMORY), start(find_adapter("refgrad"))).outcome == "passed"
