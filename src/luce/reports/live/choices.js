// Fills the places of a page about choices with parts that answer its readers.

const found = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
const placeOf = name => document.querySelector(`[data-place="${name}"]`);

const copyLink = make("button", { type: "button", className: "plain" }, "Copy a link to this view");
const linked = make("span", { className: "note" });
linked.role = "status";
copyLink.addEventListener("click", async () => {
  const done = await copyText(location.href);
  linked.textContent = done ? "Link copied" : "This browser does not allow copying";
});

const questions = placeOf("questions");
let pick = () => {};
const mark = drawStrengths(placeOf("strengths"), found, i => pick(i));
if (found.draws) {
  const columns = readDraws(found.draws, found.draws.categories);
  questions.replaceChildren(make("p", { className: "note" }, found.draws.meaning));
  pick = compareTwo(questions, found, columns, mark);
  oneAgainstAll(questions, found, columns);
  sharesAmong(questions, found, columns);
  questions.append(make("div", { className: "fields" }, copyLink, linked));
} else {
  questions.replaceChildren(make("p", {}, found.whyNone));
}
document.documentElement.classList.add("live");
