"""The one file that knows numba's options, and where compiled code is kept.

No fastmath: it would assume that there are no infinities, and log 0 is one.

Numba's cache on disk looks at the file a function stands in, not at those of the functions it
calls.  So luce keeps its compiled code in a folder named after a digest of all kernels: whatever
is edited or upgraded, old code is never run.
"""

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., object])
_Value = TypeVar("_Value")
_config: Any = numba.config
_build: Any = cgutils


def digest_of_sources(folder: Path) -> str:
    """Hash numba's version and every Python file below a folder, with its name."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _cache_folder() -> str | None:
    """Where compiled kernels go: beside their sources, or in the user's cache if that is closed.

    None where neither can be written: then they are compiled anew in each process.  Numba's own
    places would not do, since it does not look at all kernels before it takes old code.
    """
    here = Path(__file__).parent
    digest = digest_of_sources(here)
    chosen = _config.CACHE_DIR  # the user's own choice, by NUMBA_CACHE_DIR
    usual = [str(here / "__pycache__"), "~/.cache/luce"]
    for base in [str(chosen)] if chosen else usual:
        folder = Path(base) / f"luce-{digest}"
        try:
            folder = folder.expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except (OSError, RuntimeError):  # closed, full, or nobody's home
            continue
        return str(folder)
    return None


def compiled(function: _Function) -> _Function:
    """Compile on first use, keep the result on disk, release the interpreter lock."""
    before, folder = _config.CACHE_DIR, _cache_folder()
    _config.CACHE_DIR = folder or before
    try:
        jit = numba.njit(cache=folder is not None, nogil=True, error_model="numpy")(function)
    finally:
        _config.CACHE_DIR = before
    return cast(_Function, jit)


def inlined(function: _Function) -> _Function:
    """As `compiled`, for small functions of many arrays: passing those costs more than they do."""
    jit = numba.njit(nogil=True, error_model="numpy", inline="always")
    return cast(_Function, jit(function))


def internal(function: _Function) -> _Function:
    """As `compiled`, for functions that only compiled ones call.

    No way in from Python is built: for a function of many arrays that is most of the code.
    """
    return _without_wrappers(function, forceinline=False)


def embedded(function: _Function) -> _Function:
    """As `internal`, but always merged into its caller by the optimiser."""
    return _without_wrappers(function, forceinline=True)


def reordered(function: _Function) -> _Function:
    """As `embedded`, for sums that may be taken in any order, and so several numbers at a time.

    Infinities and NaN stay what they are: of the liberties of fastmath this is the one taken.
    """
    return _without_wrappers(function, forceinline=True, fastmath={"reassoc"})


def _without_wrappers(function: _Function, forceinline: bool, **options: Any) -> _Function:
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # Not cached: what calls it is, with this inside, and writing it out alone takes time.
    jit = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline, **options)
    return cast(_Function, jit(function))


def _borrowed(typing_context: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), codegen


# Passes an array, or a tuple of arrays, on without counting references.  For arguments of a
# compiled function, which Python keeps alive until it returns.  Numba counts a reference whenever
# a variable is bound to an array, and does so atomically: for a dozen arrays that is as long as a
# sweep over six categories takes.
borrowed = cast(Callable[[_Value], _Value], intrinsic(_borrowed))
if _config.DISABLE_JIT:  # kernels run as Python, to be stepped through or to see what is covered

    def borrowed(given: _Value) -> _Value:
        """Pass on."""
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


# A copy of a generator's four words on the stack: what no other array can overlap, the compiler
# keeps in registers.  To be copied back at the end.
on_stack = cast(Callable[[_Value], _Value], intrinsic(_on_stack))
if _config.DISABLE_JIT:

    def on_stack(bits: Any) -> Any:
        """Copy a generator's words."""
        return bits.copy()


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
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
