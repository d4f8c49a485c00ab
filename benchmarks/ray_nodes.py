"""A Ray cluster of three nodes on this machine, two of which may be removed (extra `ray`).

For `chaos.py --kind ray` and `tests/extras/test_ray.py`. That Ray comes up is not what is tried
there: on a busy machine it is waited for, and started again.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from icrl.experiment.engine.ray_engine import import_ray

STARTS = 3
"""How often Ray may try to start its own processes."""
START_SECONDS = 400.0
"""How long each of these may take: others may keep the cores busy."""


@contextmanager
def three_nodes(folder: Path) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster` of a core each, which this process is connected to.

    The head, and `nodes_to_die`. `folder` is for a script that lasts as long as the cluster.
    """
    ray = import_ray()  # before anything else imports it: it reads its settings then
    with _raylets_know_their_port(folder):
        cluster = _started(ray)
        try:
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def _started(ray: Any) -> Any:
    from ray.cluster_utils import Cluster

    for number in range(STARTS):
        made = Cluster(initialize_head=False)
        try:
            # `wait` has 30 seconds
            made.add_node(wait=False, num_cpus=1, include_dashboard=False, **_free_ports())
            made.nodes_to_die = [
                made.add_node(wait=False, num_cpus=1, **_free_ports()) for _ in range(2)
            ]
            made.wait_for_nodes(timeout=START_SECONDS)
            ray.init(address=made.address, log_to_driver=False, logging_level="error")
            return made
        except Exception:
            ray.shutdown()
            made.shutdown()
            if number == STARTS - 1:
                raise
    raise AssertionError


def _free_ports() -> dict[str, int]:
    """Ports for a node's helpers.

    Ray waits 15 seconds for those that it has to find out,
    which on a busy machine does not do (its issue 65983).
    """
    names = (
        "metrics_agent_port",
        "metrics_export_port",
        "dashboard_agent_listen_port",
        "runtime_env_agent_port",
    )
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}


@contextmanager
def _raylets_know_their_port(folder: Path) -> Iterator[None]:
    """A raylet gives the agent beside it 15 seconds to say its port, unless it is told one.

    Of the four ports above Ray hands on three. There is no setting for the fourth (its issue
    65983), but the raylet has the flag: a script in its place adds it.
    """
    from ray._private import services

    own = services.RAYLET_EXECUTABLE
    script = folder / "raylet"
    script.write_text(f'#!/bin/sh\nexec "{own}" "$@" --dashboard_agent_listen_port=52365\n')
    script.chmod(0o755)
    services.RAYLET_EXECUTABLE = str(script)
    try:
        yield
    finally:
        services.RAYLET_EXECUTABLE = own
