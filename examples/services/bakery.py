"""A web service that describes itself with OpenAPI: the orders of a small bakery.

    python bakery.py                 at http://127.0.0.1:8124, described at /openapi.json
    python bakery.py --port 9000     at another port; 0 takes a free one and prints it
    python bakery.py --key SECRET    asks for this key in the header X-Bakery-Key

Open it, change it, start it again. Needs nothing but Python. All orders are lost when it ends.
"""

import argparse
import contextlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

BAKING_SECONDS = 1.0  # long enough to show progress, short enough for a lesson
LARGEST_BODY = 100_000  # bytes

PRODUCTS: list[dict[str, Any]] = [
    {"id": "rye", "name": "Rye bread", "price": 4.2, "vegan": True},
    {"id": "roll", "name": "Poppy seed roll", "price": 0.6, "vegan": True},
    {"id": "croissant", "name": "Croissant", "price": 1.9, "vegan": False},
    {"id": "apple-pie", "name": "Apple pie", "price": 3.1, "vegan": False},
]

# --- The description in OpenAPI ----------------------------------------------------------------

_ORDER_ID = {"name": "order_id", "in": "path", "required": True, "schema": {"type": "string"}}


def _answers(schema: str, description: str, status: str = "200") -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {status: {"description": description, "content": content}}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Bakery", "version": "1.0"},
    "security": [{"key": []}, {}],
    "paths": {
        "/products": {
            "get": {
                "operationId": "list_products",
                "summary": "What can be ordered, with prices in euros",
                "tags": ["products"],
                "parameters": [
                    {
                        "name": "vegan",
                        "in": "query",
                        "description": "Only what is vegan, or only what is not.",
                        "schema": {"type": "boolean"},
                    }
                ],
                "responses": _answers("Products", "The products"),
            }
        },
        "/orders": {
            "get": {
                "operationId": "list_orders",
                "summary": "All orders, the oldest first",
                "tags": ["orders"],
                "responses": _answers("Orders", "The orders"),
            },
            "post": {
                "operationId": "place_order",
                "summary": "Order products for a customer",
                "tags": ["orders"],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/NewOrder"}}
                    },
                },
                "responses": _answers("Order", "The order, with its id", "201"),
            },
        },
        "/orders/{order_id}": {
            "parameters": [_ORDER_ID],
            "get": {
                "operationId": "get_order",
                "summary": "One order, and how far it is",
                "tags": ["orders"],
                "responses": _answers("Order", "The order"),
            },
            "delete": {
                "operationId": "cancel_order",
                "summary": "Cancel an order that is not baked yet",
                "tags": ["orders"],
                "responses": {"204": {"description": "It is cancelled"}},
            },
        },
        "/orders/{order_id}/bake": {
            "parameters": [_ORDER_ID],
            "post": {
                "operationId": "bake_order",
                "summary": "Bake an order; it takes a moment",
                "tags": ["orders"],
                "responses": _answers("Order", "It is in the oven: ask at Location", "202"),
            },
        },
        "/orders/{order_id}/baked": {
            "parameters": [_ORDER_ID],
            "get": {
                "operationId": "get_baked_order",
                "summary": "An order that was put into the oven, once it is ready",
                "tags": ["orders"],
                "responses": {
                    **_answers("Order", "It is ready"),
                    **_answers("Order", "It is still in the oven: ask again", "202"),
                },
            },
        },
    },
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Bakery-Key"}},
        "schemas": {
            "Product": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "name": {"type": "string"},
                    "price": {"type": "number"},
                    "vegan": {"type": "boolean"},
                },
            },
            "Products": {
                "type": "object",
                "properties": {
                    "products": {
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/Product"},
                    }
                },
            },
            "NewOrder": {
                "type": "object",
                "required": ["customer", "items"],
                "properties": {
                    "customer": {"type": "string", "description": "Whose order it is."},
                    "items": {
                        "type": "object",
                        "description": "How many of each, by the ids of list_products.",
                        "additionalProperties": {"type": "integer", "minimum": 1},
                    },
                },
            },
            "Order": {
                "type": "object",
                "properties": {
                    "order_id": {"type": "string"},
                    "customer": {"type": "string"},
                    "items": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "total": {"type": "number", "description": "In euros."},
                    "status": {"type": "string", "enum": ["placed", "baking", "ready"]},
                },
            },
            "Orders": {
                "type": "object",
                "properties": {
                    "orders": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}}
                },
            },
        },
    },
}

