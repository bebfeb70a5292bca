// Sorts and searches the tables of a page. Without this script they are plain, complete tables.
"use strict";

{
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

  const sortable = box => {
    const body = box.querySelector("tbody");
    const heads = [...box.querySelectorAll("thead th")];
    const count = body.rows.length;

    const sort = (head, column, rising) => {
      const numeric = head.classList.contains("number");
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
      for (const other of heads) other.ariaSort = "none";
      head.ariaSort = rising ? "ascending" : "descending";
    };

    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.ariaSort = "none";
      button.addEventListener("click", () => sort(head, column, head.ariaSort !== "ascending"));
    });

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
    search.hidden = false;
    filter();
    field.addEventListener("input", () => {
      // Keep the width of the table while rows are hidden and shown.
      box.style.minWidth ||= `min(100%, ${Math.ceil(box.getBoundingClientRect().width)}px)`;
      filter();
    });
  };

  document.querySelectorAll(".sortable").forEach(sortable);
}
