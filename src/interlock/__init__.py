"""Interlock: a runtime through which many LLM agents work together without colliding, leaking or losing work.

What users import is named here and loaded when it is first asked for, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.agent.reader import read_spec, spec_of
    from interlock.agent.spec import Spec
    from interlock.connector.observation import Observation, Person
    from interlock.connector.tool import ToolCall, tool
    from interlock.errors import InterlockError
    from interlock.message.completion import complete_text
    from interlock.message.merge import Merged
    from interlock.run.function import Finish, FunctionRun, NodeInput
    from interlock.runtime import Runtime
    from interlock.scope.scope import Address, Scope
    from interlock.work_graph.reader import form_of_graph, read_graph

__all__ = [
    "Address",
    "Finish",
    "FunctionRun",
    "InterlockError",
    "Merged",
    "NodeInput",
    "NotDone",
    "Observation",
    "Person",
    "Runtime",
    "Scope",
    "Spec",
    "ToolCall",
    "complete_text",
    "form_of_graph",
    "read_graph",
    "read_spec",
    "spec_of",
    "tool",
]

_HOMES = {
    "Address": "interlock.scope.scope",
    "Finish": "interlock.run.function",
    "FunctionRun": "interlock.run.function",
    "InterlockError": "interlock.errors",
    "Merged": "interlock.message.merge",
    "NodeInput": "interlock.run.function",
    "NotDone": "interlock.connector.tool",
    "Observation": "interlock.connector.observation",
    "Person": "interlock.connector.observation",
    "Runtime": "interlock.runtime",
    "Scope": "interlock.scope.scope",
    "Spec": "interlock.agent.spec",
    "ToolCall": "interlock.connector.tool",
    "complete_text": "interlock.message.completion",
    "form_of_graph": "interlock.work_graph.reader",
    "read_graph": "interlock.work_graph.reader",
    "read_spec": "interlock.agent.reader",
    "spec_of": "interlock.agent.reader",
    "tool": "interlock.connector.tool",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
