"""Exceptions of the accelerator and its driver.

* zeton.Error
  + AcceleratorError       catches all below                        (also a ValueError)
    - ShapeError             no card can have these parameters
    - BuildError             the simulated card cannot be built
    - FitError               a tokenizer does not fit on the card
    - DeviceError            a request to the card failed              (also an OSError)
      . DeviceTimeoutError     the card did not answer in time         (also a TimeoutError)
      . AnswerError            the card sent an invalid answer
      . BusyError              the card belongs to another client
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
    """The base class of all errors of the accelerator."""


class ShapeError(AcceleratorError):
    """No card can be built with these parameters."""


class BuildError(AcceleratorError):
    """The simulated card cannot be built: a tool is missing, or reports an error."""


class FitError(AcceleratorError):
    """A tokenizer does not fit on the card; the message has the sizes needed and available."""


class DeviceError(AcceleratorError, OSError):
    """A request to the card failed; `Device.reset` may make the card usable again."""


class DeviceTimeoutError(DeviceError, TimeoutError):
    """The card did not answer in time."""


class AnswerError(DeviceError):
    """The card sent an answer that is impossible for the request, for example ids of other text."""


class BusyError(DeviceError):
    """Another client has the card open; a card serves one client at a time."""
