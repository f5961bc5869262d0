"""Cards for many clients: `Service` on one side of a socket, `Client` on the other.

Every request has an id. After a lost connection the client sends the request again under the same
id. The service answers from memory or encodes again; both answers are equal, because ids are exact.

    connection ─▶ sessions ─▶ fairness ─▶ workers (a thread per card)
        ▲                                     │
        └──────────── requests ◀──────────────┘
"""

from zeton.accel.service.address import Address
from zeton.accel.service.blocking import Client
from zeton.accel.service.client import AsyncClient
from zeton.accel.service.errors import Code, ProtocolError, RefusedError, ServiceError
from zeton.accel.service.running import default_address, run
from zeton.accel.service.server import Service
from zeton.accel.service.settings import Settings

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
