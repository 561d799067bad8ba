"""num-dual 0.15.1: gradients that are wrong, with what is due. Nothing of refgrad is imported."""

from num_dual import Dual64


def told(what, found, due):
    """Print what was found beside what is due."""
    print(f"{what}: {found} due {due}")


told("tanh, value at 20", Dual64(20.0, 1.0).tanh().value, 1.0)
told("tanh, value at 711", Dual64(711.0, 1.0).tanh().value, 1.0)
told("tanh, slope at 356", Dual64(356.0, 1.0).tanh().first_derivative, 0.0)
told("tanh, slope at 711", Dual64(711.0, 1.0).tanh().first_derivative, 0.0)
told("x ** y, slope in x at (0, 2)", (Dual64(0.0, 1.0) ** Dual64(2.0, 0.0)).first_derivative, 0.0)
