// Interrupted before its first run was done, a comparison or a folder may have none.
if (model.runs.length) {
  startPlots();
  startTables();
}
document.documentElement.dataset.ready = "true";
