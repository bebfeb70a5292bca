// Scales of strengths: probability, log odds, Elo; and round numbers along an axis.

const scales = {
  probability: {
    name: "Probability",
    axis: "probability",
    of: found => found.probability,
    text: (value, found) => chance(value, found.decimals),
  },
  "log-odds": {
    name: "Log odds",
    axis: "log odds against the mean",
    of: found => found.odds,
    text: value => signed(value, 2),
  },
  elo: {
    name: "Elo",
    axis: "Elo points, the mean being 1500",
    of: found => found.odds?.map(ends => ends.map(value => 1500 + pointsPerLogOdds * value)),
    text: value => signed(value, 0),
  },
};

// Round numbers between two ends, about as many as wanted, and two at least.
const ticksOf = (low, high, wanted) => {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  if (last <= first && wanted < 10) return ticksOf(low, high, wanted + 1);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: last - first + 1 }, (_, k) => {
    const value = (first + k) * step;
    return { value, text: signed(value, decimals) };
  });
};
