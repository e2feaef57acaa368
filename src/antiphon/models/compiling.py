"""Loops over tens of millions of events, compiled to machine code by numba.

Law: a compiled function computes what it would compute in Python. It is compiled anew in every
process, in some seconds: numba's cache does not notice that a function has changed which another
file's calls, and breaks when a class in a signature is renamed.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from antiphon.core.errors import UsageError

try:
    import numba
    import numpy as np
    from numpy.typing import NDArray
except ImportError as error:
    message = f"models need {error.name}: run: pip install 'antiphon[models]'"
    raise UsageError(message) from error

Function = TypeVar("Function", bound=Callable[..., Any])

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays when it is first called."""
    return cast("Function", numba.njit(function))
