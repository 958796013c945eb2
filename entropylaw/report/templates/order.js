
// Order the rows of every group by the number of a column, largest first; those without it stay last.
// Only those with the letters of the filter in their names are shown.
const orders = document.querySelector(".orders");
const bodies = [...document.querySelectorAll(".runs tbody")];
const byName = new Map(bodies.map(body => [body, [...body.rows]]));
const number = (row, key) => Number(row.querySelector(`.${key}`)?.dataset.value ?? -Infinity);
orders.hidden = false;
orders.addEventListener("change", event => {
  const key = event.target.value;
  for (const body of bodies) {
    const rows = [...byName.get(body)];
    if (key != "name") rows.sort((a, b) => number(b, key) - number(a, key) || 0);
    body.append(...rows);
  }
});
const filter = document.querySelector("#filter");
filter.addEventListener("input", () => {
  const letters = filter.value.toLowerCase();
  for (const row of bodies.flatMap(body => [...body.rows]))
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(letters);
});
