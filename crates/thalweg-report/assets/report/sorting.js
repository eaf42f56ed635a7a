// Sortable tables: clicking a heading sorts by its column, a second click reverses the order.

// Returns the sort key of a cell: its `data-value`, or its text. Cells without a value come last in either order.
function sortKey(row, column) {
  const cell = row.cells[column];
  if (!cell) return null;
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const text = cell.textContent.trim();
  return text === "" || text === "–" ? null : text;
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sortTable(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortKey(row, column), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return descending ? compareKeys(b, a) : compareKeys(a, b);
  });
  body.append(...rows.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((head, index) => {
    if (index === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

// Numbers are first sorted in descending order, names in ascending order.
function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isNumber = head.classList.contains("number");
    const button = element("button", {
      type: "button",
      title: "Sort by this column",
      onclick: () => {
        const now = head.getAttribute("aria-sort");
        sortTable(table, column, now ? now === "ascending" : isNumber);
      },
    });
    button.append(...head.childNodes);
    head.append(button);
  });
}

findAll("table.sortable").forEach(makeSortable);
