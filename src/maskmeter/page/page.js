// The charts of a report, drawn when it opens and when its width changes.
const specs = {{ specs | tojson }};
const charts = [...document.querySelectorAll(".chart")];
const drawAll = () => Promise.all(charts.map((chart, place) => draw(chart, specs[place])));
let wide = innerWidth, waiting;
addEventListener("resize", () => {
  if (innerWidth === wide) return; // a telephone's address bar came or went
  wide = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});
drawAll();
charts.forEach((chart, place) => {
  const menu = chart.parentElement.querySelector(".save");
  menu.hidden = false;
  [...menu.children].forEach((button, kind) => button.addEventListener("click", () =>
    save(specs[place], ["svg", "png"][kind], "figure" + (place + 1))));
});
