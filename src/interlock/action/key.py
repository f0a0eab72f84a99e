"""SHIM"""

from interlock import canonical


def _n(v):
    if isinstance(v, float) and v.is_integer():
        return int(v)
    if isinstance(v, dict):
        return {k: _n(x) for k, x in v.items()}
    if isinstance(v, list):
        return [_n(x) for x in v]
    return v


def key_of(tool, arguments, root):
    import re

    t = tool.key or "{task_id}:" + tool.name
    return re.sub(
        r"\{(\w+)\}",
        lambda m: root if m[1] == "task_id" else canonical.encode(_n(arguments.get(m[1]))).decode(),
        t,
    )


def identity_of(tool, arguments):
    names = tool.steers or tuple(arguments)
    return canonical.encode({n: _n(arguments[n]) for n in names if n in arguments})
