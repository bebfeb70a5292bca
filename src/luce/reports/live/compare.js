// Two competitors: who wins, who is the stronger, and by how much.

const compareTwo = (place, found, columns, changed) => {
  const { model, tail } = found;
  const last = columns.length - 1;
  const kept = (key, otherwise) => {
    const number = /^\d+$/.test(state.get(key)) ? Number(state.get(key)) : otherwise;
    return number <= last ? number : otherwise;
  };
  let [a, b] = [kept("a", 0), kept("b", 1)];
  if (a === b) [a, b] = [0, 1];
  let ground = model.home && ["a", "b"].includes(state.get("home")) ? state.get("home") : "";

  const answer = make("div", { className: "answer" });
  answer.role = "status";
  const picture = make("div", { className: "results" });
  picture.ariaHidden = "true";
  const [fieldA, selectA] = selector("First", found.short, a, i => choose(i, i === b ? a : b));
  const [fieldB, selectB] = selector("Second", found.short, b, i => choose(i === a ? b : a, i));
  const swap = make("button", { type: "button", className: "plain" }, "Swap");
  const fields = make("div", { className: "fields" }, fieldA, fieldB, swap);
  const grounds = make("fieldset", { className: "choices" }, make("legend", {}, "At home"));
  const radios = ["", "a", "b"].map(value => {
    const radio = make("input", { type: "radio", name: "home", checked: value === ground });
    radio.addEventListener("change", () => {
      ground = value;
      state.set("home", value);
      show();
    });
    const words = { "": "Nobody", a: "The first", b: "The second" }[value];
    grounds.append(make("label", {}, radio, ` ${words}`));
    return radio;
  });
  const title = make("h3", {}, `Compare two ${found.several}`);
  place.append(title, fields, ...(model.home ? [grounds] : []), picture, answer);

  const choose = (first, second) => {
    [a, b] = [first, second];
    state.set("a", String(a));
    state.set("b", String(b));
    show();
  };
  swap.addEventListener("click", () => {
    if (ground) {
      ground = ground === "a" ? "b" : "a";
      state.set("home", ground);
      radios.forEach((radio, k) => (radio.checked = ["", "a", "b"][k] === ground));
    }
    choose(b, a);
  });

  const name = i => make("bdi", {}, found.short[i]);
  const sentence = (...parts) => make("p", {}, ...parts);
  const told = spread => [
    make("strong", {}, chance(spread.mean)),
    ` (${found.interval} interval ${chance(spread.low)} to ${chance(spread.high)})`,
  ];

  const show = () => {
    [selectA.value, selectB.value] = [String(a), String(b)];
    const lines = [];
    const verb = found.contests ? " beats " : " is chosen over ";
    let spreads;
    if (model.isKnown) {
      const [won, tied, lost] = resultsOf(model, columns[a], columns[b], ground);
      spreads = [won, tied, lost].map(values => spreadOf(values, tail));
    } else {
      const won = chosenOver(columns[a], columns[b]);
      spreads = [won, won.map(() => 0), won.map(value => 1 - value)].map(v => spreadOf(v, tail));
    }
    const [won, tied, lost] = spreads;
    const stop = model.isKnown ? "." : `${found.condition}.`;
    lines.push(sentence(name(a), verb, name(b), " with probability ", ...told(won), stop));
    if (model.ties) lines.push(sentence("They tie with probability ", ...told(tied), "."));
    lines.push(sentence(name(b), verb, name(a), " with probability ", ...told(lost), stop));
    const surely = make("strong", {}, chance(shareStronger(columns[a], columns[b])));
    lines.push(sentence(name(a), " is the stronger with probability ", surely, "."));
    const gap = columns[a].map((own, k) => pointsPerLogOdds * (own - columns[b][k]));
    const { mean, low, high } = spreadOf(gap, tail);
    const range = `${signed(low, 0)} to ${signed(high, 0)}`;
    const points = make("strong", {}, signed(mean, 0));
    const elo = ["Elo of ", name(a), " minus that of ", name(b), ": "];
    lines.push(sentence(...elo, points, ` (${found.interval} interval ${range}).`));
    answer.replaceChildren(...lines);
    picture.replaceChildren(
      ...spreads.map(({ mean: share }, k) => {
        const part = make("span", { className: ["won", "tied", "lost"][k] });
        part.style.width = `${100 * share}%`;
        return part;
      })
    );
    changed([a, b]);
  };

  show();
  // A row that is chosen becomes the second one, and the second the first.
  return i => {
    if (i !== a && i !== b && i <= last) choose(b, i);
  };
};
