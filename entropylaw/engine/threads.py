"""One thread for the linear algebra of a call, whose matrices are small: more would wait for one another."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Make ``function`` compute with one thread of BLAS; the user's program keeps its number."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if os.environ.get("OMP_NUM_THREADS") == "1":
            return function(*args, **kwargs)
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return call


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process, which numpy and scipy have loaded."""
    # Not at the top: the command line fixes the number before numpy is imported.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
