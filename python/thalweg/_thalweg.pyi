"""The compiled half."""

import os
import random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

from typing_extensions import disjoint_base

__all__ = [
    "build",
    "max_reps",
    "version",
    "Controller",
    "Environments",
    "RunMeasurements",
    "Message",
    "MessageKind",
    "Sample",
    "Stop",
    "Table",
    "main",
    "call",
    "heat_map",
    "history",
    "in_candidate",
    "listed",
    "nearest",
    "option_needs_value",
    "option_unit",
    "png",
    "run",
    "validate",
    "work",
]

build: str
max_reps: int
version: str

@disjoint_base
class Controller:
    """Base class of congestion controllers. A subclass implements `on_ack` and `on_loss`, which set `window` and
    `pacing_rate`."""

    per_packet: ClassVar[bool]
    """`on_ack` is called for each acknowledgement, and not once a round trip."""
    ecn: str | None
    """None; or "classic": queues may mark packets instead of dropping them (ECT(0), RFC 3168), and a mark is reported as a loss; or
    "l4s": queues mark early (ECT(1), RFC 9331), and only samples report marks."""
    window: float
    """Congestion window in segments, from 1 to 2^30; initially 10."""
    @property
    def rng(self) -> random.Random:
        """The flow's own random number generator (`random.Random`), seeded from the run's seed."""
    pacing_rate: float | None
    """Pacing rate of the payload in bit/s; None sends as soon as the window allows."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Controller: ...
    def on_ack(self, sample: Sample) -> None:
        """Handles newly acknowledged data."""
    def on_loss(self, sample: Sample) -> None:
        """Handles the first loss in a window of data, or the first congestion mark, by `sample.kind`."""
    def on_undo(self, window: float) -> None:
        """Handles a spurious loss; `window` is the value before it, and is restored unless this is overridden."""

@final
class Sample:
    """Events at a sender since the last call of `on_ack`."""

    @property
    def kind(self) -> str:
        """"ack" in `on_ack`; in `on_loss` "detected", "timeout" or "mark"."""
    @property
    def repeated(self) -> bool:
        """True if the timer had already expired for the same segment."""
    @property
    def now(self) -> float:
        """Current time in seconds."""
    @property
    def interval(self) -> float:
        """Time since the last call of `on_ack` in seconds."""
    @property
    def sent(self) -> int:
        """Packets sent, including retransmissions."""
    @property
    def acked(self) -> int:
        """Packets newly acknowledged."""
    @property
    def acked_bytes(self) -> int:
        """Payload newly acknowledged, in bytes."""
    @property
    def lost(self) -> int:
        """Packets declared lost."""
    @property
    def lost_bytes(self) -> int:
        """Payload declared lost, in bytes."""
    @property
    def marks(self) -> int:
        """Packets that arrived with a congestion mark (CE)."""
    @property
    def rtt(self) -> float | None:
        """Mean of the measured round-trip times, in seconds."""
    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time in seconds."""
    @property
    def min_rtt(self) -> float | None:
        """Minimum round-trip time so far in seconds."""
    @property
    def delivery_rate(self) -> float | None:
        """Latest sample of the payload delivery rate in bit/s."""
    @property
    def in_flight(self) -> float:
        """Payload in flight, in segments."""
    @property
    def segment(self) -> int:
        """Payload of a full packet in bytes."""
    @property
    def app_limited(self) -> bool:
        """True if the window was not the limit: the sample does not show the path's capacity."""
    @property
    def recovering(self) -> bool:
        """True during loss recovery, when the window should not grow."""

@final
class Environments:
    columns: ClassVar[list[str]]
    @staticmethod
    def new(
        scenario: str | os.PathLike[str],
        text: str | None,
        sets: Sequence[str],
        count: int,
        interval: float | None,
        longest: float,
        delay: float,
        jobs: int | None,
        ecn: str | None,
    ) -> tuple[Environments | None, int, list[Message]]: ...
    @property
    def names(self) -> list[str]: ...
    def reset(
        self, which: Sequence[int], seeds: Sequence[int], changes: Sequence[Sequence[str]], seen: object
    ) -> tuple[int, list[Message]]: ...
    def reset_one(self, seed: int, changes: Sequence[str]) -> tuple[list[float], int, list[Message]]: ...
    def step_one(self, window: float, rate: float) -> tuple[list[float], int, list[Message]]: ...
    def length(self, changes: Sequence[str]) -> tuple[tuple[float, float, float | None] | None, int, list[Message]]: ...
    def step(self, windows: object, rates: object, begun: Sequence[int], seen: object) -> tuple[int, list[Message]]: ...

