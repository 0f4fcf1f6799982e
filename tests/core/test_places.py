"""In which place an address is, however it is written."""

from __future__ import annotations

from xai_mcp_agent.core.places import (
    INTERNET,
    LINK_LOCAL,
    PRIVATE_NETWORK,
    THIS_MACHINE,
    place_of,
    place_of_host,
)

ADDRESSES = {
    THIS_MACHINE: "127.0.0.1 ::1 :: 0.0.0.0 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1",
    LINK_LOCAL: "169.254.169.254 fe80::1%eth0 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
    PRIVATE_NETWORK: "10.0.0.1 100.64.0.1 fc00::1 fec0::1 64:ff9b:1::1 224.0.0.1",
    INTERNET: "8.8.8.8 2606:4700::1 64:ff9b::808:808 ::ffff:8.8.8.8",
}  # fmt: skip


def test_every_form_of_an_address_is_in_its_place():
    for place in ADDRESSES:
        addresses = ADDRESSES[place].split()
        assert {x: place_of(x) for x in addresses} == dict.fromkeys(addresses, place)


def test_other_loopback_addresses_are_places_of_their_own():
    assert place_of("127.0.0.2") == place_of("::ffff:127.0.0.2") == "on this machine, at 127.0.0.2"


def test_a_name_has_to_be_looked_up_but_for_that_of_this_machine():
    assert place_of_host("localhost.") == place_of_host("a.localhost") == THIS_MACHINE
    assert place_of_host("[::1]") == THIS_MACHINE
    assert place_of_host("example.com") is place_of_host("0x7f.1") is place_of_host("") is None
