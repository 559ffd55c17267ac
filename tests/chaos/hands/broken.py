"""How a broken copy is made: a function's place taken by another, wherever it was imported."""

import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import bot
import cogs


@contextlib.contextmanager
def everywhere(function: Callable[..., Any], instead: Callable[..., Any]) -> Iterator[None]:
    """Put ``instead`` in the place of a function in every module of the bot that holds it."""
    _import_all()
    name = function.__name__
    modules = [one for path, one in sys.modules.items() if path.partition(".")[0] in {"bot", "cogs"}]
    with contextlib.ExitStack() as stack:
        for module in modules:
            if vars(module).get(name) is function:
                stack.enter_context(patch.object(module, name, instead))
        yield


def _import_all() -> None:
    """Import every module that answers people: one imported meanwhile would keep the broken function for good."""
    for package in (bot, cogs):
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # The command line is no answer, and runs on import.
            if not one.name.endswith("__main__"):
                importlib.import_module(one.name)
