"""A card that encodes: `open` gives a `Device`, which gives exactly what a `Tokenizer` gives.

>>> from jeton import accel
>>> accel.configuration("large").pairs_max
262144
"""

from jeton.accel.configuration import CONFIGURATIONS, Configuration, configuration
from jeton.accel.transport import Transport

__all__ = ["CONFIGURATIONS", "Configuration", "Transport", "configuration"]
