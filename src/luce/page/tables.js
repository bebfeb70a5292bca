// Sorts, searches and copies the tables of a page. Without it they are plain, complete tables.

const collator = new Intl.Collator("en", { numeric: true });
const accents = /[\u0300-\u036f]/g;
const plain = text =>
  text.normalize("NFKD").replace(accents, "").toUpperCase().replace(/\s+/g, " ").trim();

// Text of a cell: the whole name, not its cut form, and without the signs of badges.
const words = cell => {
  const copy = (cell.querySelector(".whole") ?? cell).cloneNode(true);
  copy.querySelectorAll("[aria-hidden]").forEach(sign => sign.remove());
  return copy.textContent.trim();
};

// Numbers are copied with all their digits, intervals as two columns.
const csvOf = (heads, rows) => {
  const isInterval = heads.map((_, j) => rows.some(row => row.cells[j].dataset.upper));
  const quoted = text => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const names = heads.flatMap((head, j) =>
    isInterval[j] ? [`${words(head)}, lower`, `${words(head)}, upper`] : [words(head)]
  );
  const lines = rows.map(row =>
    [...row.cells].flatMap((cell, j) => {
      const own = cell.dataset.value ?? words(cell);
      return isInterval[j] ? [own, cell.dataset.upper ?? ""] : [own];
    })
  );
  return [names, ...lines].map(line => line.map(quoted).join(",") + "\r\n").join("");
};

const sortable = (box, number) => {
  const suffix = number ? String(number + 1) : "";
  const body = box.querySelector("tbody");
  const heads = [...box.querySelectorAll("thead th")];
  const count = body.rows.length;

  const sort = (column, rising) => {
    const numeric = heads[column].classList.contains("number");
    const keys = new Map();
    for (const row of body.rows) {
      const cell = row.cells[column];
      keys.set(row, numeric ? Number.parseFloat(cell.dataset.value) : words(cell));
    }
    const sign = rising ? 1 : -1;
    const order = (a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (!numeric) return sign * collator.compare(x, y);
      // NaN comes last in both directions. Infinities are compared, not subtracted.
      const [noX, noY] = [Number.isNaN(x), Number.isNaN(y)];
      if (noX || noY) return noX - noY;
      return sign * ((x > y) - (x < y));
    };
    body.append(...[...body.rows].sort(order));
    for (const head of heads) head.ariaSort = "none";
    heads[column].ariaSort = rising ? "ascending" : "descending";
  };

  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    head.ariaSort = "none";
    button.addEventListener("click", () => {
      const rising = head.ariaSort !== "ascending";
      sort(column, rising);
      state.set(`sort${suffix}`, `${column}${rising ? "up" : "down"}`);
    });
  });
  const [, column, way] = /^(\d+)(up|down)$/.exec(state.get(`sort${suffix}`)) ?? [];
  if (column < heads.length) sort(Number(column), way === "up");

  const search = box.querySelector(".search");
  const field = search.querySelector("input");
  const status = search.querySelector("[role=status]");
  const texts = new Map();
  for (const row of body.rows) {
    const cells = [...row.cells].filter(c => c.scope === "row" || !c.classList.contains("number"));
    texts.set(row, plain(cells.map(words).join("\n")));
  }
  const filter = () => {
    const wanted = plain(field.value);
    let shown = 0;
    for (const [row, text] of texts) {
      row.hidden = !text.includes(wanted);
      shown += !row.hidden;
    }
    status.textContent = wanted ? `${shown} of ${count} rows shown` : `${count} rows`;
  };
  field.value = state.get(`q${suffix}`);
  search.hidden = false;
  filter();
  field.addEventListener("input", () => {
    // Keep the width of the table while rows are hidden and shown.
    box.style.minWidth ||= `min(100%, ${Math.ceil(box.getBoundingClientRect().width)}px)`;
    filter();
    state.set(`q${suffix}`, field.value);
  });

  const copy = make("button", { type: "button", className: "plain" }, "Copy as CSV");
  copy.addEventListener("click", async () => {
    const rows = [...body.rows].filter(row => !row.hidden);
    const done = await copyText(csvOf(heads, rows));
    const number = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
    status.textContent = done ? `${number} copied` : "This browser does not allow copying";
  });
  search.append(copy);

  // On a narrow screen the first columns are shown, and all of them when asked for.
  if (box.querySelector(".further")) {
    box.classList.add("brief");
    const all = make("button", { type: "button", className: "plain all" }, "All columns");
    all.ariaPressed = "false";
    all.addEventListener("click", () => {
      all.ariaPressed = String(!box.classList.toggle("brief"));
    });
    search.append(all);
  }
};

document.querySelectorAll(".sortable").forEach(sortable);
