// What all scripts of a page use: elements, the state kept in the address, and copies of text.

const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

// What a reader chose stands behind the "#" of the address, so that a link shows it again.
const state = (() => {
  const kept = location.hash.slice(1);
  // Links to sections, such as #the-answer, hold no "=".
  const values = new URLSearchParams(kept.includes("=") ? kept : "");
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) location.reload();
  });
  return {
    get: key => values.get(key) ?? "",
    set: (key, value) => {
      if (value === "") values.delete(key);
      else values.set(key, value);
      try {
        history.replaceState(null, "", `#${values}`);
      } catch {
        // A page shown within another one may have no address of its own.
      }
    },
  };
})();

const copyText = async text => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const field = make("textarea", { value: text, className: "unseen" });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before?.focus();
    return done;
  }
};
