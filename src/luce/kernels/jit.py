"""Compilation by numba: all its options, and the folder of compiled code.

No fastmath: it assumes that there are no infinities, and log 0 is one.

Numba's cache on disk checks the file of a function, not the files of the functions that it calls.
luce therefore keeps compiled code in a folder named by a digest of all kernels, so that no edit and
no upgrade of numba leaves old code in use.
"""

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, event, types
from numba.extending import intrinsic, overload

_Function = TypeVar("_Function", bound=Callable[..., object])
_Value = TypeVar("_Value")
_config: Any = numba.config
_build: Any = cgutils
_events: Any = event


def digest_of_sources(folder: Path) -> str:
    """Hash numba's version and the name and content of every Python file below a folder."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> str | None:
    """Find the folder of compiled kernels: beside their sources, else in the user's cache.

    None if neither can be written: kernels are then compiled anew in each process.  Numba's default
    folders are not used, since numba does not check all kernels before it loads old code.
    """
    here = Path(__file__).parent
    digest = digest_of_sources(here)
    chosen = _config.CACHE_DIR  # set by the user through NUMBA_CACHE_DIR
    usual = [str(here / "__pycache__"), "~/.cache/luce"]
    for base in [str(chosen)] if chosen else usual:
        folder = Path(base) / f"luce-{digest}"
        try:
            folder = folder.expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except (OSError, RuntimeError):  # read-only, full, or without a home directory
            continue
        return str(folder)
    return None


def compiled(function: _Function) -> _Function:
    """Compile on first use, keep the result on disk, release the interpreter lock."""
    before, folder = _config.CACHE_DIR, cache_folder()
    _config.CACHE_DIR = folder or before
    try:
        jit = numba.njit(cache=folder is not None, nogil=True, error_model="numpy")(function)
    finally:
        _config.CACHE_DIR = before
    return cast(_Function, jit)


class _Compilations(event.Listener):
    """Calls a function with the module of each kernel that numba starts to compile.

    Kernels compiled on the way, because another one calls them, are left out.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._depth = tell, 0

    def on_start(self, started: Any) -> None:
        module = started.data["dispatcher"].py_func.__module__
        if self._depth == 0 and module.startswith("luce.kernels."):
            self._tell(module.removeprefix("luce.kernels."))
        self._depth += 1

    def on_end(self, ended: Any) -> None:
        self._depth -= 1


def tell_of_compilations(tell: Callable[[str], None]) -> None:
    """Have a function called, from now on, with the module of each kernel that is compiled.

    Kernels that are loaded from the cache are not compiled, and nothing is said of them.
    """
    _events.register("numba:compile", _Compilations(tell))


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
    function: Callable[..., None],
    choices: dict[type, Callable[..., None]],
    otherwise: Callable[..., None],
) -> None:
    """Have compiled code call, in place of a function, the choice for its first argument's type.

    The choice is compiled as `embedded`; the others are not compiled.  Types are named tuples.
    """
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    options |= {"nogil": True, "error_model": "numpy"}

    def choose(given: Any, *others: Any) -> Any:
        return choices.get(given.instance_class, otherwise)

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
