// A list of bars: a name, a share with its interval as bar and line, and the numbers as text.

const barList = (bars, top) =>
  make(
    "ul",
    { className: "bars" },
    ...bars.map(({ name, mean, low, high, text }) => {
      const bar = make("span", { className: "bar" });
      bar.style.width = `${(100 * mean) / top}%`;
      const track = make("span", { className: "track" }, bar);
      if (high > low) {
        const line = make("span", { className: "line" });
        line.style.left = `${(100 * low) / top}%`;
        line.style.width = `${(100 * (high - low)) / top}%`;
        track.append(line);
      }
      const title = make("bdi", { className: "name" }, name);
      return make("li", {}, title, make("span", { className: "numbers" }, text), track);
    })
  );

const spreadText = ({ mean, low, high }) => `${chance(mean)} (${chance(low)} to ${chance(high)})`;

// A choice of one from a list of names.
const selector = (words, names, chosen, change) => {
  const options = names.map((name, i) => make("option", { value: String(i), dir: "auto" }, name));
  const select = make("select", {}, ...options);
  select.value = String(chosen);
  select.addEventListener("change", () => change(Number(select.value)));
  select.id = `choice-${words.toLowerCase()}`;
  const label = make("label", { htmlFor: select.id }, words);
  return [make("div", { className: "field" }, label, select), select];
};

// Put a list that may be long into a frame of its own, which scrolls.
const framed = (words, list) => {
  const frame = make("div", { className: "list", tabIndex: 0 }, list);
  frame.role = "region";
  frame.ariaLabel = words;
  return frame;
};
