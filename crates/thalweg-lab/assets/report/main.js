startPlots();
startTables();
document.documentElement.dataset.ready = "true";
