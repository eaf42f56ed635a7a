// A comparison or a folder interrupted before its first run ended may have no runs.
if (model.runs.length) {
  startPlots();
  startTables();
}
document.documentElement.dataset.ready = "true";
