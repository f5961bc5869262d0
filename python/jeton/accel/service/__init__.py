"""Cards for many clients: `Service` on one side of a socket, `Client` on the other.

Every request has an id. A client asks again, under the same id, when a connection is lost; the
service answers from what it has, or encodes anew: ids are exact, so both are the same.
"""

from jeton.accel.service.address import Address
from jeton.accel.service.blocking import Client
from jeton.accel.service.client import AsyncClient
from jeton.accel.service.errors import Code, ProtocolError, RefusedError, ServiceError
from jeton.accel.service.running import default_address, run
from jeton.accel.service.server import Service
from jeton.accel.service.settings import Settings

__all__ = [
    "Address",
    "AsyncClient",
    "Client",
    "Code",
    "ProtocolError",
    "RefusedError",
    "Service",
    "ServiceError",
    "Settings",
    "default_address",
    "run",
]
