"""How JAX runs under the command line: on the CPU, single-threaded kernels,
compiled code kept between runs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icrl.errors import require_learn
from icrl.versions import PACKAGE

_THREADS = "OPENBLAS_NUM_THREADS"


def configure_numpy() -> None:
    """Give NumPy's matrix products one thread; to be called before NumPy is imported.

    OpenBLAS shares a product of more than 2¹⁸ multiplications (100 x 64 x 64) among all cores, and
    its threads wait for each other by spinning: acting with 128 hidden units then cost eleven times
    the CPU (docs/performance.md).
    """
    os.environ.setdefault(_THREADS, "1")


@contextmanager
def one_thread() -> Iterator[None]:
    """The same while this lasts, in a script of the user's that imported NumPy long before; also a
    decorator. What the user set stays."""
    if _THREADS in os.environ:
        yield
        return
    require_learn()
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def configure_jax() -> None:
    """Set flags before JAX is imported; keep compiled functions in the user's cache directory.

    Kernels at this size are too small to share among threads: two processes with one thread each
    beat one with two. Where JAX and the rest of the extra 'learn' are not installed, that is said
    here, before any work.
    """
    require_learn()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    flags = os.environ.get("XLA_FLAGS", "")
    # What the user set stays: all of these are defaults and no orders.
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / PACKAGE / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
