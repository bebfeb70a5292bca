"""Random bits and the variates made from them, inside compiled code.

The generator is xoshiro256++ (Blackman and Vigna 2021), its state four words in an array: one
array, one chain.  Normal and exponential variates use the ziggurat (Marsaglia and Tsang 2000a),
gammas the squeeze of Marsaglia and Tsang (2000b), Poisson variates Hörmann's transformed rejection
(1993).  NumPy's own generators do the same, but every bit of theirs that compiled code asks for is
a call through a pointer; here everything is inlined, and a gamma costs about half.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compiled, embedded, internal
from luce.kernels.problem import Wide

_LAYERS = 256

# Where the bottom layer of a ziggurat of 256 layers of equal area ends and the tail begins.
_NORMAL_TAIL = 3.6541528853610088
_EXPONENTIAL_TAIL = 7.69711747013104972

_TO_UNIT = 2.0**-53

# Beyond this mean a Poisson variate is a rounded normal one.  The exact rejection sampler
# compares k log(mean) - mean - log k!, which cancels; the skewness neglected is 3e-5.
_LARGE_MEAN = 1e9


def _normal_layers() -> FloatArray:
    """Right ends of the layers under exp(-x^2 / 2), from the bottom one (its width) to 0."""
    tail = math.sqrt(math.pi / 2) * math.erfc(_NORMAL_TAIL / math.sqrt(2))
    area = _NORMAL_TAIL * math.exp(-0.5 * _NORMAL_TAIL**2) + tail
    x = np.empty(_LAYERS + 1)
    x[0], x[1] = area * math.exp(0.5 * _NORMAL_TAIL**2), _NORMAL_TAIL
    for i in range(1, _LAYERS - 1):
        x[i + 1] = math.sqrt(-2.0 * math.log(area / x[i] + math.exp(-0.5 * x[i] ** 2)))
    x[_LAYERS] = 0.0
    return x


def _exponential_layers() -> FloatArray:
    """Right ends of the layers under exp(-x), from the bottom one (its width) to 0."""
    area = (_EXPONENTIAL_TAIL + 1.0) * math.exp(-_EXPONENTIAL_TAIL)
    x = np.empty(_LAYERS + 1)
    x[0], x[1] = area * math.exp(_EXPONENTIAL_TAIL), _EXPONENTIAL_TAIL
    for i in range(1, _LAYERS - 1):
        x[i + 1] = -math.log(area / x[i] + math.exp(-x[i]))
    x[_LAYERS] = 0.0
    return x


_NORMAL = _normal_layers()
_EXPONENTIAL = _exponential_layers()


def new_bits(seeds: np.random.SeedSequence) -> WordArray:
    """State of a generator, from a seed sequence."""
    return seeds.generate_state(4, np.uint64).astype(np.uint64)


@embedded
def next_word(bits: WordArray) -> np.uint64:
    """64 random bits."""
    s0, s1, s2, s3 = bits[0], bits[1], bits[2], bits[3]
    total = s0 + s3
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    bits[1] = s1 ^ s2
    bits[0] = s0 ^ s3
    bits[2] = s2 ^ shifted
    bits[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return np.uint64(word)


@embedded
def uniform(bits: WordArray) -> float:
    """U in (0, 1]: its logarithm is finite."""
    return (np.int64(next_word(bits) >> np.uint64(11)) + 1) * _TO_UNIT


@embedded
def normal(bits: WordArray) -> float:
    """Z ~ Normal(0, 1)."""
    while True:
        word = next_word(bits)
        i = np.int64(word & np.uint64(255))
        x = np.int64(word >> np.uint64(11)) * _TO_UNIT * _NORMAL[i]
        # By arithmetic: a branch on a random bit is guessed wrong every second time.
        sign = float(np.int64((word >> np.uint64(7)) & np.uint64(2)) - 1)
        if x < _NORMAL[i + 1]:  # 99 % of the time
            return float(sign * x)
        if i == 0:
            while True:
                beyond = -math.log(uniform(bits)) / _NORMAL_TAIL
                if -2.0 * math.log(uniform(bits)) > beyond * beyond:
                    return sign * (_NORMAL_TAIL + beyond)
        low, high = math.exp(-0.5 * _NORMAL[i] ** 2), math.exp(-0.5 * _NORMAL[i + 1] ** 2)
        if low + uniform(bits) * (high - low) < math.exp(-0.5 * x * x):
            return float(sign * x)


@embedded
def exponential(bits: WordArray) -> float:
    """E ~ Exponential(1)."""
    beyond = 0.0
    while True:
        word = next_word(bits)
        i = np.int64(word & np.uint64(255))
        x = (np.int64(word >> np.uint64(11)) + 0.5) * _TO_UNIT * _EXPONENTIAL[i]
        if x < _EXPONENTIAL[i + 1]:
            return float(beyond + x)
        if i == 0:
            beyond += _EXPONENTIAL_TAIL  # the tail is the whole density again
            continue
        low, high = math.exp(-_EXPONENTIAL[i]), math.exp(-_EXPONENTIAL[i + 1])
        if low + uniform(bits) * (high - low) < math.exp(-x):
            return float(beyond + x)


@embedded
def gamma_spread(shape: float) -> float:
    """What `gamma_of` wants to know of a shape: 1 / (3 √d), d = a - 1/3, a the shape if >= 1."""
    return 1.0 / math.sqrt(9.0 * (shape if shape >= 1.0 else shape + 1.0) - 3.0)


@embedded
def _gamma_above_one(bits: WordArray, shape: float, spread: float) -> float:
    """G ~ Gamma(shape, 1) for shape >= 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    while True:
        z = normal(bits)
        v = 1.0 + spread * z
        if v <= 0.0:
            continue
        v = v * v * v
        u, zz = uniform(bits), z * z
        if u < 1.0 - 0.0331 * zz * zz:
            return d * v
        if math.log(u) < 0.5 * zz + d * (1.0 - v + math.log(v)):
            return d * v


