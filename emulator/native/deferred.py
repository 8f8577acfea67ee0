"""Compiled functions that are made when they are first needed, so that processes which run finished machine code
(see ``object_code``) never import the compiler: that takes most of a second of CPU.

To numba a deferred function is the function that it defers; Python can call it, and it has the same attributes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

_making = threading.RLock()


class Deferred:
    """A proxy for what ``make`` returns: a dispatcher or an intrinsic of numba's."""

    __slots__ = ("__call__", "__dict__", "__weakref__")
    # What Python's call of the proxy leads to, in a slot of its own: a method would be a frame more for each call.

    def __init__(self, make: Callable[[], Any], function: Callable[..., Any] | None = None) -> None:
        """``function``: the Python function that is to be compiled."""
        self._make: Callable[[], Any] | None = make
        self._made: Any = None
        self._type: Any = None
        self.__call__: Callable[..., Any] = self._call_made
        self.address = 0
        """Address of the machine code that was adopted; 0 without."""
        if function is not None:
            update_wrapper(self, function)

    @property
    def made(self) -> Any:
        """numba's own object; made by the first who asks."""
        if self._make is not None:
            with _making:
                if self._make is not None:
                    self._made = self._make()
                    self._make = None
        return self._made

    def adopt(self, machine_code: Callable[..., Any], address: int) -> None:
        """Call this from Python from now on, and not the compiler's."""
        self.__call__, self.address = machine_code, address

    @property
    def _numba_type_(self) -> Any:
        """Where compiled code calls it: numba asks globals for this."""
        if self._type is None:
            from numba.core.registry import cpu_target

            made = self.made
            cpu_target.typing_context.refresh()  # an intrinsic that was made since the compilation began
            cpu_target.target_context.refresh()
            self._type = cpu_target.typing_context.resolve_value_type(made)
        return self._type

    def _call_made(self, *arguments: Any, **named: Any) -> Any:
        return self.made(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # Python's own questions, as copy's and pickle's, need no compiler
        return getattr(self.made, name)
