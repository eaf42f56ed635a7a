// Dark and light mode: follows the system until the reader chooses.

const themeListeners = [];

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function onThemeChange(listener) {
  themeListeners.push(listener);
}

function themeChanged() {
  const button = find("#theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  themeListeners.forEach((listener) => listener());
}

find("#theme").hidden = false;
find("#theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
themeChanged();

// Collapsed sections are printed as well.
addEventListener("beforeprint", () => findAll("details").forEach((details) => (details.open = true)));
