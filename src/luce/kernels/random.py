"""Random bits and random variates inside compiled code.

The generator is xoshiro256++ (Blackman and Vigna 2021); its state is an array of four words, one
for each Markov chain.  Normal and exponential variates use the ziggurat (Marsaglia and Tsang
2000a), gammas the squeeze of Marsaglia and Tsang (2000b), Poisson variates Hörmann's transformed
rejection (1993), binomial ones order statistics (Devroye 1986).  NumPy has the same algorithms, but
compiled code reaches its generators through a function pointer; inlined, a gamma costs half.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compiled, embedded, internal
from luce.kernels.problem import Wide

_LAYERS = 256  # of equal area, in each ziggurat

# Point where the bottom layer of a ziggurat ends and the tail begins.
_NORMAL_TAIL = 3.6541528853610088
_EXPONENTIAL_TAIL = 7.69711747013104972

_TO_UNIT = 2.0**-53

# Poisson variates of a larger mean are rounded normal ones.  The exact rejection sampler compares
# k log(mean) - mean - log k!, which cancels; the neglected skewness is 3e-5.
_LARGE_MEAN = 1e9

# Binomial variates with at most this many expected successes are counted one by one.
_FEW_SUCCESSES = 16.0


def _normal_layers() -> FloatArray:
    """Compute the right ends of the layers under exp(-x² / 2), the bottom one's width first."""
    tail = math.sqrt(math.pi / 2) * math.erfc(_NORMAL_TAIL / math.sqrt(2))
    area = _NORMAL_TAIL * math.exp(-0.5 * _NORMAL_TAIL**2) + tail
    x = np.empty(_LAYERS + 1)
    x[0], x[1] = area * math.exp(0.5 * _NORMAL_TAIL**2), _NORMAL_TAIL
    for i in range(1, _LAYERS - 1):
        x[i + 1] = math.sqrt(-2.0 * math.log(area / x[i] + math.exp(-0.5 * x[i] ** 2)))
    x[_LAYERS] = 0.0
    return x


def _exponential_layers() -> FloatArray:
    """Compute the right ends of the layers under exp(-x), the bottom one's width first."""
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
    """Seed a generator from a seed sequence."""
    return seeds.generate_state(4, np.uint64).astype(np.uint64)


@embedded
def next_word(bits: WordArray) -> np.uint64:
    """Draw 64 random bits."""
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
    """Draw U ~ Uniform(0, 1], whose logarithm is finite."""
    return (np.int64(next_word(bits) >> np.uint64(11)) + 1) * _TO_UNIT


@embedded
def normal(bits: WordArray) -> float:
    """Draw Z ~ Normal(0, 1)."""
    layers = _NORMAL  # named once: each mention of a constant array is compiled anew
    while True:
        word = next_word(bits)
        i = word & np.uint64(255)
        x = np.int64(word >> np.uint64(11)) * _TO_UNIT * layers[i]
        # Sign by arithmetic: a branch on a random bit is mispredicted every second time.
        sign = float(np.int64((word >> np.uint64(7)) & np.uint64(2)) - 1)
        right = layers[i + np.uint64(1)]
        if x < right:  # 99 % of the time
            return float(sign * x)
        if i == 0:
            while True:
                beyond = -math.log(uniform(bits)) / _NORMAL_TAIL
                if -2.0 * math.log(uniform(bits)) > beyond * beyond:
                    return sign * (_NORMAL_TAIL + beyond)
        low, high = math.exp(-0.5 * layers[i] ** 2), math.exp(-0.5 * right**2)
        if low + uniform(bits) * (high - low) < math.exp(-0.5 * x * x):
            return float(sign * x)


@embedded
def exponential(bits: WordArray) -> float:
    """Draw E ~ Exponential(1)."""
    layers, beyond = _EXPONENTIAL, 0.0
    while True:
        word = next_word(bits)
        i = word & np.uint64(255)
        x = (np.int64(word >> np.uint64(11)) + 0.5) * _TO_UNIT * layers[i]
        right = layers[i + np.uint64(1)]
        if x < right:
            return float(beyond + x)
        if i == 0:
            beyond += _EXPONENTIAL_TAIL  # the tail is the same density, shifted
            continue
        low, high = math.exp(-layers[i]), math.exp(-right)
        if low + uniform(bits) * (high - low) < math.exp(-x):
            return float(beyond + x)


