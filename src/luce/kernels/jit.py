"""Compilation by numba: all its options.

No fastmath: it assumes that there are no infinities, and log 0 is one.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from luce._lazy import without_collections

with without_collections():
    import numba
    from numba.core import cgutils, event, types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic, overload

    if not getattr(numba.config, "DISABLE_JIT"):  # noqa: B009, set when numba is imported
        cpu_target.target_context.refresh()  # imports that the first kernel would make

from luce.kernels.announcing import compilations, waiting_for
from luce.kernels.code_cache import cache_folder, held

_Function = TypeVar("_Function", bound=Callable[..., object])
_Value = TypeVar("_Value")
_config: Any = numba.config
_build: Any = cgutils
_events: Any = event
_events.register("numba:compile", compilations)


def compiled(function: _Function) -> _Function:
    """Compile on first use, keep the result on disk, release the interpreter lock.

    Of several processes that need the same code one compiles it; the others wait and load it.
    """
    before, folder = _config.CACHE_DIR, cache_folder()
    _config.CACHE_DIR = folder or before
    try:
        jit = numba.njit(cache=folder is not None, nogil=True, error_model="numpy")(function)
    finally:
        _config.CACHE_DIR = before
    if folder is not None and not _config.DISABLE_JIT:
        _compile_in_one_process(jit, Path(folder) / "locks")
    return cast(_Function, jit)


def _compile_in_one_process(jit: Any, locks: Path) -> None:
    """Hold a lock while a function is compiled, and one while its code is written.

    Numba looks into the cache before it compiles: who had to wait finds the code there.  Numba's
    own lock, of threads, is taken first, so that no two threads can wait for each other.
    """
    compile_now, save_now = jit.compile, jit._cache.save_overload
    name = f"{jit.py_func.__module__}.{jit.py_func.__qualname__}"
    waiting = partial(waiting_for, jit.py_func.__module__)

    def compile_alone(signature: Any) -> Any:
        if signature in jit.overloads:
            return compile_now(signature)
        kind = hashlib.sha1(repr(signature).encode()).hexdigest()[:16]
        with global_compiler_lock, held(locks / f"{name}-{kind}", waiting):
            return compile_now(signature)

    def save_alone(signature: Any, code: Any) -> None:
        # One index lists the code of all kinds of data: written by two at once it would be wrong.
        with held(locks / name, waiting):
            save_now(signature, code)

    jit.compile, jit._cache.save_overload = compile_alone, save_alone


def inlined(function: _Function) -> _Function:
    """Compile into the caller's own code, for small functions of many arrays, costly to pass."""
    jit = numba.njit(nogil=True, error_model="numpy", inline="always")
    return cast(_Function, jit(function))


def internal(function: _Function) -> _Function:
    """Compile a function that only compiled code calls.

    No entry point for Python is built, which is most of the code of a function of many arrays.
    """
    return _without_wrappers(function, forceinline=False)


def embedded(function: _Function) -> _Function:
    """Compile as `internal`, and have the optimiser always merge the function into its caller."""
    return _without_wrappers(function, forceinline=True)


def reordered(function: _Function) -> _Function:
    """Compile as `embedded`, and let sums be taken in any order, several terms at a time.

    Reassociation is the only fastmath option in use; infinities and NaN are respected.
    """
    return _without_wrappers(function, forceinline=True, fastmath={"reassoc"})


def compile_by_type(
    function: Callable[..., object],
    choices: Mapping[type, Callable[..., object]],
    otherwise: Callable[..., object],
) -> None:
    """Have compiled code call, in place of a function, the choice for its first argument's type.

    The choice is compiled as `embedded`; the others are not compiled.  Types are named tuples; None
    and all else is `otherwise`.
    """
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    options |= {"nogil": True, "error_model": "numpy"}

    def choose(given: Any, *others: Any) -> Any:
        return choices.get(getattr(given, "instance_class", type(None)), otherwise)

    overload(function, jit_options=options, strict=False)(choose)


def _without_wrappers(function: _Function, forceinline: bool, **options: Any) -> _Function:
    """Compile without an entry point for Python."""
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # Not cached: the cached code of the caller includes it.
    jit = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline, **options)
    return cast(_Function, jit(function))


def _borrowed(typing_context: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), codegen


# Passes an array, or a tuple of arrays, on without counting references.  For arguments of a
# compiled function, which Python keeps alive until it returns.  Numba counts a reference atomically
# whenever a variable is bound to an array: a dozen arrays cost as much as a sweep over six
# categories.
borrowed = cast(Callable[[_Value], _Value], intrinsic(_borrowed))
if _config.DISABLE_JIT:  # kernels run as Python, for a debugger or to measure coverage

    def borrowed(given: _Value) -> _Value:
        """Return the argument unchanged."""
        return given


def _on_stack(typing_context: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        given = context.make_array(kind)(context, builder, arguments[0])
        word = given.data.type.pointee
        space = _build.alloca_once(builder, word, size=4)
        for k in range(4):
            at = context.get_constant(types.intp, k)
            value = builder.load(builder.gep(given.data, [at]))
            builder.store(value, builder.gep(space, [at]))
        local = context.make_array(kind)(context, builder, arguments[0])
        local.data = space
        return _without_owner(context, builder, kind, local._getvalue())

    return bits(bits), codegen


# Copies a generator's four words to the stack.  No other array can overlap them, so the compiler
# keeps them in registers.  The caller copies them back at the end.
on_stack = cast(Callable[[_Value], _Value], intrinsic(_on_stack))
if _config.DISABLE_JIT:

    def on_stack(bits: Any) -> Any:
        """Copy a generator's words."""
        return bits.copy()


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Clear the owners of an array or of a tuple of arrays, so that no reference is counted."""
    kinds: Any = types  # numba's own types are not annotated
    if isinstance(kind, kinds.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = _build.get_null_value(array.meminfo.type)
        array.parent = _build.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, kinds.BaseTuple):
        items = _build.unpack_tuple(builder, value, len(kind))
        bare = [_without_owner(context, builder, k, v) for k, v in zip(kind, items, strict=True)]
        return context.make_tuple(builder, kind, bare)
    return value
