// Charts are drawn in the colours of the page's style sheet, so that light, dark and print need no
// second drawing, and as wide as there is room for. Pictures are saved in light colours with titles.
// Expressions of charts are interpreted (`ast`), so that a page may forbid code made from text.
const font = "system-ui, sans-serif";
const ink = "#1b2a33", soft = "#55636b", line = "#d5dbdf";
const config = {
  font: font, background: "transparent", aria: false, view: {stroke: null},
  axis: {labelColor: ink, titleColor: ink, titleFontWeight: 600, domainColor: soft, tickColor: soft,
    gridColor: line, labelFontSize: 12, titleFontSize: 12, titlePadding: 8, labelLimit: 220,
    labelSeparation: 4},
  legend: {orient: "top", labelColor: ink, titleColor: ink, labelFontSize: 12, symbolSize: 80},
  title: {color: ink, subtitleColor: soft, fontSize: 14, subtitleFontSize: 12, offset: 12},
  text: {font: font, fontSize: 12},
};
const styled = {...colours, [ink]: "var(--ink)", [soft]: "var(--soft)", [line]: "var(--line)"};
const inStyle = (thing) => JSON.parse(JSON.stringify(thing), (_, value) => styled[value] ?? value);

// Returns what was drawn last; `more` are options of vega-embed.
async function draw(chart, given, more = {}) {
  const {datasets, title, ...rest} = given;
  const spec = {...inStyle(rest), datasets}, square = spec.width === spec.height;
  const options = {renderer: "svg", actions: false, ast: true, config: inStyle(config), ...more};
  let drawn;
  options.config.legend.columns = Math.max(Math.floor(chart.clientWidth / 150), 1);
  chart.setAttribute("aria-busy", "true");
  for (let attempt = 0; attempt < 4; attempt += 1) {
    drawn = await vegaEmbed(chart.firstElementChild, spec, options);
    // Labels need room of their own, and how much is known once they are drawn.
    const svg = chart.querySelector("svg"), wide = svg.width.baseVal.value;
    const excess = wide - chart.clientWidth;
    if (excess <= 0) break;
    const {left, width} = svg.getBoundingClientRect(), legend = svg.querySelector(".role-legend");
    const end = legend ? (legend.getBoundingClientRect().right - left) * wide / width : 0;
    if (end > chart.clientWidth && options.config.legend.columns > 1) {
      options.config.legend.columns = 1;
      continue;
    }
    for (const part of spec.vconcat ?? [spec]) part.width = Math.max(part.width - Math.ceil(excess), 80);
    if (square) spec.height = spec.width;
  }
  chart.removeAttribute("aria-busy");
  return drawn;
}

async function save(given, kind, name) {
  const {view} = await vegaEmbed(
    document.createElement("div"), {...given, background: "white"}, {actions: false, ast: true, config});
  const link = document.createElement("a");
  link.href = await view.toImageURL(kind, kind === "png" ? 2 : 1);
  link.download = name + "." + kind;
  link.click();
}