@embedded
def gamma_spread(shape: float) -> float:
    """Compute the constant of a shape for `gamma_of`: 1 / (3 √d), d = a - 1/3 (+ 1 if a < 1)."""
    return 1.0 / math.sqrt(9.0 * (shape if shape >= 1.0 else shape + 1.0) - 3.0)


@embedded
def _gamma_above_one(bits: WordArray, shape: float, spread: float) -> float:
    """Draw G ~ Gamma(shape, 1) for shape >= 1 (Marsaglia and Tsang 2000b)."""
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
    """Draw G ~ Gamma(shape, 1), given `gamma_spread(shape)`, which saves a root and a division."""
    if shape == 1.0:
        return exponential(bits)
    if shape < 1.0:
        small = _gamma_above_one(bits, shape + 1.0, spread)
        return small * math.exp(-exponential(bits) / shape)
    return _gamma_above_one(bits, shape, spread)


@embedded
def gamma(bits: WordArray, shape: float) -> float:
    """Draw G ~ Gamma(shape, 1), which underflows to 0 for tiny shapes."""
    return gamma_of(bits, shape, gamma_spread(shape))


@embedded
def log_gamma(bits: WordArray, shape: float) -> float:
    """Draw log G, G ~ Gamma(a, 1), as log G(a + 1) - E / a: finite where G underflows."""
    spread = gamma_spread(shape)
    if shape < 1.0:
        above = _gamma_above_one(bits, shape + 1.0, spread)
        return math.log(above) - exponential(bits) / shape
    return math.log(_gamma_above_one(bits, shape, spread))


@embedded
def gamma_or_log(bits: WordArray, shape: float, wide: Wide) -> float:
    """Draw G ~ Gamma(shape, 1), or its logarithm if `wide`."""
    if wide is None:
        return gamma(bits, shape)
    return log_gamma(bits, shape)


@embedded
def scaled_gamma(bits: WordArray, shape: float, spread: float, rate: float, wide: Wide) -> float:
    """Draw G / rate, G ~ Gamma(shape, 1); if `wide`, its logarithm from that of the rate."""
    if wide is None:
        return gamma_of(bits, shape, spread) / rate
    return log_gamma(bits, shape) - rate


@internal
def poisson(bits: WordArray, mean: float) -> float:
    """Draw K ~ Poisson(mean), as a float, for any finite mean."""
    if mean < 10.0:  # number of arrivals up to time `mean`
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


@internal
def binomial(bits: WordArray, n: float, p: float) -> float:
    """Draw K ~ Binomial(n, p) for whole n of any size (Devroye 1986, X.4.3).

    The middle one of n uniforms is Y ~ Beta(i, n + 1 - i), i = ⌊(n + 1) / 2⌋.  If Y <= p, i of them
    lie below p and the other n - i are uniform above Y; else i - 1 are uniform below Y.
    """
    successes = 0.0
    while n * min(p, 1.0 - p) > _FEW_SUCCESSES:
        middle = float(np.floor((n + 1.0) / 2.0))
        below = gamma(bits, middle)
        above = gamma(bits, n + 1.0 - middle)
        y = below / (below + above)
        if y <= p:
            successes += middle
            n -= middle
            p = min((p - y) * (below + above) / above, 1.0)
        else:
            n = middle - 1.0
            p /= y
    if p > 0.5:
        return successes + n - _count_successes(bits, n, 1.0 - p)
    return successes + _count_successes(bits, n, p)


@internal
def _count_successes(bits: WordArray, n: float, p: float) -> float:
    """Draw Binomial(n, p) by skipping Geometric(p) failures before each success."""
    if not p > 0.0:
        return 0.0
    if n == 1.0:
        return 1.0 if uniform(bits) < p else 0.0
    rate = -math.log1p(-p)
    count, trial = 0.0, np.floor(exponential(bits) / rate)
    while trial < n:
        count += 1.0
        trial += 1.0 + np.floor(exponential(bits) / rate)
    return count


@compiled
def fill(bits: WordArray, which: int, parameter: float, out: FloatArray) -> None:
    """Fill `out` with variates of one kind, for tests.

    `which`: 0 uniform, 1 normal, 2 exponential, 3 gamma, 4 log gamma, 5 Poisson.
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


@compiled
def fill_words(bits: WordArray, out: WordArray) -> None:
    """Fill `out` with random words, such as the seed of another generator."""
    for i in range(len(out)):
        out[i] = next_word(bits)