# --- The orders --------------------------------------------------------------------------------


class RequestError(Exception):
    """The service refuses a request; the message says why."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Bakery:
    """The orders of the bakery; several requests may use it at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: dict[str, dict[str, Any]] = {}
        self._ready_at: dict[str, float] = {}
        self._placed = 0

    def products(self, vegan: bool | None) -> dict[str, Any]:
        """Return all products, or only those that are vegan, or only the others."""
        return {"products": [x for x in PRODUCTS if vegan in (None, x["vegan"])]}

    def orders(self) -> dict[str, Any]:
        """Return all orders, the oldest first."""
        with self._lock:
            return {"orders": [self._current(x) for x in self._orders]}

    def order(self, order_id: str) -> dict[str, Any]:
        """Return one order with its current status."""
        with self._lock:
            return self._current(order_id)

    def place(self, body: Any) -> dict[str, Any]:
        """Accept a new order and return it."""
        customer, items = _read_order(body)
        prices = {x["id"]: x["price"] for x in PRODUCTS}
        total = round(sum(prices[name] * count for name, count in items.items()), 2)
        with self._lock:
            self._placed += 1
            order_id = f"A{self._placed}"
            self._orders[order_id] = {
                "order_id": order_id, "customer": customer, "items": items, "total": total,
                "status": "placed",
            }  # fmt: skip
            return dict(self._orders[order_id])

    def cancel(self, order_id: str) -> None:
        """Delete an order that is not in the oven yet."""
        with self._lock:
            if self._current(order_id)["status"] != "placed":
                raise RequestError(
                    HTTPStatus.CONFLICT, f"The order {order_id} is in the oven already."
                )
            del self._orders[order_id]

    def bake(self, order_id: str) -> dict[str, Any]:
        """Put an order into the oven, unless it is there already."""
        with self._lock:
            order = self._current(order_id)
            if order["status"] == "placed":
                self._orders[order_id]["status"] = "baking"
                self._ready_at[order_id] = time.monotonic() + BAKING_SECONDS
            return self._current(order_id)

    def _current(self, order_id: str) -> dict[str, Any]:
        order = self._orders.get(order_id)
        if order is None:
            order_ids = ", ".join(self._orders) or "none"
            raise RequestError(
                HTTPStatus.NOT_FOUND, f"No order {order_id!r}. There are: {order_ids}."
            )
        if order["status"] == "baking" and time.monotonic() >= self._ready_at[order_id]:
            order["status"] = "ready"
        return dict(order)


def _read_order(body: Any) -> tuple[str, dict[str, int]]:
    """Return the customer and the items of a valid order."""
    order = cast(dict[str, Any], body if isinstance(body, dict) else {})
    customer, items = order.get("customer"), order.get("items")
    if not isinstance(customer, str) or not isinstance(items, dict) or not items:
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "An order has a customer and items.")
    product_ids = [x["id"] for x in PRODUCTS]
    for name, count in cast(dict[str, Any], items).items():
        if name not in product_ids:
            detail = f"No product {name!r}. There are: {', '.join(product_ids)}."
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, f"How many of {name}?")
    return customer, cast(dict[str, int], items)


# --- The web service ---------------------------------------------------------------------------


