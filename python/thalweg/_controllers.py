"""Checks of controller classes, and of the instances that factories return."""

import inspect
from collections.abc import Callable

from . import _arguments as arguments
from ._errors import ScenarioError
from ._thalweg import Controller


class Factory:
    """A factory whose instances are checked as classes are."""

    def __init__(self, make: Callable[[], Controller]) -> None:
        self._make = make
        self._checked: set[type] = set()

    def __call__(self) -> Controller:
        made = self._make()
        if type(made) not in self._checked:
            check_class(type(made))
            self._checked.add(type(made))
        return made


def check_class(of: type) -> None:
    """Checks the attributes of a controller class. A property has its value in instances."""
    ecn, per_packet = getattr(of, "ecn", None), getattr(of, "per_packet", False)
    if not hasattr(type(ecn), "__get__"):
        arguments.choice(f"{of.__qualname__}.ecn", ecn, arguments.ECN)
    if not hasattr(type(per_packet), "__get__"):
        arguments.truth(f"{of.__qualname__}.per_packet", per_packet)
    for name in ("window", "pacing_rate", "rng"):
        # Senders read the base class's attribute: an attribute of the subclass would conceal it.
        if issubclass(of, Controller) and getattr(of, name) is not getattr(Controller, name):
            advice = "the package creates it" if name == "rng" else f"set `self.{name}` in `__init__` or in a method"
            raise ScenarioError(f"the class `{of.__qualname__}` defines `{name}`, so flows would not see it: {advice}")
    for name in ("on_ack", "on_loss", "on_undo"):
        method = getattr(of, name, None)
        if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
            raise ScenarioError(f"{of.__qualname__}.{name} is a coroutine or a generator, whose content would not run: write it with a plain `def`")
