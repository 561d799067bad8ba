"""The lifecycle model: predictions of what each step of a scenario must show, made before an engine runs it."""

from refgrad.lifecycle.model import Lowered, lower, predict
from refgrad.lifecycle.predictions import (
    Contribution,
    ErrorKind,
    ExpectedFlag,
    ExpectedValue,
    Fails,
    Gradient,
    NoGradient,
    Open,
    Policy,
    Prediction,
    Scales,
    Seen,
    Succeeds,
)
from refgrad.lifecycle.requirements import required_features
