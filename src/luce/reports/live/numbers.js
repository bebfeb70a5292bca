// Numbers of draws: means and intervals, shares, results of meetings, ranks; and numbers as text.

const pointsPerLogOdds = 400 / Math.log(10);

// Logs of strengths of all draws, one array for each category.
const readDraws = ({ logs, number }, categories) => {
  const bytes = Uint8Array.from(atob(logs), character => character.charCodeAt(0));
  const all = new Float32Array(bytes.buffer);
  return Array.from({ length: categories }, (_, i) => all.subarray(i * number, (i + 1) * number));
};

// The quantile between neighbouring draws is interpolated, as NumPy does it.
const quantile = (sorted, share) => {
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
};

const spreadOf = (values, tail) => {
  const sorted = Float64Array.from(values).sort();
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { mean, low: quantile(sorted, tail), high: quantile(sorted, 1 - tail) };
};

// Probabilities that a wins, they tie, and b wins, in one draw; a and b are logs of strengths.
const resultsIn = (model, a, b, tie) => {
  if (model.ties === "rao-kupper") {
    const first = 1 / (1 + tie * Math.exp(b - a));
    const second = 1 / (1 + tie * Math.exp(a - b));
    return [first, (tie * tie - 1) * first * second, second];
  }
  // Davidson: the tie has strength ν √(A B); as a category, one of its own; or there is none.
  let middle = -Infinity;
  if (model.ties === "davidson") middle = Math.log(tie) + (a + b) / 2;
  else if (model.ties === "entity") middle = tie;
  const top = Math.max(a, b, middle);
  const parts = [Math.exp(a - top), Math.exp(middle - top), Math.exp(b - top)];
  const whole = parts[0] + parts[1] + parts[2];
  return parts.map(part => part / whole);
};

// With the advantage: a factor of the strength, or a category that adds its own.
const atHome = (model, log, gain) => {
  if (model.home === "multiplicative") return log + gain;
  const top = Math.max(log, gain);
  return top + Math.log(Math.exp(log - top) + Math.exp(gain - top));
};

// Draws of the three results of a meeting; ground is "", "a" or "b".
const resultsOf = (model, a, b, ground) => {
  const found = [0, 1, 2].map(() => new Float64Array(a.length));
  for (let k = 0; k < a.length; k++) {
    const first = ground === "a" ? atHome(model, a[k], model.homeDraws[k]) : a[k];
    const second = ground === "b" ? atHome(model, b[k], model.homeDraws[k]) : b[k];
    const results = resultsIn(model, first, second, model.tieDraws?.[k]);
    results.forEach((value, j) => (found[j][k] = value));
  }
  return found;
};

// Draws of p_a / (p_a + p_b).
const chosenOver = (a, b) => Float64Array.from(a, (own, k) => 1 / (1 + Math.exp(b[k] - own)));

// Share of draws in which a is the stronger, equal ones counting half.
const shareStronger = (a, b) =>
  a.reduce((sum, own, k) => sum + (own > b[k]) + (own === b[k]) / 2, 0) / a.length;

// Draws of each one's share among all that are given.
const sharesOf = columns => {
  const found = columns.map(column => new Float64Array(column.length));
  for (let k = 0; k < columns[0].length; k++) {
    let top = -Infinity;
    for (const column of columns) top = Math.max(top, column[k]);
    let whole = 0;
    columns.forEach((column, i) => (whole += found[i][k] = Math.exp(column[k] - top)));
    for (const own of found) own[k] /= whole;
  }
  return found;
};

// Share of draws in which category i has each rank, the first at 0; equal ones share their ranks.
const ranksOf = (columns, i) => {
  const own = columns[i];
  const found = new Float64Array(columns.length);
  for (let k = 0; k < own.length; k++) {
    let above = 0;
    let equal = 0;
    for (const column of columns) {
      above += column[k] > own[k];
      equal += column[k] === own[k];
    }
    for (let rank = above; rank < above + equal; rank++) found[rank] += 1 / equal;
  }
  return found.map(times => times / own.length);
};

// Decimals as Python writes them: exact halves go to the even digit.
const fixed = (value, decimals) => {
  const scaled = value * 10 ** decimals;
  const isHalf = scaled % 1 === 0.5 && (value * 2 ** (decimals + 1)) % 1 === 0;
  return isHalf && Math.floor(scaled) % 2 === 0
    ? (Math.floor(scaled) / 10 ** decimals).toFixed(decimals)
    : value.toFixed(decimals);
};

// A probability; "0" and "1" only for exactly 0 and 1.
const chance = (value, decimals = 3) => {
  const least = 10 ** -decimals;
  if (value === 0 || value === 1) return String(value);
  if (value < least / 2) return `<${fixed(least, decimals)}`;
  return value > 1 - least / 2 ? `>${fixed(1 - least, decimals)}` : fixed(value, decimals);
};

// A number with thousands separators and a minus sign as wide as a digit.
const signed = (value, decimals) => {
  const text = fixed(Math.abs(value), decimals);
  const [whole, ...rest] = text.split(".");
  const grouped = [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  return value < 0 && Number(text) > 0 ? `−${grouped}` : grouped;
};