@embedded
def gamma_of(bits: WordArray, shape: float, spread: float) -> float:
    """G ~ Gamma(shape, 1), the spread of its shape being known: a root and a division less."""
    if shape == 1.0:
        return exponential(bits)
    if shape < 1.0:
        small = _gamma_above_one(bits, shape + 1.0, spread)
        return small * math.exp(-exponential(bits) / shape)
    return _gamma_above_one(bits, shape, spread)


@embedded
def gamma(bits: WordArray, shape: float) -> float:
    """G ~ Gamma(shape, 1); underflows to 0 for tiny shapes."""
    return gamma_of(bits, shape, gamma_spread(shape))


@embedded
def log_gamma(bits: WordArray, shape: float) -> float:
    """Log G(a) = log G(a + 1) - E / a: finite where G(a) underflows."""
    spread = gamma_spread(shape)
    if shape < 1.0:
        above = _gamma_above_one(bits, shape + 1.0, spread)
        return math.log(above) - exponential(bits) / shape
    return math.log(_gamma_above_one(bits, shape, spread))


@embedded
def gamma_or_log(bits: WordArray, shape: float, wide: Wide) -> float:
    """G ~ Gamma(shape, 1), or its logarithm."""
    if wide is None:
        return gamma(bits, shape)
    return log_gamma(bits, shape)


@embedded
def scaled_gamma(bits: WordArray, shape: float, spread: float, rate: float, wide: Wide) -> float:
    """G / rate with G ~ Gamma(shape, 1), or the logarithm of it from the logarithm of the rate."""
    if wide is None:
        return gamma_of(bits, shape, spread) / rate
    return log_gamma(bits, shape) - rate


@internal
def poisson(bits: WordArray, mean: float) -> float:
    """K ~ Poisson(mean), as a float; `mean` may be anything finite."""
    if mean < 10.0:  # arrivals up to time `mean`
        count, time = 0.0, exponential(bits)
        while time < mean:
            count += 1.0
            time += exponential(bits)
        return count
    if mean > _LARGE_MEAN:
        return float(np.rint(mean + math.sqrt(mean) * normal(bits)))
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    log_mean = math.log(mean)
    while True:
        u = uniform(bits) - 0.5
        v = uniform(bits)
        us = 0.5 - abs(u)
        k = float(np.floor((2.0 * a / us + b) * u + mean + 0.43)) if us > 0.0 else -1.0
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        height = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if height <= k * log_mean - mean - math.lgamma(k + 1.0):
            return k


@compiled
def fill(bits: WordArray, which: int, parameter: float, out: FloatArray) -> None:
    """Fill `out` with one kind of variate, for tests.

    0 uniform, 1 normal, 2 exponential, 3 gamma, 4 log gamma, 5 Poisson.
    """
    for i in range(len(out)):
        if which == 0:
            out[i] = uniform(bits)
        elif which == 1:
            out[i] = normal(bits)
        elif which == 2:
            out[i] = exponential(bits)
        elif which == 3:
            out[i] = gamma(bits, parameter)
        elif which == 4:
            out[i] = log_gamma(bits, parameter)
        else:
            out[i] = poisson(bits, parameter)
