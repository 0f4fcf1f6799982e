"""Places of addresses: this machine, the local network, or the internet."""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

INTERNET = "on the internet"
THIS_MACHINE = "on this machine"
PRIVATE_NETWORK = "in a private network"
LINK_LOCAL = "at a link-local address"  # cloud machines read their credentials from such an address

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64: the IPv4 address is at the end
_TRANSLATED_HERE = ipaddress.ip_network("64:ff9b:1::/48")  # the same, for local use in a network
_COMPATIBLE = ipaddress.ip_network("::/96")  # the same, in the oldest format


class OutOfPlace(Exception):
    """A host is in none of the allowed places. `place` is where it is."""

    def __init__(self, place: str) -> None:
        super().__init__(f"it is {place}")
        self.place = place


def place_of(address: str) -> str:
    """Return where this IP address is. Addresses in the same place may be tried one after another.

    Unusual loopback addresses are places of their own, because services there are separate on
    purpose.
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
    """Return the place of a URL's host, or None for a name that DNS has to resolve."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return THIS_MACHINE
    try:
        return place_of(host)
    except ValueError:
        return None


def _plain(ip: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 address contains, else the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _TRANSLATED or (ip in _COMPATIBLE and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip
