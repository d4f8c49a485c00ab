"""Finding a user's environment by its name, a Gymnasium id or `module:function`,
and making one, or saying why not."""

import difflib
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, cast

import gymnasium as gym
from gymnasium.envs.registration import registry

from icrl.errors import InputError, unknown_name

Env = gym.Env[Any, Any]
RGB = "rgb_array"
_VERSION = re.compile(r"-v\d+$")
"""How the ids of Gymnasium end, and no function does."""


class EnvFactory(Protocol):
    """Makes a new environment at every call."""

    def __call__(self, render_mode: str | None = None) -> Env:
        """A new environment; with `render_mode` "rgb_array", one that can be pictured,
        where it offers that."""


@dataclass(frozen=True)
class RegisteredEnv:
    """An environment by its Gymnasium id."""

    name: str
    horizon: int | None
    """In place of the id's own limit; None: that one."""

    def __call__(self, render_mode: str | None = None) -> Env:
        """`gymnasium.make`, without its checker, which would look at every step."""
        # Gymnasium's own errors of this call (no such version, a library is missing)
        # tell the reader what to do.
        with blamed(f"gymnasium.make({self.name!r})"):
            return gym.make(
                self.name,
                max_episode_steps=self.horizon,
                disable_env_checker=True,
                render_mode=render_mode,
            )


@dataclass(frozen=True)
class FunctionEnv:
    """An environment by a function (or class) of the user's."""

    name: str
    function: Callable[..., Any]

    def __call__(self, render_mode: str | None = None) -> Env:
        """Call the function; it is told the render mode if it has a parameter of that name."""
        if render_mode is not None and self._takes_render_mode():
            wanted = {"render_mode": render_mode}
        else:
            wanted = {}
        with blamed(f"{self.name}()"):
            env = self.function(**wanted)
        if not isinstance(env, gym.Env):
            raise InputError(
                f"{self.name}() returned {type(env).__module__}.{type(env).__name__}, expected a "
                "gymnasium.Env: let it make and return one environment (a vector env is made of it "
                "here)."
            )
        return env

    def _takes_render_mode(self) -> bool:
        try:
            return "render_mode" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # a builtin that does not say
            return False


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Turn what a user's code raises into an `InputError` that says where in it,
    and how to see all of it."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise _blame(where, error) from error


def _blame(where: str, error: Exception) -> InputError:
    # The innermost frame: where it was raised is where the user has to look.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}, line {frame.lineno}, in {frame.name}"
    text = str(error)
    # what failed is the reader: the fault is in what it read
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{os.path.basename(error.filename)}, line {error.lineno}"
        text = error.msg
    reason = " ".join(text.split())[:300] or "no message"
    return InputError(
        f"{where} raised {type(error).__name__}: {reason} ({place}). Mend it, or try it by itself "
        "in Python to see the whole traceback."
    )


def is_own_name(name: str) -> bool:
    """The name may be that of a user's environment: a Gymnasium id that exists, or has a colon."""
    return ":" in name or name in registry


def close_ids(name: str) -> list[str]:
    """Registered Gymnasium ids that a misspelt one may have meant: at most three."""
    return difflib.get_close_matches(name, list(registry), n=3, cutoff=0.7)


def find_factory(name: str, horizon: int | None) -> EnvFactory:
    """The environment called `name`: a registered Gymnasium id, `module:id` (imported first),
    or `module:function`."""
    module, colon, attribute = name.partition(":")
    if colon and not _VERSION.search(attribute):
        return FunctionEnv(name, find_function(name))
    if colon:
        _import(module, name)
    elif name not in registry:
        raise unknown_name("Gymnasium id", name, registry)
    return RegisteredEnv(name, horizon)


def find_function(name: str) -> Callable[..., Any]:
    """What `module:function` names; the current directory is on the path."""
    found = find_object(name, "function")
    if not callable(found):
        raise InputError(
            f"{name} is {type(found).__name__}, expected a function: it is called whenever a new "
            "one is needed."
        )
    return cast(Callable[..., Any], found)


def find_object(name: str, kind: str) -> Any:
    """What `module:name` names, a function or another `kind` of thing;
    the current directory is on the path."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise InputError(
            f"{name!r} does not name a {kind}: expected module:{kind}, e.g. my_package.mine:{kind}."
        )
    found: Any = _import(module_name, name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            if hasattr(found, "__dict__"):
                known = [each for each in vars(found) if not each.startswith("_")]
            else:
                known = []
            raise unknown_name(f"{kind} of {module_name}", attribute, known)
        found = getattr(found, part)
    return found


def _import(module: str, name: str) -> ModuleType:
    here = os.getcwd()
    # The command `icrl` does not have the folder on its path, as `python -m icrl` has.
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        # The module is there, and one that it imports is not: another advice.
        if module != missing and not module.startswith(f"{missing}."):
            raise InputError(
                f"{name}: {module} needs the module {missing!r}, which is not there: install it, "
                "or mend the import."
            ) from error
        raise InputError(
            f"{name}: there is no module {module!r} in {here} or on the Python path: start icrl "
            "from the folder that holds it, or add that folder to PYTHONPATH."
        ) from error
    except Exception as error:
        raise _blame(f"importing {module}", error) from error
