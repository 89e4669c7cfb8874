"""onnxruntime on one thread: the operators that it has, as graphs of one node, results bound to what it allocates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"onnxruntime {onnxruntime.__version__}"
OWN_COIN = False


def prepare(task: Task) -> Callable[[], Any] | None:
    """A call that does the work, and returns the answer; None for what is no single operator."""
    match task.operation.name:
        case "argmax":
            node, constants = helper.make_node("ArgMax", ["x"], ["ids"], axis=1, keepdims=0), []
            outputs = [("ids", TensorProto.INT64)]
        case "softmax":
            node, constants = helper.make_node("Softmax", ["x"], ["p"], axis=1), []
            outputs = [("p", TensorProto.FLOAT)]
        case "top_k=50":
            node = helper.make_node("TopK", ["x", "k"], ["values", "ids"], axis=1, sorted=1)
            constants = [helper.make_tensor("k", TensorProto.INT64, [1], [50])]
            outputs = [("values", TensorProto.FLOAT), ("ids", TensorProto.INT64)]
        case _:
            return None
    session = _session(node, constants, outputs)
    names = [name for name, _ in outputs]
    feed = {"x": np.ascontiguousarray(task.x)}

    def call() -> Any:
        results = session.run(names, feed)
        return results[0] if len(results) == 1 else results

    return call


def _session(node: Any, constants: list[Any], outputs: list[tuple[str, int]]) -> onnxruntime.InferenceSession:
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
