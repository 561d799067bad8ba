"""PaddlePaddle 3.3.1 (CPU): a backward through ``paddle.linalg.solve`` with a constant operand ends the process.

The rule writes to the gradient of both operands, though only that of one was asked for. Nothing of refgrad is imported.
"""

import subprocess
import sys

PROGRAM = """
import paddle
a = paddle.to_tensor([[2.0, 1.0], [1.0, 3.0]], dtype="float64", stop_gradient={a})
b = paddle.to_tensor([[1.0], [2.0]], dtype="float64", stop_gradient={b})
paddle.linalg.solve(a, b).sum().backward()
"""

for a, b in ((False, False), (True, False), (False, True)):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(a=a, b=b)], capture_output=True, check=False)
    print(f"a is constant: {a}, b is constant: {b}, exit status: {done.returncode}")
