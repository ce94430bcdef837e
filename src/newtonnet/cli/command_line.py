"""What a command was called with: the line that repeats it, and every argument as plain data."""

import shlex
from pathlib import Path
from typing import Any

import typer


def command_line(context: typer.Context) -> str:
    """The command line that repeats this invocation: whatever was given, and nothing else."""
    words = ["newtonnet", str(context.info_name)]
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        value = context.params[str(parameter.name)]
        if source is None or source.name != "COMMANDLINE":
            continue
        values = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
        if parameter.param_type_name == "argument":
            words += values
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts or parameter.opts)[0])
        else:
            words += [word for one in values for word in (parameter.opts[0], one)]
    return shlex.join(words)


def plain_arguments(context: typer.Context) -> dict[str, Any]:
    """Every argument by its name, paths as text."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in sorted(context.params.items())}
