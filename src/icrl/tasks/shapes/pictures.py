"""Pictures of an episode as it goes on. They show what an agent sees: nothing of the rule."""

import numpy as np
from PIL import Image, ImageDraw

from icrl.types import AnyArray, FloatArray

_LAND = (243, 245, 248)
_EDGE = (195, 204, 214)
_WAY = (40, 90, 200)
_AGENT = (20, 40, 120)
_GOAL = (245, 194, 66)
_TEXT = (60, 69, 80)
_MARGIN = 12


def draw_map(
    seen: FloatArray,
    low: FloatArray,
    high: FloatArray,
    width: int,
    height: int,
) -> AnyArray:
    """The plane from `low` to `high`, the way so far, the goal and the agent; `seen` is [t + 1, o],
    x y goal first."""
    size = np.asarray(high, np.float64) - low
    scale = min((width - 2 * _MARGIN) / size[0], (height - 2 * _MARGIN) / size[1])
    left = (width - scale * size[0]) / 2
    bottom = (height + scale * size[1]) / 2

    def pixel(place: FloatArray) -> tuple[float, float]:
        return left + scale * float(place[0] - low[0]), bottom - scale * float(place[1] - low[1])

    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle(
        [(left, bottom - scale * size[1]), (left + scale * size[0], bottom)],
        fill=_LAND,
        outline=_EDGE,
    )
    if len(seen) > 1:
        draw.line([pixel(place) for place in seen[:, :2]], fill=_WAY, width=2)
    for place, radius, colour in ((seen[-1, 2:4], 7, _GOAL), (seen[-1, :2], 5, _AGENT)):
        x, y = pixel(place)
        draw.ellipse([(x - radius, y - radius), (x + radius, y + radius)], fill=colour)
    return np.asarray(image).copy()


def draw_chart(
    seen: FloatArray,
    names: tuple[str, ...],
    horizon: int,
    width: int,
    height: int,
) -> AnyArray:
    """Every feature over time, one strip each, from its lowest to its highest value so far; `seen`
    is [t + 1, o]."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    strip = height / len(names)
    for column, name in enumerate(names):
        values = seen[:, column].astype(np.float64)
        lowest = values.min()
        span = max(values.max() - lowest, 1e-9)
        x = _MARGIN + (width - 2 * _MARGIN) * np.arange(len(values)) / horizon
        y = strip * (column + 0.9) - 0.8 * strip * (values - lowest) / span
        draw.line([(0, strip * (column + 1)), (width, strip * (column + 1))], fill=_EDGE)
        if len(values) > 1:
            draw.line(list(zip(x.tolist(), y.tolist(), strict=True)), fill=_WAY, width=2)
        draw.ellipse([(x[-1] - 3, y[-1] - 3), (x[-1] + 3, y[-1] + 3)], fill=_AGENT)
        draw.text((_MARGIN, strip * column + 2), f"{name} {values[-1]:.4g}", fill=_TEXT)
    return np.asarray(image).copy()


def draw_grid(
    side: int,
    goal: tuple[int, int],
    agent: tuple[int, int],
    width: int,
    height: int,
) -> AnyArray:
    """`side` × `side` cells, the goal and the agent as (row, column); row 0 is the top."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    size = (min(width, height) - 2 * _MARGIN) / side
    left = (width - side * size) / 2
    top = (height - side * size) / 2
    for row in range(side):
        for column in range(side):
            corner = (left + column * size, top + row * size)
            if (row, column) == goal:
                colour = _GOAL
            else:
                colour = _LAND
            draw.rectangle(
                [corner, (corner[0] + size, corner[1] + size)],
                fill=colour,
                outline=_EDGE,
            )
    x = left + (agent[1] + 0.5) * size
    y = top + (agent[0] + 0.5) * size
    draw.ellipse([(x - 0.3 * size, y - 0.3 * size), (x + 0.3 * size, y + 0.3 * size)], fill=_AGENT)
    return np.asarray(image).copy()
