// Only the runs with the letters of the filter in their names are shown.
document.querySelector("fieldset.filter").hidden = false;
document.querySelector("#filter").addEventListener("input", event => {
  const letters = event.target.value.toLowerCase();
  for (const row of document.querySelectorAll(".runs tbody tr"))
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(letters);
});
