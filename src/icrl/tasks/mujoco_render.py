"""Pictures of one MuJoCo simulation, with or without a display. Nothing here touches the physics.

The OpenGL backend is chosen when the first picture is asked for, not when `mujoco` is imported:
`MUJOCO_GL` if it is set, else EGL on a Linux machine without a display, else MuJoCo's default (a
window system).
"""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray

Decorate = Callable[[Any], None]
"""Adds geoms to an `MjvScene` that are seen and not felt."""

WALL_COLOUR = (0.85, 0.1, 0.1, 0.55)


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera that follows a body."""

    body: int = 1
    """Index of the body in the model (0 is the world)."""
    distance: float = 5.0
    azimuth: float = 115.0
    """Degrees; at 90 the camera looks along +y and x grows to the right."""
    elevation: float = -18.0
    """Degrees; negative looks down."""


def add_wall(scene: Any, x: float, half_width: float = 3.0, height: float = 1.5) -> None:
    """Draw a translucent red wall across the x axis, standing on the floor."""
    # A picture without its wall is better than none.
    if scene.ngeom >= scene.maxgeom:
        return
    mujoco.mjv_initGeom(
        scene.geoms[scene.ngeom],
        mujoco.mjtGeom.mjGEOM_BOX,
        np.array([0.02, half_width, height / 2]),
        np.array([x, 0.0, height / 2]),
        np.eye(3).ravel(),
        np.array(WALL_COLOUR, dtype=np.float32),
    )
    scene.geoms[scene.ngeom].emission = 0.6  # the wall keeps its colour in the shade
    scene.ngeom += 1


class SceneRenderer:
    """An off-screen OpenGL context for one model; `render` gives an RGB array."""

    def __init__(self, model: Any, camera: Camera, decorate: Decorate | None = None) -> None:
        self._gl = _open_context()
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        except (mujoco.FatalError, RuntimeError) as error:
            raise _no_gl(error) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._model = model
        self._decorate = decorate
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        self._camera.trackbodyid = camera.body
        self._camera.distance = camera.distance
        self._camera.azimuth = camera.azimuth
        self._camera.elevation = camera.elevation

    def render(self, data: Any, width: int, height: int) -> AnyArray:
        """The scene of `data` (after `mj_forward`) as [height, width, 3] of uint8."""
        if width < 1 or height < 1:
            raise InputError(
                f"expected an image of at least 1 x 1 pixels, got width={width}, height={height}."
            )
        self._gl.make_current()
        if (self._context.offWidth, self._context.offHeight) != (width, height):
            mujoco.mjr_resizeOffscreen(width, height, self._context)
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, self._camera, everything, self._scene
        )
        if self._decorate is not None:
            self._decorate(self._scene)
        view = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(view, self._scene, self._context)
        image = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, view, self._context)
        return image[::-1].copy()  # OpenGL's first row is the lowest

    def close(self) -> None:
        """Give the context back."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()


def backend() -> str:
    """The OpenGL backend that pictures will use."""
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    if chosen:
        return chosen
    windowless = not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY")
    if platform.system() == "Linux" and windowless:
        return "egl"
    return "default"


def _open_context() -> Any:
    chosen = backend()
    try:
        if chosen == "egl":
            from mujoco.egl import GLContext
        elif chosen == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.rendering.classic.gl_context import GLContext
        context = GLContext(64, 64)
        context.make_current()
    except (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError) as error:
        # PyOpenGL answers a missing library with an AttributeError on None
        raise _no_gl(error) from error
    return context


def _no_gl(error: Exception) -> InputError:
    return InputError(
        f"rendering needs OpenGL, and the backend {backend()!r} cannot be opened "
        f"({type(error).__name__}: {error}). Without a display: install libEGL and Mesa (Debian: "
        "libegl1 libgl1 libgl1-mesa-dri), MUJOCO_GL unset, or install libosmesa6 and set "
        "MUJOCO_GL=osmesa before Python starts. Learning needs no OpenGL."
    )
