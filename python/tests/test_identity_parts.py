"""Parts of controllers that are reached by other ways than globals and closures: they count, or the controller is refused."""

import builtins
import collections
import copyreg
import functools
import importlib
import logging
import math
import operator
import re
import statistics
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import thalweg
from thalweg import Controller, Sample
from thalweg._identity import Identity, ReachError, UnknownError

PACKAGE = "BETA = 0.2\nDEEP = {'beta': 0.2}\nclass Kept:\n    BETA = 0.2\ndef beta():\n    return BETA\n"
LAZY = "_values = {'beta': 0.2}\ndef __getattr__(name):\n    return _values['beta']\n"
PLACE = types.SimpleNamespace()
"""The modules `parts` and `lazily`, of a user, and `installed`, of a distribution."""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = set(sys.modules)
    site = tmp_path / "site-packages"
    for folder, name, text in ((tmp_path, "parts", PACKAGE), (tmp_path, "lazily", LAZY), (site, "installed", PACKAGE)):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text, encoding="utf-8")
        (folder / name / "below.py").write_text("BETA = 0.2\n", encoding="utf-8")
        monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    for name in ("parts", "lazily", "installed"):
        setattr(PLACE, name, importlib.import_module(name))
        importlib.import_module(f"{name}.below")
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]
    for place, name in ((builtins, "beta_of_all"), (math, "beta"), (numpy, "beta"), (statistics.NormalDist, "beta"), (thalweg, "beta")):
        if hasattr(place, name):
            delattr(place, name)


class Mine(Controller):
    def __init__(self, beta: Any) -> None:
        self.beta = beta

    def on_ack(self, sample: Sample) -> None:
        self.window += 1

    def on_loss(self, sample: Sample) -> None:
        self.window = max(2, self.window * float(self.beta))


Make = Callable[[], Controller]


def of_module(name: str, read: Callable[[Any], Any]) -> Callable[[float], Make]:
    """Sets `BETA` of a module; the controller reads it from the module in a closure."""

    def made(beta: float) -> Make:
        module = getattr(PLACE, name)
        module.BETA = module.below.BETA = module.Kept.BETA = module.DEEP["beta"] = beta
        return lambda: Mine(read(module))

    return made


def in_an_attribute(beta: float) -> Make:
    PLACE.parts.BETA = beta

    class Found(Mine):
        module = PLACE.parts

        def __init__(self) -> None:
            pass

        def on_loss(self, sample: Sample) -> None:
            self.window = max(2, self.window * self.module.BETA)

    return Found


def imported_in_another_method(beta: float) -> Make:
    PLACE.parts.BETA = beta

    class Found(Mine):
        def __init__(self) -> None:
            import parts  # type: ignore[import-not-found]

            self.module = parts

        def on_loss(self, sample: Sample) -> None:
            self.window = max(2, self.window * self.module.BETA)

    return Found


def lazily(beta: float) -> Make:
    PLACE.lazily._values["beta"] = beta
    return lambda: Mine(PLACE.lazily.ANY)


def by_data(beta: float) -> Make:
    PLACE.parts.BETA, names = beta, ["BETA"]
    return lambda: Mine(getattr(PLACE.parts, names[0]))


def set_in(place: Any, name: str, read: Callable[[], Any], value: Callable[[float], Any] = lambda beta: beta) -> Callable[[float], Make]:
    def made(beta: float) -> Make:
        setattr(place, name, value(beta))
        return lambda: Mine(read())

    return made


def by_method(beta: float) -> Make:
    statistics.NormalDist.beta = lambda self: beta  # type: ignore[attr-defined]
    return lambda: Mine(statistics.NormalDist().beta())  # type: ignore[attr-defined]


def another_math(beta: float) -> Make:
    module = types.ModuleType("math")
    vars(module)["beta"] = beta
    return lambda: Mine(module.beta)


def instance(*bases: type, content: Callable[[float], Any] | None = None, **members: Any) -> Callable[[float], Make]:
    """An instance of a class with these members, whose content or attribute `beta` is used."""

    def made(beta: float) -> Make:
        kind: Any = type("Own", bases, members)
        own = kind(content(beta)) if content is not None else kind()
        if content is None:
            own.beta = beta
        return lambda: Mine(own.beta if content is None else next(iter(own)))

    return made


