// Where it goes from one state: the probabilities of a transition matrix, a row at a time.

const found = JSON.parse(document.querySelector('script[type="application/json"]').textContent);

const movesFrom = place => {
  const kept = Number(state.get("from"));
  let from = kept in found.sources ? kept : 0;
  const result = make("div");
  const show = () => {
    const bars = found.states.flatMap((name, j) => {
      const [mean, low, high] = [found.mean, found.low, found.high].map(table => table[from][j]);
      if (mean === null) return [];
      return [{ name, mean, low, high, text: spreadText({ mean, low, high }) }];
    });
    bars.sort((x, y) => y.mean - x.mean);
    const words = `Probability of each next state, mean and ${found.interval} interval`;
    const [note, list] = [make("p", { className: "note" }, `${words}.`), barList(bars, 1)];
    note.role = "status";
    result.replaceChildren(note, framed(words, list));
  };
  const [field] = selector("From", found.sources, from, i => {
    from = i;
    state.set("from", String(i));
    show();
  });
  place.append(make("h3", {}, "From one state"), make("div", { className: "fields" }, field), result);
  show();
};

movesFrom(document.querySelector('[data-place="moves"]'));
document.documentElement.classList.add("live");
