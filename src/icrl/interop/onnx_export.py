"""ONNX export (extra `onnx`): the whole way from a raw pair to ζ as one graph,
for run times without Python.

Inputs: `observation` float32 [B, o]; `action` float32 [B, a], or int64 [B] when discrete. Output:
`feasibility` float32 [B], equal to `LearnedConstraint.feasibility` within 1e-5. Selection and
clipping of features are part of the graph. What it does not do is to refuse bad input: NaN and
choices out of range are the caller's to keep out.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from icrl.config import Activation
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Params
from icrl.constraint.region import SHARPNESS, Region, RegionAxis
from icrl.constraint.table import Table
from icrl.errors import InputError
from icrl.files import make_folder, write_whole
from icrl.types import AnyArray
from icrl.versions import PACKAGE

OPSET = 17
IR_VERSION = 8
"""Of 2022: whatever run time a user has reads these."""
OBSERVATION = "observation"
ACTION = "action"
FEASIBILITY = "feasibility"


class _Graph:
    """Nodes and constants of a graph in the making."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self.helper = helper
        self.numpy_helper = numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: AnyArray) -> str:
        """A constant array; its name."""
        self.constants.append(self.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, operator: str, inputs: list[str], output: str | None = None, **attributes: Any
    ) -> str:
        """A node with one output; the output's name."""
        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, inputs, [name], **attributes))
        return name


def export_onnx(constraint: LearnedConstraint, path: str | os.PathLike[str]) -> Path:
    """Write the constraint as an ONNX model, whole or not at all; the path it was written to."""
    try:
        import onnx
    except ImportError as error:
        raise InputError(
            "exporting to ONNX needs the extra 'onnx': pip install 'icrl[onnx]'."
        ) from error
    graph = _Graph(onnx.helper, onnx.numpy_helper)
    inputs = _features(graph, constraint.features, onnx.TensorProto.FLOAT)
    if constraint.region is not None:
        _region(graph, inputs, constraint.region, onnx.TensorProto)
    elif constraint.table is None:
        _network(graph, inputs, constraint.params, constraint.activation)
    else:
        _table(graph, inputs, constraint.table)
    model = _model(onnx, graph, constraint)
    # Here and not at the user's run time, where the message would name a node and no cause.
    onnx.checker.check_model(model, full_check=True)
    target = Path(path)
    make_folder(target.parent)
    write_whole(target, model.SerializeToString())
    return target


def _model(onnx: Any, graph: _Graph, constraint: LearnedConstraint) -> Any:
    """The graph with its inputs and output, and what it is in its metadata."""
    helper = onnx.helper
    kinds = onnx.TensorProto
    features = constraint.features
    if features.discrete:
        action = helper.make_tensor_value_info(ACTION, kinds.INT64, ["batch"])
    else:
        action = helper.make_tensor_value_info(ACTION, kinds.FLOAT, ["batch", features.num_actions])
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "learned_constraint",
            [
                helper.make_tensor_value_info(
                    OBSERVATION, kinds.FLOAT, ["batch", features.num_observations]
                ),
                action,
            ],
            [helper.make_tensor_value_info(FEASIBILITY, kinds.FLOAT, ["batch"])],
            graph.constants,
            doc_string=(
                "zeta(s, a): the probability that a pair is allowed; infeasible where below the "
                "threshold."
            ),
        ),
        producer_name=PACKAGE,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(
        model,
        {
            "threshold": repr(constraint.threshold),
            "features": json.dumps(list(features.names), ensure_ascii=False),
            # A model travels without its folder: where it came from goes with it.
            "provenance": json.dumps(constraint.card, ensure_ascii=False),
        },
    )
    return model


def _features(graph: _Graph, features: Features, float_kind: int) -> str:
    """x = clip([s, a][columns], lower, upper): [B, o], [B, a] or [B] -> [B, f]."""
    full = OBSERVATION
    if features.sees_actions:
        action = ACTION
        if features.discrete:
            choices = graph.constant(
                "choices", np.arange(features.num_actions, dtype=np.int64)[None, :]
            )
            # [B, 1]
            column = graph.add(
                "Unsqueeze", [ACTION, graph.constant("last", np.array([-1], np.int64))]
            )
            # one-hot [B, a]
            action = graph.add("Cast", [graph.add("Equal", [column, choices])], to=float_kind)
        full = graph.add("Concat", [OBSERVATION, action], axis=1)
    if features.selection is not None:
        full = graph.add(
            "Gather",
            [full, graph.constant("columns", np.asarray(features.selection, np.int64))],
            axis=1,
        )
    lower, upper = features.bounds
    # Max and Min instead of Clip, whose bounds must be scalars: ours are one for each feature.
    full = graph.add("Max", [full, graph.constant("lower", lower[None, :])])
    return graph.add("Min", [full, graph.constant("upper", upper[None, :])])


def _network(graph: _Graph, inputs: str, params: Params, activation: Activation) -> None:
    """ζ = σ(W_n φ(... φ(x W_1 + b_1) ...) + b_n): [B, f] -> [B]."""
    x = inputs
    for index, layer in enumerate(params):
        weight = graph.constant(f"weight{index}", layer.weight)
        bias = graph.constant(f"bias{index}", layer.bias)
        x = graph.add("Gemm", [x, weight, bias])
        if index < len(params) - 1:
            x = graph.add("Tanh" if activation is Activation.tanh else "Relu", [x])
    zeta = graph.add("Sigmoid", [x])
    # [B, 1] -> [B]
    graph.add("Squeeze", [zeta, graph.constant("column", np.array([1], np.int64))], FEASIBILITY)


