// The picture of strengths: a row for each, with its numbers where it is pointed at, on any scale.

const drawStrengths = (place, found, pick) => {
  const heading = make("p", { className: "caption" });
  const choices = make("fieldset", { className: "choices" }, make("legend", {}, "Scale"));
  const ticks = make("div", { className: "axis" });
  ticks.ariaHidden = "true";
  const list = make("div", { className: "rows", tabIndex: -1 });
  list.role = "listbox";
  list.ariaMultiSelectable = "true";
  const tip = make("p", { className: "tip", hidden: true });
  tip.ariaHidden = "true";
  const frame = make("div", { className: "frame" }, ticks, list);
  const chart = make("div", { className: "chart" }, frame);
  // The numbers of a row may reach beyond the chart, which scrolls.
  const around = make("div", { className: "around" }, chart, tip);
  place.replaceChildren(choices, heading, around);

  const rows = found.names.map((name, i) => {
    const line = make("span", { className: "line" });
    const inner = make("span", { className: "inner" });
    const dot = make("span", { className: "dot" });
    const track = make("span", { className: "track" }, line, inner, dot);
    const numbers = make("span", { className: "numbers" });
    const title = make("bdi", { className: "name" }, found.short[i]);
    const row = make("div", { className: "row", tabIndex: i ? -1 : 0 }, title, track, numbers);
    row.role = "option";
    list.append(row);
    return { row, line, inner, dot, track, numbers };
  });

  let scale = scales[state.get("scale")] ?? scales[found.scale];
  if (!scale.of(found)) scale = scales.probability;
  for (const [key, own] of Object.entries(scales)) {
    if (!own.of(found)) continue;
    const radio = make("input", { type: "radio", name: "scale", checked: own === scale });
    radio.addEventListener("change", () => {
      scale = own;
      state.set("scale", key);
      draw();
    });
    choices.append(make("label", {}, radio, ` ${own.name}`));
  }

  const draw = () => {
    const [mean, low, high, innerLow, innerHigh] = scale.of(found);
    let [first, last] = [Math.min(...low), Math.max(...high)];
    if (scale === scales.probability) first = 0;
    if (!(last > first)) [first, last] = [first - 0.5, last + 0.5];
    const share = value => `${(100 * (value - first)) / (last - first)}%`;
    const between = (bar, from, to) => {
      bar.style.left = share(from);
      bar.style.width = `${(100 * (to - from)) / (last - first)}%`;
    };
    rows.forEach(({ row, line, inner, dot, numbers }, i) => {
      between(line, low[i], high[i]);
      between(inner, innerLow[i], innerHigh[i]);
      dot.style.left = share(mean[i]);
      const [middle, from, to] = [mean, low, high].map(own => scale.text(own[i], found));
      numbers.textContent = `${middle} (${from} to ${to})`;
      row.ariaLabel = `${found.names[i]}, ${middle}, ${found.interval} interval ${from} to ${to}`;
    });
    ticks.replaceChildren(
      ...ticksOf(first, last, Math.max(2, Math.floor(ticks.clientWidth / 60))).map(({ value, text }) => {
        const tick = make("span", {}, text);
        tick.style.left = share(value);
        return tick;
      })
    );
    list.ariaLabel = `Strengths, ${scale.axis}, by expected rank; choose two to compare`;
    heading.textContent = `Strengths by expected rank: ${scale.axis}, mean and ${found.intervals}.${found.draws ? " Choose two rows to compare them below." : ""}`;
    tip.hidden = true;
  };

  const show = i => {
    const { row, dot, numbers } = rows[i];
    const { mean, low, high, best } = found.ranks;
    tip.replaceChildren(
      make("strong", {}, make("bdi", {}, found.short[i])),
      make("span", {}, numbers.textContent),
      make("span", {}, `rank ${signed(mean[i], 1)} (${low[i]} to ${high[i]})`),
      make("span", {}, `best with probability ${chance(best[i])}`)
    );
    tip.hidden = false;
    const [own, box] = [dot.getBoundingClientRect(), around.getBoundingClientRect()];
    const middle = own.left + own.width / 2 - box.left - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(0, Math.min(middle, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${row.getBoundingClientRect().bottom - box.top}px`;
  };
  const numberOf = event => rows.findIndex(({ row }) => row === event.target.closest(".row"));
  const focus = i => {
    for (const { row } of rows) row.tabIndex = -1;
    rows[i].row.tabIndex = 0;
    rows[i].row.focus();
  };
  const hide = () => (tip.hidden = true);

  list.addEventListener("mouseover", event => {
    const i = numberOf(event);
    if (i >= 0) show(i);
  });
  list.addEventListener("mouseleave", hide);
  chart.addEventListener("scroll", () => {
    // Keys move to rows out of view, and the chart scrolls after them.
    const i = rows.findIndex(({ row }) => row === document.activeElement);
    const box = chart.getBoundingClientRect();
    const own = rows[i]?.row.getBoundingClientRect();
    if (own && own.top < box.bottom && own.bottom > box.top) show(i);
    else hide();
  });
  list.addEventListener("focusin", event => show(numberOf(event)));
  list.addEventListener("focusout", hide);
  list.addEventListener("click", event => {
    const i = numberOf(event);
    if (i < 0) return;
    focus(i);
    pick(i);
  });
  list.addEventListener("keydown", event => {
    const i = numberOf(event);
    const last = rows.length - 1;
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) focus(Math.max(0, Math.min(to, last)));
    else if (event.key === "Enter" || event.key === " ") pick(i);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });

  new ResizeObserver(draw).observe(ticks);
  return chosen => {
    rows.forEach(({ row }, i) => (row.ariaSelected = String(chosen.includes(i))));
  };
};
