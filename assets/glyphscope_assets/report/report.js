// Sorts a table by the column whose head is pressed. Everything can be read without it.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.querySelectorAll("thead th");
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const value = (row) => {
        const cell = row.cells[column];
        return cell ? cell.dataset.sort ?? cell.textContent.trim() : "";
      };
      [...body.rows]
        .map((row) => [value(row), row])
        .sort(([a], [b]) => {
          const numbers = a !== "" && b !== "" && !isNaN(a) && !isNaN(b);
          return (numbers ? a - b : a.localeCompare(b)) * (up ? 1 : -1);
        })
        .forEach(([, row]) => body.append(row));
    });
  });
}
