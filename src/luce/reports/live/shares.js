// Shares among those on offer.

const sharesAmong = (place, found, columns) => {
  const kept = state.get("among");
  const all = columns.map((_, i) => i);
  const start = all.slice(0, Math.min(5, columns.length));
  const read = kept.split(".").map(Number).filter(i => Number.isInteger(i) && i in columns);
  const chosen = new Set(kept === "all" ? all : /^\d+(\.\d+)*$/.test(kept) && read.length ? read : start);

  const status = make("p", { className: "note" });
  status.role = "status";
  const result = make("div");
  const search = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  const boxes = all.map(i => {
    const box = make("input", { type: "checkbox", checked: chosen.has(i) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(i);
      else chosen.delete(i);
      changed();
    });
    return { box, label: make("label", {}, box, " ", make("bdi", {}, found.short[i])) };
  });
  search.addEventListener("input", () => {
    const wanted = plain(search.value);
    boxes.forEach(({ label }, i) => (label.hidden = !plain(found.names[i]).includes(wanted)));
  });
  const button = (words, wanted) => {
    const made = make("button", { type: "button", className: "plain" }, words);
    made.addEventListener("click", () => {
      chosen.clear();
      wanted.forEach(i => chosen.add(i));
      boxes.forEach(({ box }, i) => (box.checked = chosen.has(i)));
      changed();
    });
    return made;
  };
  const offered = make("fieldset", { className: "offer" }, make("legend", {}, "On offer"));
  offered.append(
    make("label", { className: "field" }, make("span", {}, "Search"), search),
    make("div", { className: "fields" }, button("All", all), button("None", [])),
    framed(`${found.several} on offer`, make("div", { className: "boxes" }, ...boxes.map(x => x.label)))
  );
  place.append(
    make("h3", {}, "Shares among those on offer"),
    make("p", { className: "note" }, found.sharesMeaning),
    make("div", { className: "two" }, offered, make("div", {}, status, result))
  );

  const changed = () => {
    const among = [...chosen].sort((i, j) => i - j);
    state.set("among", among.length === all.length ? "all" : among.join("."));
    show(among);
  };
  const show = among => {
    if (!among.length) {
      status.textContent = "Nothing is on offer: choose one at least.";
      result.replaceChildren();
      return;
    }
    const bars = sharesOf(among.map(i => columns[i])).map((values, k) => {
      const spread = spreadOf(values, found.tail);
      return { name: found.short[among[k]], ...spread, text: spreadText(spread) };
    });
    bars.sort((x, y) => y.mean - x.mean);
    status.textContent = `Shares among ${signed(among.length, 0)}, mean and ${found.interval} interval.`;
    result.replaceChildren(framed("Shares", barList(bars, Math.max(...bars.map(x => x.high)))));
  };
  show([...chosen].sort((i, j) => i - j));
};