def _region(graph: _Graph, inputs: str, region: Region, kinds: Any) -> None:
    """ζ = σ(s (level − g)), g linear between the nodes of a grid: [B, f] -> [B]."""
    lower: list[str] = []
    shares: list[str] = []
    for number, axis in enumerate(region.axes):
        place = _place(graph, inputs, axis, number, kinds)  # [B]: a fractional index
        last = graph.constant(f"last{number}", np.array(max(len(axis.nodes) - 2, 0), np.float32))
        below = graph.add("Min", [graph.add("Floor", [place]), last])
        lower.append(graph.add("Cast", [below], to=kinds.INT64))
        shares.append(graph.add("Sub", [place, below]))
    one = graph.constant("one", np.array(1.0, np.float32))
    flat_depth = graph.constant("depth", region.depth.reshape(-1))
    total = ""
    for corner in np.ndindex(*(2,) * len(region.axes)):
        index = ""
        weight = ""
        for number, (axis, upper) in enumerate(zip(region.axes, corner, strict=True)):
            name = f"{number}_{''.join(map(str, corner))}"
            step = graph.constant(f"step{name}", np.array(upper, np.int64))
            most = graph.constant(f"most{name}", np.array(len(axis.nodes) - 1, np.int64))
            node = graph.add("Min", [graph.add("Add", [lower[number], step]), most])
            part = shares[number]
            if not upper:
                part = graph.add("Sub", [one, part])
            if number == 0:
                index = node
                weight = part
                continue
            stride = graph.constant(f"stride{name}", np.array(len(axis.nodes), np.int64))
            index = graph.add("Add", [graph.add("Mul", [index, stride]), node])
            weight = graph.add("Mul", [weight, part])
        term = graph.add("Mul", [weight, graph.add("Gather", [flat_depth, index], axis=0)])
        if not total:
            total = term
        else:
            total = graph.add("Add", [total, term])
    level = graph.constant("level", np.array(region.level, np.float32))
    sharpness = graph.constant("sharpness", np.array(SHARPNESS, np.float32))
    graph.add(
        "Sigmoid", [graph.add("Mul", [sharpness, graph.add("Sub", [level, total])])], FEASIBILITY
    )


def _place(graph: _Graph, inputs: str, axis: RegionAxis, number: int, kinds: Any) -> str:
    """Index along an axis, as a fraction: Σ over segments of the share of each that
    lies below x. [B, f] -> [B]."""
    columns = graph.constant(f"columns{number}", np.asarray(axis.columns, np.int64))
    seen = graph.add("Gather", [inputs, columns], axis=1)  # [B, c]
    if axis.categorical:
        return graph.add("Cast", [graph.add("ArgMax", [seen], axis=1, keepdims=0)], to=kinds.FLOAT)
    # Times 0 and not a constant: the result must have as many rows as the batch.
    if len(axis.nodes) == 1:
        zero = graph.constant(f"zero{number}", np.zeros((1, 1), np.float32))
        sums = graph.constant(f"sum{number}", np.array([1], np.int64))
        return graph.add("ReduceSum", [graph.add("Mul", [seen, zero]), sums], keepdims=0)
    starts = graph.constant(f"starts{number}", axis.nodes[None, :-1].astype(np.float32))
    widths = graph.constant(f"widths{number}", np.diff(axis.nodes)[None].astype(np.float32))
    # ONNX has no np.interp: the share of every segment, clipped and summed, is the same.
    parts = graph.add("Div", [graph.add("Sub", [seen, starts]), widths])  # [B, n - 1]
    none = graph.constant(f"none{number}", np.array(0.0, np.float32))
    whole = graph.constant(f"whole{number}", np.array(1.0, np.float32))
    sums = graph.constant(f"sum{number}", np.array([1], np.int64))
    return graph.add("ReduceSum", [graph.add("Clip", [parts, none, whole]), sums], keepdims=0)


def _table(graph: _Graph, inputs: str, table: Table) -> None:
    """ζ at the nearest place, argmin over s of |rows_s − x|²,
    for the chosen action: [B, f] -> [B]."""
    width = table.rows.shape[1]
    # [B, r]
    seen = graph.add("Gather", [inputs, graph.constant("place", np.arange(width))], axis=1)
    # [B, 1, r]
    points = graph.add("Unsqueeze", [seen, graph.constant("middle", np.array([1], np.int64))])
    gaps = graph.add("Sub", [points, graph.constant("rows", table.rows[None])])  # [B, S, r]
    squares = graph.add("Mul", [gaps, gaps])
    distances = graph.add(
        "ReduceSum", [squares, graph.constant("axes", np.array([2], np.int64))], keepdims=0
    )
    flat = graph.add("ArgMin", [distances], axis=1, keepdims=0)  # [B]
    if table.num_actions > 1:
        chosen = graph.constant("acted", np.arange(width, width + table.num_actions))
        # [B]
        choices = graph.add(
            "ArgMax", [graph.add("Gather", [inputs, chosen], axis=1)], axis=1, keepdims=0
        )
        stride = graph.constant("stride", np.array(table.num_actions, np.int64))
        flat = graph.add("Add", [graph.add("Mul", [flat, stride]), choices])
    graph.add(
        "Gather", [graph.constant("zeta", table.feasibility.reshape(-1)), flat], FEASIBILITY, axis=0
    )