def in_slots(beta: float) -> Make:
    class Own:
        __slots__ = ("__beta",)

        def __init__(self, beta: float) -> None:
            self.__beta = beta

        def __getstate__(self) -> None:
            return None

        def beta(self) -> float:
            return self.__beta

    own = Own(beta)
    return lambda: Mine(own.beta())


class Registered:
    def __init__(self, beta: float) -> None:
        self.beta = beta


copyreg.pickle(Registered, lambda of: (Registered, (0.5,)))


def registered(beta: float) -> Make:
    own = Registered(beta)
    return lambda: Mine(own.beta)


def of_an_array(beta: float) -> Make:
    class Array(numpy.ndarray[Any, Any]):
        pass

    own: Any = numpy.array([1.0]).view(Array)
    own.beta = beta
    return lambda: Mine(own.beta)


def of_a_path(beta: float) -> Make:
    class Own(type(Path())):  # type: ignore[misc]
        pass

    own = Own("x")
    own.beta = beta
    return lambda: Mine(own.beta)


def of_a_logger(beta: float) -> Make:
    own: Any = logging.getLogger("of_a_logger")
    own.beta = beta
    return lambda: Mine(own.beta)


def of_a_property(beta: float) -> Make:
    class Own(property):
        def __get__(self, of: Any, kind: Any = None) -> Any:
            return self.beta  # type: ignore[attr-defined]

    own: Any = Own(lambda self: 0.5)
    own.beta = beta
    return type("Found", (Mine,), {"beta": own})


LIES: dict[str, Any] = {
    "__getstate__": lambda self: {},
    "__reduce__": lambda self: (int, ()),
    "__reduce_ex__": lambda self, protocol: (int, ()),
}