@final
class Table:
    @staticmethod
    def of(parts: Sequence[tuple[str, str, Sequence[Any]]]) -> Table: ...
    def parts(self) -> list[tuple[str, str, list[Any]]]: ...
    def without_missing(self) -> tuple[Table, list[str]]: ...
    @property
    def column_names(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class RunMeasurements:
    def document(self) -> str: ...
    def summary(self) -> str: ...
    def figure(self, plots: Sequence[str] | None = None, time: tuple[float, float] | None = None) -> str: ...
    def scenario(self) -> str: ...
    def messages(self) -> list[Message]: ...
    def flows(self) -> Table: ...
    def links(self) -> Table: ...
    def quantities(self) -> list[str]: ...
    def series(self, quantity: str | None = None) -> Table: ...

@final
class Message:
    """Message of a command."""

    @property
    def severity(self) -> str:
        """"note", "warning" or "error"."""
    @property
    def kind(self) -> MessageKind:
        """Subject."""
    @property
    def argument(self) -> str | None:
        """Name of the argument, as the option without hyphens in front."""
    @property
    def value(self) -> str | None:
        """Refused value."""
    @property
    def allowed(self) -> list[str]:
        """Allowed values, if these are few."""
    @property
    def suggestions(self) -> list[str]:
        """Similar names or values."""
    @property
    def parts(self) -> list[tuple[str, str]]:
        """Parts of the text: "text"; "option", the name of an option; "list", the name of a list of `thalweg list`."""
    @property
    def is_unknown_name(self) -> bool:
        """True if there is nothing of a name that was given."""

@final
class MessageKind:
    """The subject of a message, which decides the attributes that it has."""

    VALUE: ClassVar[MessageKind]
    """The argument's value is refused."""
    ARGUMENT: ClassVar[MessageKind]
    """The argument is wrong."""
    UNKNOWN_OPTION: ClassVar[MessageKind]
    """There is no argument of this name."""
    UNKNOWN_NAME: ClassVar[MessageKind]
    """There is no command of this name."""
    REPEATED: ClassVar[MessageKind]
    """The argument is given twice."""
    SCENARIO: ClassVar[MessageKind]
    """The text has a position in a scenario."""
    OTHER: ClassVar[MessageKind]
    """The text is all."""

    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Stop:
    def __new__(cls) -> Stop: ...
    def set(self) -> None: ...

def main(arguments: Sequence[str]) -> int: ...
def call(
    arguments: Sequence[str],
    controllers: Sequence[tuple[str, Callable[[], Controller]]],
    stamp: str,
    stop: Stop | None = None,
    show: Callable[[float | None, str], object] | None = None,
) -> tuple[int, str, list[Message], BaseException | None]: ...
def heat_map(
    metric: str,
    title: str,
    columns: tuple[str, Sequence[str]],
    rows: tuple[str, Sequence[str]],
    cells: Sequence[Sequence[float | None]],
    scale: tuple[float, float],
) -> str: ...
def in_candidate() -> bool: ...
def png(svg: str) -> bytes: ...
def history(title: str, times: Sequence[float], past: Sequence[tuple[str, Sequence[float]]]) -> tuple[int, int, bytes]: ...
def work(
    batch: bytes, controllers: Sequence[tuple[str, Callable[[], Controller]]], at_a_time: int
) -> tuple[bytes, BaseException | None]: ...
def listed() -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[tuple[str, str, str, str]]]: ...
def nearest(name: str, known: Sequence[str]) -> str | None: ...
def option_needs_value(words: Sequence[str], option: str) -> bool | None: ...
def option_unit(words: Sequence[str], option: str) -> str | None: ...
def validate(
    scenario: str | os.PathLike[str],
    text: str | None,
    sets: Sequence[str],
    controllers: Sequence[tuple[str, Callable[[], Controller]]],
) -> tuple[int, str, list[Message]]: ...
def run(
    scenario: str | os.PathLike[str],
    text: str | None,
    sets: Sequence[str],
    schemes: Sequence[str],
    flows: Sequence[str],
    seed: int | None,
    replications: int,
    jobs: int | None,
    controllers: Sequence[tuple[str, Callable[[], Controller]]],
    is_candidate: bool,
    limit: float | None,
    stop: Stop | None = None,
    show: Callable[[float | None, str], object] | None = None,
) -> tuple[RunMeasurements | None, int, list[Message], BaseException | None]: ...
