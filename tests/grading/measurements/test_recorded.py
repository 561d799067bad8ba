"""Tests of how the answers about what an engine recorded are read."""

import pytest

from refgrad.grading.measurements.recorded import ExpectedNode, _recorded
from refgrad.lifecycle import Policy
from refgrad.lifecycle.model import Model
from refgrad.native.library import RaisedError
from refgrad.native.observation import Observation, Raised
from refgrad.scenario import parse


def test_an_error_of_the_traversal_is_the_engines() -> None:
    model = Model(parse("x = leaf float64[] {0x1p+0} requires_grad\n"), Policy())
    node = Observation(data=[True, False])
    traversal = Observation(error=Raised("AttributeError", "no next_functions", ("AttributeError", "Exception")))
    with pytest.raises(RaisedError, match=r"^AttributeError: no next_functions$"):
        _recorded(model, [(0, ExpectedNode("x", "x", ()))], [node, traversal])