class Requests(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise an answer in pieces waits for 40 milliseconds
    timeout = 30  # seconds to wait for a silent client
    bakery: Bakery
    key: str
    address: str

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal of a lesson shows only the output of the lesson."""

    def _answer(self) -> None:
        try:
            status, value, headers = self._handle()
        except RequestError as reason:
            status, value, headers = reason.status, {"detail": reason.detail}, {}
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        if value is not None:
            self.send_header("Content-Type", "application/json")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer  # http.server calls them by these names

    def _handle(self) -> tuple[HTTPStatus, Any, dict[str, str]]:
        body = self._body()
        url = urlsplit(self.path)
        if url.path == "/openapi.json":
            return HTTPStatus.OK, self._document(), {}
        if self.key and not hmac.compare_digest(self.headers.get("X-Bakery-Key", ""), self.key):
            raise RequestError(
                HTTPStatus.UNAUTHORIZED, "The header X-Bakery-Key is missing or wrong."
            )
        for method, pattern, do in ROUTES:
            if method == self.command and (match := re.fullmatch(pattern, url.path)):
                return do(self.bakery, match.groupdict(), parse_qs(url.query), body)
        raise RequestError(HTTPStatus.NOT_FOUND, f"Nothing is done at {self.command} {url.path}.")

    def _document(self) -> dict[str, Any]:
        return {**DOCUMENT, "servers": [{"url": self.address}]}

    def _body(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too long for an order."
            )
        text = self.rfile.read(length)
        try:
            return json.loads(text) if text else None
        except ValueError as cause:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {cause}") from None


Answer = tuple[HTTPStatus, Any, dict[str, str]]
Names = dict[str, str]
Query = dict[str, list[str]]


def _list_products(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    vegan = query.get("vegan", [""])[0]
    return HTTPStatus.OK, bakery.products({"true": True, "false": False}.get(vegan)), {}


def _list_orders(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    return HTTPStatus.OK, bakery.orders(), {}


def _place_order(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    return HTTPStatus.CREATED, bakery.place(body), {}


def _get_order(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    return HTTPStatus.OK, bakery.order(names["order_id"]), {}


def _cancel_order(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    bakery.cancel(names["order_id"])
    return HTTPStatus.NO_CONTENT, None, {}


def _bake_order(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    order = bakery.bake(names["order_id"])
    where = {"Location": f"/orders/{order['order_id']}/baked", "Retry-After": "1"}
    return HTTPStatus.ACCEPTED, order, where


def _get_baked_order(bakery: Bakery, names: Names, query: Query, body: Any) -> Answer:
    order = bakery.order(names["order_id"])
    if order["status"] == "placed":
        raise RequestError(HTTPStatus.CONFLICT, "Nobody has put it into the oven.")
    is_ready = order["status"] == "ready"
    return HTTPStatus.OK if is_ready else HTTPStatus.ACCEPTED, order, {}


ROUTES: list[tuple[str, str, Callable[[Bakery, Names, Query, Any], Answer]]] = [
    ("GET", "/products", _list_products),
    ("GET", "/orders", _list_orders),
    ("POST", "/orders", _place_order),
    ("GET", "/orders/(?P<order_id>[^/]+)", _get_order),
    ("DELETE", "/orders/(?P<order_id>[^/]+)", _cancel_order),
    ("POST", "/orders/(?P<order_id>[^/]+)/bake", _bake_order),
    ("GET", "/orders/(?P<order_id>[^/]+)/baked", _get_baked_order),
]


def main() -> None:
    """Serve until Ctrl+C."""
    parser = argparse.ArgumentParser(description="The orders of a small bakery.")
    parser.add_argument("--port", type=int, default=8124)
    parser.add_argument("--key", default="", help="asked for in the header X-Bakery-Key")
    options = parser.parse_args()
    Requests.bakery, Requests.key = Bakery(), options.key
    with ThreadingHTTPServer(("127.0.0.1", options.port), Requests) as server:
        Requests.address = f"http://127.0.0.1:{server.server_port}"
        print(Requests.address, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
