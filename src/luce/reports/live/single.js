// One competitor against all: how probable each rank is, and who wins over each of the others.

const oneAgainstAll = (place, found, columns) => {
  const kept = Number(state.get("one"));
  let one = Number.isInteger(kept) && kept >= 0 && kept < columns.length ? kept : 0;
  const [field] = selector("Name", found.short, one, i => {
    one = i;
    state.set("one", String(i));
    show();
  });
  const ranks = make("div");
  const wins = make("div");
  const title = make("h3", {}, `One ${found.one} against all`);
  place.append(title, make("div", { className: "fields" }, field));
  place.append(make("div", { className: "two" }, ranks, wins));

  const show = () => {
    const chances = [...ranksOf(columns, one)];
    const shown = chances
      .map((mean, k) => ({ name: `Rank ${signed(k + 1, 0)}`, mean, text: chance(mean) }))
      .filter(({ mean }) => mean >= 0.005);
    const rest = chances.reduce((sum, mean) => sum + (mean < 0.005 ? mean : 0), 0);
    const more = rest > 0 ? ` All other ranks together: ${chance(rest)}.` : "";
    const top = Math.max(...chances);
    ranks.replaceChildren(
      make("h4", {}, "Probability of each rank"),
      make("p", { className: "note" }, `Ranks with probability 0.005 or more.${more}`),
      framed("Probability of each rank", barList(shown, top))
    );
    const { model } = found;
    const bars = columns.flatMap((column, j) => {
      if (j === one) return [];
      const won = model.isKnown
        ? resultsOf(model, columns[one], column, "")[0]
        : chosenOver(columns[one], column);
      const spread = spreadOf(won, found.tail);
      return [{ name: found.short[j], ...spread, text: spreadText(spread) }];
    });
    const words = found.contests ? "Probability to beat each" : "Probability to be chosen over each";
    const where = model.isKnown ? (model.home ? ", on neutral ground" : "") : found.condition;
    wins.replaceChildren(
      make("h4", {}, words),
      make("p", { className: "note" }, `Mean and ${found.interval} interval${where}.`),
      framed(words, barList(bars, 1))
    );
  };
  show();
};
