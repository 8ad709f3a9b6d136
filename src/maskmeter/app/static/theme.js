// Light or dark, before anything is drawn: what the reader chose here, else what the system says.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const set = () => {
    document.documentElement.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-pressed", document.documentElement.dataset.theme === "dark");
  };
  set();
  system.addEventListener("change", set);
  addEventListener("DOMContentLoaded", () => {
    set();
    document.getElementById("theme").addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("theme", next); } catch { /* a private window keeps nothing */ }
      set();
      document.documentElement.dataset.theme = next;
      document.getElementById("theme").setAttribute("aria-pressed", next === "dark");
    });
  });
})();
