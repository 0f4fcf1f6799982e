"""Places of addresses: this machine, the local network, or the internet."""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

INTERNET = "on the internet"
THIS_MACHINE = "on this machine"
PRIVATE_NETWORK = "in a private network"
LINK_LOCAL = "at a link-local address"  # clouds tell a machine its secrets at one

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64: an IPv4 address is its end
_TRANSLATED_HERE = ipaddress.ip_network("64:ff9b:1::/48")  # the same, for networks' own use
_COMPATIBLE = ipaddress.ip_network("::/96")  # the same, in the oldest way


class OutOfPlace(Exception):
    """A host is in none of the places where it may be. `place` is where it is."""

    def __init__(self, place: str) -> None:
        super().__init__(f"it is {place}")
        self.place = place


def place_of(address: str) -> str:
    """Where this IP address is. Two that are in the same place may be gone to in one go.

    Loopback addresses besides the usual ones are places of their own: what listens there is kept
    apart on purpose.
    """
    ip = _plain(ipaddress.ip_address(address.partition("%")[0]))
    if ip.is_unspecified or str(ip) in ("127.0.0.1", "::1"):
        return THIS_MACHINE
    if ip.is_loopback:
        return f"{THIS_MACHINE}, at {ip}"
    if ip.is_link_local:
        return LINK_LOCAL
    is_ours = isinstance(ip, ipaddress.IPv6Address) and (ip.is_site_local or ip in _TRANSLATED_HERE)
    return INTERNET if ip.is_global and not (ip.is_multicast or is_ours) else PRIVATE_NETWORK


def place_of_host(host: str) -> str | None:
    """The same for the host of a URL; None for a name that has to be looked up."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return THIS_MACHINE
    try:
        return place_of(host)
    except ValueError:
        return None


def _plain(ip: IPAddress) -> IPAddress:
    """The IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _TRANSLATED or (ip in _COMPATIBLE and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip
