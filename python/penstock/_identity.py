"""Who a process is by its certificate, and what that lets it do with actors."""
import re
from typing import Any, NamedTuple, Optional

from penstock import _abi
from penstock._actor_wire import Denied

OF_THE_CLUSTER = ("worker", "operator", "admin")  # These may call, and serve, actors of all users,
OF_THEIR_USER = ("client", "run")                 # these those of their own. The others none.
LOG_IN = "give this user a credential: `penstock login`, see docs/security.md"
_URI = re.compile(r"penstock://([0-9a-f]{40})/([a-z]+)/([A-Za-z0-9._@][A-Za-z0-9._@-]{0,63})(\?groups=[A-Za-z0-9._@+-]+)?")


class Identity(NamedTuple):
    """What a certificate says of its owner."""

    cluster: str
    role: str
    user: str

    def __str__(self) -> str:
        return f"user '{self.user}' with the role {self.role}"


class Shown(NamedTuple):
    """What a process shows to its peers."""

    identity: Identity
    pem: bytes  # The key, the certificate, and the authority's.


def identity_of(uri: str) -> Identity:
    """Raises `Denied` if it names none."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise Denied(f"has a certificate without an identity of Penstock, but with {uri[:256]!r}", LOG_IN)
    return Identity(*found.groups()[:3])


def shown_by(client: Any) -> Optional[Shown]:
    """What this client shows now; None: its connections are plain, or of this host. Raises `PenstockError`."""
    library = client._library
    with client._connection as handle:
        owner = _abi.Owned(library.check(library.client_credential(handle)))
    uri, _, pem = _abi.bytes_at(library.data_views(owner.handle)[0]).partition(b"\n")
    return Shown(identity_of(uri.decode()), pem) if uri else None


def user_of(client: Any) -> str:
    """The owner of the jobs that this client submits; "": the supervisor knows."""
    shown = shown_by(client)
    return shown.identity.user if shown is not None and shown.identity.role != "worker" else ""


def check_caller(caller: Identity, owner: str) -> None:
    """Whether that peer may call an actor of this user. Raises `Denied`."""
    if caller.role in OF_THE_CLUSTER or (caller.role in OF_THEIR_USER and caller.user == owner):
        return
    raise Denied(f"belongs to user '{owner}', and this process is of {caller} by its certificate",
                 "call it as its user, or as an operator of the cluster")


def check_actor(actor: Identity, own: Identity, owner: str) -> None:
    """Whether that peer may be an actor of this user, to a caller with an identity of its own. Raises `Denied`: what it
    answers would be unpickled here. The actors of a client are of its user, whatever has been written down about them."""
    users = (own.user,) if own.role in OF_THEIR_USER else (own.user, owner)
    if actor.role in OF_THE_CLUSTER or (actor.role in OF_THEIR_USER and actor.user in users):
        return
    raise Denied(f"is said to be where a process of {actor} answers, which is no place for an actor of '{users[-1]}'",
                 "make the actor again")
