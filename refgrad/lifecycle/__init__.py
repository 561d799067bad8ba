"""The lifecycle model: what each step of a scenario must show, before any engine has run it."""

from refgrad.lifecycle.model import Lowered, lower, predict
from refgrad.lifecycle.policy import Policy
from refgrad.lifecycle.predictions import (
    Contribution,
    ErrorKind,
    Fails,
    Flag,
    Gradient,
    NoGradient,
    Open,
    Prediction,
    Scales,
    Seen,
    Succeeds,
    Value,
)
from refgrad.lifecycle.requirements import required_features

__all__ = [
    "Contribution",
    "ErrorKind",
    "Fails",
    "Flag",
    "Gradient",
    "Lowered",
    "NoGradient",
    "Open",
    "Policy",
    "Prediction",
    "Scales",
    "Seen",
    "Succeeds",
    "Value",
    "lower",
    "predict",
    "required_features",
]
