"""Pictures and lines of environments."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from . import ScenarioError, _thalweg


def checked_mode(mode: str | None) -> str | None:
    """Checks the render mode of an environment."""
    if mode not in (None, "ansi", "rgb_array"):
        raise ScenarioError(f'render_mode is None, "ansi" or "rgb_array", and not {mode!r}')
    return mode


FRAME_STEPS = 512
"""Number of steps in the picture of an environment."""


class Past:
    """Last steps of a simulation, for pictures."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, float, float, float]] = deque(maxlen=FRAME_STEPS)

    def clear(self) -> None:
        """Begins a new episode."""
        self._steps.clear()

    def add(self, seen: Mapping[str, Any]) -> None:
        """Adds a step, unless it repeats the last one, as after the end of an episode."""
        now = _or_nan(seen["now"])
        if self._steps and now <= self._steps[-1][0]:
            return
        rate = _or_nan(seen["acked_bytes"]) * 8e-6 / max(_or_nan(seen["interval"]), 1e-9)
        self._steps.append((now, _or_nan(seen["window"]), _or_nan(seen["rtt"]) * 1e3, rate))

    def frame(self) -> NDArray[Any]:
        """Returns the picture: rows of RGB pixels."""
        times, windows, rtts, rates = zip(*self._steps)
        titles = ("Window, segments", "Round-trip time, ms", "Delivery rate, Mbit/s")
        past = [(title, list(values)) for title, values in zip(titles, (windows, rtts, rates))]
        width, height, pixels = _thalweg.history(f"{times[-1]:.3f} s", list(times), past)
        return numpy.frombuffer(pixels, dtype=numpy.uint8).reshape(height, width, 3).copy()


def _or_nan(cell: float | None) -> float:
    return math.nan if cell is None else float(cell)


def line(seen: Mapping[str, Any]) -> str:
    """Describes a simulation in a line."""
    rtt = "      -" if seen["rtt"] is None else f"{seen['rtt'] * 1e3:7.2f}"
    rate = seen["acked_bytes"] * 8e-6 / max(seen["interval"], 1e-9)
    return f"{seen['now']:9.3f} s  window {seen['window']:8.1f}  rtt {rtt} ms  {rate:9.3f} Mbit/s  lost {seen['lost']:.0f}  marked {seen['marks']:.0f}"