CHANGED: dict[str, Callable[[float], Make]] = {
    "a module in a closure": of_module("parts", lambda module: module.BETA),
    "a module within a package": of_module("parts", lambda module: module.below.BETA),
    "a function of a module": of_module("parts", lambda module: module.beta()),
    "a class of a module": of_module("parts", lambda module: module.Kept.BETA),
    "a composed name": of_module("parts", lambda module: getattr(module, "".join(["BE", "TA"]))),
    "the dictionary of a module": of_module("parts", lambda module: module.__dict__["beta".upper()]),
    "the variables of a module": of_module("parts", lambda module: vars(module)["beta".upper()]),
    "an attribute getter": of_module("parts", operator.attrgetter("BETA")),
    "an installed module": of_module("installed", lambda module: module.BETA),
    "a dictionary of an installed module": of_module("installed", lambda module: module.DEEP["beta"]),
    "a class of an installed module": of_module("installed", lambda module: module.Kept().BETA),
    "a module in an attribute": in_an_attribute,
    "a module imported in another method": imported_in_another_method,
    "a module that makes its attributes": lazily,
    "a name in data": by_data,
    "a built-in name": set_in(builtins, "beta_of_all", lambda: beta_of_all),  # type: ignore[name-defined] # noqa: F821
    "a constant of math": set_in(math, "beta", lambda: math.beta),  # type: ignore[attr-defined]
    "a function of math": set_in(math, "beta", lambda: math.beta(), lambda beta: lambda: beta),  # type: ignore[attr-defined]
    "an object of math": set_in(math, "beta", lambda: math.beta.of, lambda beta: types.SimpleNamespace(of=beta)),  # type: ignore[attr-defined]
    "a constant of numpy": set_in(numpy, "beta", lambda: numpy.beta),  # type: ignore[attr-defined]
    "a function of numpy": set_in(numpy, "beta", lambda: numpy.beta(0.5), lambda beta: numpy.sin if beta < 0.5 else numpy.cos),  # type: ignore[attr-defined]
    "a constant of thalweg": set_in(thalweg, "beta", lambda: thalweg.beta),  # type: ignore[attr-defined]
    "a class of the library": set_in(statistics.NormalDist, "beta", lambda: statistics.NormalDist().beta),  # type: ignore[attr-defined]
    "a method of the library": by_method,
    "a module with the name of another": another_math,
    **{f"an object with {name}": instance(**{name: lie}) for name, lie in LIES.items()},
    **{
        f"a {base.__name__} that hides its content": instance(base, content=content, __reduce_ex__=LIES["__reduce_ex__"])
        for base, content in {
            list: lambda beta: [beta],
            tuple: lambda beta: (beta,),
            set: lambda beta: {beta},
            frozenset: lambda beta: {beta},
            dict: lambda beta: {beta: 1},
            collections.deque: lambda beta: [beta],
            collections.OrderedDict: lambda beta: {beta: 1},
            collections.UserDict: lambda beta: {beta: 1},
            collections.Counter: lambda beta: {beta: 1},
        }.items()
    },
    "slots": in_slots,
    "a registered copy": registered,
    "an attribute of an array": of_an_array,
    "an attribute of a path": of_a_path,
    "an attribute of a logger": of_a_logger,
    "an attribute of a property": of_a_property,
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_is_reached_by_other_ways_counts(case: str) -> None:
    made = CHANGED[case]
    one = Identity("mine", made(0.2)).digest
    assert one == Identity("mine", made(0.2)).digest
    assert one != Identity("mine", made(0.9)).digest


def unnamed() -> dict[str, tuple[Any, str]]:
    import gc
    import inspect
    import pickle
    from importlib import import_module as load
    from sys import modules as loaded

    stored = pickle.dumps(Mine)
    return {
        "importlib": (lambda: Mine(importlib.import_module("parts").BETA), "`importlib.import_module`"),
        "another name of import_module": (lambda: Mine(load("parts").BETA), "`load` uses `importlib.import_module`"),
        "modules": (lambda: Mine(sys.modules["parts"].BETA), "`sys.modules`"),
        "another name of modules": (lambda: Mine(loaded["parts"].BETA), "`loaded` uses `sys.modules`"),
        "__import__": (lambda: Mine(__import__("parts").BETA), "`__import__`"),
        "partial": (functools.partial(lambda load: Mine(load("parts").BETA), importlib.import_module), "`importlib.import_module`"),
        "exec": (lambda: exec("1"), "`exec`"),
        "frames": (lambda: Mine(inspect.currentframe()), "`inspect.currentframe`"),
        "globals of functions": (lambda: Mine(of_module.__globals__["LAZY"]), "`__globals__`"),
        "the collector": (lambda: Mine(gc.get_objects()), "`gc.get_objects`"),
        "pickles": (lambda: pickle.loads(stored), "`pickle.loads`"),
        "derived classes": (lambda: Mine(Mine.__subclasses__()), "`__subclasses__`"),
    }


@pytest.mark.parametrize("case", unnamed())
def test_what_uses_objects_without_their_names_is_refused(case: str) -> None:
    make, words = unnamed()[case]
    with pytest.raises(ReachError, match=f"{re.escape(words)}.*through which it may use anything"):
        Identity("mine", make)


def test_a_proxy_is_refused() -> None:
    kept = Registered(0.2)
    proxy = weakref.proxy(kept)
    with pytest.raises(UnknownError, match="stands for another object"):
        Identity("mine", lambda: Mine(proxy.beta))


def test_a_hidden_dictionary_is_refused() -> None:
    with pytest.raises(UnknownError, match="hides its `__dict__`"):
        Identity("mine", instance(__dict__=property(lambda self: {}))(0.2))


class Usual(Controller):
    """Uses what controllers often use, none of which is a reason to refuse it."""

    log = logging.getLogger("usual")
    pattern = re.compile("a+")

    def __init__(self, gain: float = 1.0) -> None:
        import json
        import random

        self.past: collections.deque[float] = collections.deque(maxlen=8)
        self.random = random.Random(7)
        self._lock = json.dumps({"gain": getattr(self, "gain", gain)})

    def on_ack(self, sample: Sample) -> None:
        self.past.append(float(numpy.mean([sample.rtt or 0.0, math.pi])))
        self.window += self.rng.random() * statistics.fmean(self.past)
        print(self.window, file=sys.stderr, flush=True)
        self.log.debug("window %s", self.window)

    def on_loss(self, sample: Sample) -> None:
        self.window = max(2.0, self.window / 2) if self.pattern.match("a") else float(numpy.random.default_rng(7).random())


def test_usual_parts_are_no_reason_to_refuse() -> None:
    assert Identity("usual", Usual).digest == Identity("usual", Usual).digest


def test_a_sweep_tells_what_to_do_instead(tmp_path: Path) -> None:
    sweep = {"scenario": "two-flows", "schemes": ["mine"], "set": ["duration=6 s"]}
    make = unnamed()["importlib"][0]
    with pytest.raises(thalweg.ScenarioError, match=r"may use anything\. Name what it uses: with `import`"):
        thalweg.sweep(sweep, tmp_path / "sweep", controllers={"mine": make})
