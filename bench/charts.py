"""Charts as SVG, without a plotting library: y is logarithmic, x as well or not."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 40, 48
# Distinct also for the colour-blind (Okabe and Ito); the first is ours and drawn thicker.
COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #666666 #b8a200 #000000 #8b4513 #7f3fbf".split()
LABEL_HEIGHT = 13


class LogAxis:
    """From whole powers of ten around the values to places on the picture."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> Iterator[float]:
        return (10.0**power for power in range(self.low, self.high + 1))


class LinearAxis:
    """In steps of a hundredth, or of as many as make ten of them at most."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = math.floor(min(values) * 100), math.ceil(max(values) * 100)
        self._step = max(1, math.ceil((high - low) / 10))
        self._low, self._high = min(low, high - self._step), high
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = (value * 100 - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> Iterator[float]:
        return (hundredths / 100 for hundredths in range(self._high, self._low - 1, -self._step))


Axis: TypeAlias = LogAxis | LinearAxis


def chart(title: str, x_name: str, lines: Mapping[str, Points], x_axis: type[Axis] = LogAxis) -> str:
    points = [point for line in lines.values() for point in line]
    across = x_axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = LogAxis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        f' font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 22, title, "start", size=14),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_name, "middle"),
        *_grid(across, up),
        *_drawn(lines, across, up),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _grid(across: Axis, up: Axis) -> Iterator[str]:
    for tick in across.ticks():
        x = across.place(tick)
        yield _line([(x, TOP), (x, HEIGHT - BOTTOM)], "#ddd", 1)
        yield _text(x, HEIGHT - BOTTOM + 16, f"{tick:,.15g}", "middle")
    for tick in up.ticks():
        y = up.place(tick)
        yield _line([(LEFT, y), (WIDTH - RIGHT, y)], "#ddd", 1)
        yield _text(LEFT - 6, y + 4, f"{tick:,.15g}", "end")


def _drawn(lines: Mapping[str, Points], across: Axis, up: Axis) -> Iterator[str]:
    """The lines, and at their ends their names, moved apart where they would cover each other."""
    ends: list[tuple[float, float, str, str]] = []
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(across.place(x), up.place(y)) for x, y in points]
        yield _line(places, colour, 3 if number == 0 else 1.5)
        for x, y in places:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if number == 0 else 3}" fill="{colour}"/>'
        ends.append((places[-1][1], places[-1][0], name, colour))
    lowest = 0.0
    for y, x, name, colour in sorted(ends):
        lowest = max(y, lowest + LABEL_HEIGHT)
        label_x = WIDTH - RIGHT + 12
        yield _line([(x, y), (label_x - 2, lowest)], colour, 0.5)
        yield _text(label_x, lowest + 4, name, "start", colour)


def _line(places: Points, colour: str, width: float) -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(text)}</text>'
    )
