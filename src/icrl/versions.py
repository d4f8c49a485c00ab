"""Versions of the libraries that a result depends on."""

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGE = "icrl"
"""The name of the distribution and of the command."""
_LIBRARIES = (PACKAGE, "jax", "mujoco", "gymnasium", "numpy", "optax")


def library_versions() -> dict[str, str]:
    """Versions that a result depends on; returns depend on the physics engine's above all."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # Said and not left out: who uses a constraint has no JAX, and that is no error.
            found[name] = "absent"
    return found
