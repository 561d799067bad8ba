"""What must happen at each step of a scenario, before any engine has run it?"""

from refgrad.lifecycle.model import (
    ErrorKind,
    Fails,
    Gradient,
    NoGradient,
    Open,
    Policy,
    Prediction,
    Succeeds,
    Value,
    predict,
)
from refgrad.lifecycle.requirements import required_features

__all__ = [
    "ErrorKind",
    "Fails",
    "Gradient",
    "NoGradient",
    "Open",
    "Policy",
    "Prediction",
    "Succeeds",
    "Value",
    "predict",
    "required_features",
]
