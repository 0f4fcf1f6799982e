"""Operations of OpenAPI services as tools. Importing this package imports nothing heavy."""

from .document import BadDocument
from .operations import Operation, Problem
from .plan import RequestPlan
from .service import Service, load_service

__all__ = ["BadDocument", "Operation", "Problem", "RequestPlan", "Service", "load_service"]
