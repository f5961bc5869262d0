"""What the accelerator and its driver refuse.

* jeton.Error
  + AcceleratorError   catches all below                              (also a ValueError)
    - ShapeError         no card can be built with these parameters
    - FitError           a tokenizer does not fit on the card, and why
    - DeviceError        the card did not do what it was asked        (also an OSError)
      . TimeoutError       it did not answer in time                  (also a TimeoutError)
      . AnswerError        it answered what no card can answer
"""

import builtins

from jeton.errors import Error

__all__ = [
    "AcceleratorError",
    "AnswerError",
    "DeviceError",
    "FitError",
    "ShapeError",
    "TimeoutError",
]


class AcceleratorError(Error, ValueError):
    """Catch this to catch everything that the accelerator refuses."""


class ShapeError(AcceleratorError):
    """A card cannot be built with such parameters."""


class FitError(AcceleratorError):
    """A tokenizer does not fit on the card; the sizes needed and available are in the message."""


class DeviceError(AcceleratorError, OSError):
    """The card did not do what it was asked, or is gone; `Device.reset` may bring it back."""


class TimeoutError(DeviceError, builtins.TimeoutError):  # noqa: A001 - in a tree of its own.
    """The card did not answer in time."""


class AnswerError(DeviceError):
    """The card answered something that no card can answer to what it was sent."""
