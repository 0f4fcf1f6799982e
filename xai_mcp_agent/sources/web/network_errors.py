"""Advice about URLs that cannot be reached: names, certificates, proxies, old protocols."""

from __future__ import annotations

import errno
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import cast
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ...core.places import THIS_MACHINE, place_of_host

_DNS = ("name or service not known", "getaddrinfo failed", "nodename nor servname",
        "name resolution", "no address associated")  # fmt: skip
_UNTRUSTED = (
    "Its certificate is not trusted here: SSL_CERT_FILE can name a PEM file that vouches for it "
    "(its own, or that of whoever signed it)."
)
_HTTP_1 = "What answers there does not speak HTTP/1.1: check the port in `url`."
_IN_USER = "!$%&'()*+,;=:"  # characters of a URL's user and password
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)

CHECK_FIRST = "It may have been carried out all the same: check that before you try again."
"""The next step when a response was lost on its way."""

STATUS_HELP = {
    403: "The credentials are not allowed to use it: check the token and its permissions.",
    429: "It limits requests: wait a while, then try again.",
    503: "It is overloaded or starting: try again in a while.",
}
"""Next steps by HTTP status."""

FEWER_FILES = (
    "Close what keeps files open (bridges, servers, files of this program), or allow more: "
    "`ulimit -n` shows the limit, and `ulimit -n 4096` in the shell that starts it raises it."
)
# Text of a failure, and advice about it; the first match counts.
_HELP = (
    (("too many open files",), FEWER_FILES),
    (("ssl_cert_file",),
     "Correct SSL_CERT_FILE or SSL_CERT_DIR in the environment, or remove it."),
    (("wrong_version_number", "record_layer_failure", "http request", "packet length too long"),
     "It does not speak TLS: write http:// instead of https://, or correct the port."),
    (("certificate has expired", "not yet valid"),
     "Whoever runs the server has to renew its certificate; check the clock of this machine too."),
    (("hostname mismatch", "ip address mismatch", "doesn't match"),
     "Its certificate is for another name: write that name in `url`."),
    (("ca cert", "self-signed", "self signed", "certificate_verify_failed"), _UNTRUSTED),
    (("certificate_required", "certificate required"),
     "It wants a certificate from us, which is not possible yet: use headers instead."),
    (("no_application_protocol",),
     "It speaks HTTP/2 only: let it, or the gateway before it, speak HTTP/1.1 as well."),
    (("protocol_version", "unsupported_protocol", "handshake_failure", "no protocols available",
      "legacy sigalg"),
     "Its TLS is too old to be safe: whoever runs the server has to renew it."),
    (("certificate", "ssl:"), _UNTRUSTED),
    (_DNS, "Its name is not known: correct `url`, or check the network."),
    (("illegal status line", "illegal http version", "invalid http", "illegal request line"),
     _HTTP_1),
    (("using socks proxy", "unknown scheme for proxy"),
     "Name an HTTP proxy in HTTPS_PROXY and HTTP_PROXY instead."),
    (("invalid port",), "Correct HTTPS_PROXY or HTTP_PROXY: it is not a URL."),
    (("via the proxy",),
     "Check that the proxy runs and allows this address, or name the server's host in NO_PROXY."),
)  # fmt: skip
_IS_IT_RUNNING = "Check that the server runs and that `url` is right."


def reaching_help(failure: str, key: str = "url") -> str:
    """Return advice about a failure to reach the URL that settings have under `key`."""
    words = failure.lower()
    steps = (step for marks, step in _HELP if any(mark in words for mark in marks))
    return next(steps, _IS_IT_RUNNING).replace("`url`", f"`{key}`")


def has_too_many_files(cause: BaseException | None) -> bool:
    """Return whether an error means that the process has too many open files."""
    if cause is None:
        return False
    if isinstance(cause, OSError) and cause.errno in _TOO_MANY_FILES:
        return True
    beneath = [cause.__cause__ or cause.__context__]
    if isinstance(cause, BaseExceptionGroup):
        beneath += cast("BaseExceptionGroup[BaseException]", cause).exceptions
    return any(map(has_too_many_files, beneath))


def is_this_machine(url: str) -> bool:
    """Return whether a URL leads to this machine, which no proxy can reach for us."""
    place = place_of_host(urlsplit(url).hostname or "")
    return place is not None and place.startswith(THIS_MACHINE)


def proxy_of(url: str) -> str:
    """Return the proxy that the environment names for a URL, or ""."""
    parts, proxies = urlsplit(url), getproxies()
    exceptions = proxies.get("no", "").lower().split(",")
    is_direct = proxy_bypass(parts.hostname or "")
    if is_this_machine(url) or is_direct or any(_excepts(x.strip(), parts) for x in exceptions):
        return ""
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not proxy:
        return ""
    scheme, _, rest = proxy.rpartition("://")
    user, at, host = rest.rpartition("@")
    # With a `/`, `?` or `#` in the password, httpx2 shows what is before it as a wrong port.
    return f"{scheme or 'http'}://{quote(user, _IN_USER)}{at}{host}"


def _excepts(exception: str, url: SplitResult) -> bool:
    """Return whether an item of NO_PROXY covers a URL, in a form that urllib does not know.

    Companies write `*.example.com` and `10.0.0.0/8`, which curl and Go know; httpx2 and Go know
    `example.com:8443`, and httpx2 `https://example.com`.
    """
    host = url.hostname or ""
    with suppress(ValueError):  # one of them is a name
        return ip_address(host) in ip_network(exception, strict=False)
    try:
        item = urlsplit(exception if "://" in exception else f"all://{exception}")
        port = item.port
    except ValueError:
        return False
    url_port = url.port or {"http": 80}.get(url.scheme, 443)
    if item.scheme not in ("all", url.scheme) or port not in (None, url_port):
        return False
    name = item.hostname or ""
    if name.startswith("*"):
        return host.endswith(name[1:])
    return bool(name) and f".{host}".endswith(f".{name.removeprefix('.')}")


def by_which_way(url: str) -> str:
    """Return a phrase about the proxy to append to a failure, or ""."""
    try:
        where = urlsplit(proxy_of(url)).netloc.rpartition("@")[2]  # without user and password
    except ValueError:  # it is not a URL
        return ""
    return f" (via the proxy {where})" if where else ""
