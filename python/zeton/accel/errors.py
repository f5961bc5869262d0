"""What the accelerator and its driver refuse.

* zeton.Error
  + AcceleratorError   catches all below                              (also a ValueError)
    - ShapeError         no card can be built with these parameters
    - BuildError         the simulated card cannot be built
    - FitError           a tokenizer does not fit on the card, and why
    - DeviceError        the card did not do what it was asked        (also an OSError)
      . DeviceTimeoutError it did not answer in time                  (also a TimeoutError)
      . AnswerError        it answered what no card can answer
      . BusyError          it belongs to another client
"""

from zeton.errors import Error

__all__ = [
    "AcceleratorError",
    "AnswerError",
    "BuildError",
    "BusyError",
    "DeviceError",
    "DeviceTimeoutError",
    "FitError",
    "ShapeError",
]


class AcceleratorError(Error, ValueError):
    """Catch this to catch everything that the accelerator refuses."""


class ShapeError(AcceleratorError):
    """A card cannot be built with such parameters."""


class BuildError(AcceleratorError):
    """The simulated card cannot be built: a tool is not there, or refuses the RTL."""


class FitError(AcceleratorError):
    """A tokenizer does not fit on the card; the sizes needed and available are in the message."""


class DeviceError(AcceleratorError, OSError):
    """The card did not do what it was asked, or is gone; `Device.reset` may bring it back."""


class DeviceTimeoutError(DeviceError, TimeoutError):
    """The card did not answer in time."""


class AnswerError(DeviceError):
    """The card answered something that no card can answer to what it was sent."""


class BusyError(DeviceError):
    """The card belongs to another client, from when that one opens it until it closes it."""
