// The page: controls name an action and send its value, tabs follow the address, charts are drawn by
// Vega. Nothing is computed here.
(() => {
  delete document.documentElement.dataset.shinyBusySpinners;
  delete document.documentElement.dataset.shinyBusyPulse;

  const paragraph = (kind, words) => {
    const made = document.createElement("p");
    made.className = kind;
    made.textContent = words;
    return made;
  };

  // -- actions --------------------------------------------------------------------------------
  const REST = 600; // milliseconds without a move, after which a slider rests
  let busy = false, resting;
  const waiting = new Map(); // the last value of sliders that move faster than the server answers
  const send = (name, value) => Shiny.setInputValue("act", {do: name, value}, {priority: "event"});
  const soon = (name, value) => {
    if (busy) waiting.set(name, value);
    else { busy = true; send(name, value); }
  };
  $(document).on("shiny:busy", () => { busy = true; });
  $(document).on("shiny:idle", () => {
    busy = false;
    const next = waiting.entries().next();
    if (next.done) return;
    waiting.delete(next.value[0]);
    soon(...next.value);
  });

  const valueOf = (control) => {
    if (control.type === "checkbox") return {name: control.dataset.value, on: control.checked};
    if (control.type === "radio") return control.dataset.value;
    return control.value;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-do]");
    if (button && !button.disabled) {
      const line = button.dataset.from;
      const from = line && document.querySelector(`input[data-line="${CSS.escape(line)}"]`);
      const value = button.dataset.value ?? "";
      send(button.dataset.do, !from ? value : value ? {value, text: from.value} : from.value);
    }
    const copied = event.target.closest("button[data-copy]");
    if (copied) navigator.clipboard.writeText(document.querySelector(`[data-text="${copied.dataset.copy}"]`).textContent)
      .then(() => { copied.textContent = "Copied"; }, () => { copied.textContent = "Select it and copy"; });
  });
  document.addEventListener("keydown", (event) => { // Enter in a line does what its button does
    const once = event.key === "Enter" && !event.repeat && !event.isComposing;
    const line = once && event.target.dataset?.line;
    if (line) document.querySelector(`button[data-from="${CSS.escape(line)}"]`)?.click();
  });
  document.addEventListener("input", (event) => {
    const control = event.target;
    if (control.type !== "range") return;
    clearTimeout(resting);
    const shown = document.querySelector(`output[data-of="${control.dataset.do}"]`);
    if (shown) shown.textContent = control.value + (control.dataset.unit ?? "");
    control.setAttribute("aria-valuetext", control.value + (control.dataset.unit ?? ""));
    soon(control.dataset.do, control.value);
  });
  document.addEventListener("change", (event) => {
    const control = event.target;
    if (!control.dataset?.do) return;
    if (control.type === "range") {
      clearTimeout(resting);
      if (control.dataset.rest) resting = setTimeout(() => soon(control.dataset.rest, ""), REST);
    } else {
      if (["text", "number"].includes(control.type)) control.dataset.sent = "";
      send(control.dataset.do, valueOf(control));
    }
  });

  // -- outputs --------------------------------------------------------------------------------
  // Nothing is replaced that would be the same, nor a slider in somebody's hand; who had the focus
  // before has it again afterwards.
  const shown = new Map();
  const held = (place) => {
    const control = document.activeElement;
    return control && place.contains(control) ? control : null;
  };
  const like = (control) => {
    const {do: name, value} = control.dataset;
    const parts = [control.tagName.toLowerCase()];
    if (control.dataset.line) parts.push(`[data-line="${CSS.escape(control.dataset.line)}"]`);
    if (name) parts.push(`[data-do="${CSS.escape(name)}"]`);
    if (value) parts.push(`[data-value="${CSS.escape(value)}"]`);
    return parts.join("");
  };
  $(document).on("shiny:value", (event) => {
    const place = document.getElementById(event.name);
    if (!place?.classList.contains("shiny-html-output")) return;
    const html = event.value?.html ?? "";
    const control = held(place);
    if (shown.get(event.name) === html || (control?.type === "range" && html.includes(`data-do="${control.dataset.do}"`))) {
      for (const one of place.querySelectorAll("input[data-sent]")) { // it was not taken, or said otherwise
        one.value = one.defaultValue;
        delete one.dataset.sent;
      }
      event.preventDefault();
      place.classList.remove("recalculating");
      return;
    }
    shown.set(event.name, html);
    const typed = [...place.querySelectorAll("input[data-line]")].filter((one) => one.value !== one.defaultValue)
      .map((one) => [like(one), one.value]);
    if (!control && !typed.length) return;
    const [wanted, open] = [control && like(control), [...place.querySelectorAll("details")].map((one) => one.open)];
    const before = place.firstElementChild;
    const again = (left) => requestAnimationFrame(() => {
      if (before && document.contains(before)) { if (left) again(left - 1); return; }
      for (const [line, value] of typed) {
        const one = place.querySelector(line);
        if (one) one.value = value;
      }
      if (!control) return;
      [...place.querySelectorAll("details")].forEach((one, at) => { one.open ||= open[at] ?? false; });
      (place.querySelector(wanted) ?? place.querySelector("button, input, select, a"))?.focus({preventScroll: true});
    });
    again(30);
  });

  // -- tabs -----------------------------------------------------------------------------------
  let known = false; // by the server
  const first = () => document.querySelector(".panel").id;
  const go = ({focus}) => {
    const named = location.hash.slice(1);
    if (named === "content") return;
    const panel = document.getElementById(named)?.classList.contains("panel") ? named : first();
    for (const one of document.querySelectorAll(".panel")) one.hidden = one.id !== panel;
    for (const link of document.querySelectorAll(".steps a")) {
      if (link.hash === "#" + panel) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    document.querySelector('.steps [aria-current="step"]').scrollIntoView({block: "nearest", inline: "nearest"});
    if (focus) {
      scrollTo(0, 0);
      document.querySelector(`#${panel} h2`).focus({preventScroll: true});
    }
    $(document.getElementById(panel)).trigger("shown");
    if (known) Shiny.setInputValue("tab", panel);
  };
  addEventListener("hashchange", () => go({focus: true}));
  addEventListener("DOMContentLoaded", () => go({focus: false}));
  $(document).on("shiny:sessioninitialized", () => { known = true; go({focus: false}); });

  // -- connection -----------------------------------------------------------------------------
  // The server keeps the state: where it still answers, as after a machine has slept, the page is
  // loaded again by itself.
  const AGAIN = 2_000; // milliseconds between two attempts
  const fail = (words) => {
    document.querySelector(".status [role=status]").replaceChildren(paragraph("notice failed", words));
  };
  const back = async () => {
    const answer = await fetch("/", {method: "HEAD"}).catch(() => null);
    if (answer?.ok) { location.reload(); return; }
    fail("The page has lost its server: start maskmeter app again, with the same file.");
    setTimeout(back, AGAIN);
  };
  $(document).on("shiny:disconnected", () => { fail("The connection was lost: the page is loaded again."); back(); });

  // -- charts ---------------------------------------------------------------------------------
  const ready = new Promise((resolve) => { // the page does not wait for what draws its charts
    const library = document.createElement("script");
    library.type = "module"; // its names are its own
    library.src = "assets/charts.js";
    library.addEventListener("load", resolve);
    addEventListener("load", () => document.head.append(library));
  });
  const words = (text) => (Array.isArray(text) ? text.join(" ") : text ?? "");
  const drawing = new WeakMap();

  const frame = (place, spec) => {
    const title = spec.title ?? {}, figure = document.createElement("figure");
    figure.innerHTML = '<p class="chart-title"><strong></strong> <span></span></p>'
      + '<div class="chart" role="img"><div aria-hidden="true"></div></div>';
    figure.querySelector("strong").textContent = words(title.text ?? title);
    figure.querySelector("span").textContent = words(title.subtitle);
    figure.querySelector(".chart").setAttribute("aria-label", spec.description ?? words(title.text));
    return figure;
  };

  async function show(place) {
    const state = drawing.get(place);
    if (state.busy) return;
    state.busy = true;
    await ready;
    while (state.next) {
      const spec = state.next;
      state.next = null;
      if (!place.clientWidth) { // hidden: drawn when it is seen
        state.next = spec;
        break;
      }
      state.wide = place.clientWidth;
      const figure = frame(place, spec), old = place.firstElementChild;
      if (old) { // drawn beside the old one, which goes when this is there: no flicker
        figure.classList.add("unfinished");
      }
      place.append(figure);
      const drawn = await draw(figure.querySelector(".chart"), spec, {defaultStyle: false,
        tooltip: {disableDefaultStyle: true}});
      figure.classList.remove("unfinished");
      old?.remove();
      state.view?.finalize();
      state.view = drawn;
      if (place.dataset.click) drawn.view.addEventListener("click", (_, item) => {
        const picked = item?.datum?.label;
        if (picked !== undefined) send(place.dataset.click, picked);
      });
    }
    state.busy = false;
  }

  // A chart whose vertical axis is what a slider sets: it is moved by dragging in the chart as well.
  // Fingers scroll the page, and have the slider.
  const dragged = (place) => {
    const control = () => document.querySelector(`input[type="range"][data-do="${place.dataset.drag}"]`);
    let held = null; // the scale of the axis when the drag began: the line may move its end
    const move = (event) => {
      const {view} = drawing.get(place).view ?? {}, svg = place.querySelector("svg"), slider = control();
      if (!held || !view || !svg || !slider) return;
      const box = svg.getBoundingClientRect(), high = svg.height.baseVal.value / box.height;
      const down = (event.clientY - box.top) * high - view.origin()[1] - view.padding().top;
      slider.value = held.invert(down) * slider.max;
      slider.dispatchEvent(new Event("input", {bubbles: true}));
    };
    place.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button || !event.target.closest("svg")) return;
      const {view} = drawing.get(place).view ?? {};
      if (!view) return;
      event.preventDefault();
      held = view.scale("y").copy();
      place.setPointerCapture(event.pointerId);
      move(event);
    });
    place.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) {
      place.addEventListener(end, () => {
        if (held) control()?.dispatchEvent(new Event("change", {bubbles: true}));
        held = null;
      });
    }
  };

  class Charts extends Shiny.OutputBinding {
    find(scope) { return $(scope).find(".chart-place"); }
    renderValue(place, spec) {
      const state = drawing.get(place) ?? {};
      if (place.dataset.drag && !drawing.has(place)) dragged(place);
      drawing.set(place, state);
      if (!spec || spec.fault) {
        state.last = state.next = null;
        place.replaceChildren();
        if (spec) place.append(paragraph("aside caution", spec.fault));
        return;
      }
      const text = JSON.stringify(spec);
      if (state.last === text) return;
      state.last = text;
      state.next = spec;
      show(place);
    }
  }
  Shiny.outputBindings.register(new Charts(), "maskmeter.charts");

  let wide = innerWidth, resized;
  addEventListener("resize", () => {
    if (innerWidth === wide) return; // a telephone's address bar came or went
    wide = innerWidth;
    clearTimeout(resized);
    resized = setTimeout(fit, 150);
  });
  const fit = () => {
    for (const place of document.querySelectorAll(".chart-place")) {
      const state = drawing.get(place);
      if (!place.clientWidth || !state?.last) continue;
      if (state.wide !== place.clientWidth) state.next ??= JSON.parse(state.last);
      if (state.next) show(place);
    }
  };
  $(document).on("shown", ".panel, details", fit);
  document.addEventListener("toggle", (event) => $(event.target).trigger("shown"), true);
})();
