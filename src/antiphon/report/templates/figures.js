// Figures of a page, each with a button that saves it as a file.
const save = (text, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
// A figure with its colours written into it, as it is without the page's style.
const standalone = (plot) => {
  const copy = plot.cloneNode(true), parts = copy.querySelectorAll("*");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", getComputedStyle(plot).fontFamily);
  plot.querySelectorAll("*").forEach((part, place) => {
    const style = getComputedStyle(part);
    for (const name of ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-size"]) parts[place].setAttribute(name, style.getPropertyValue(name));
  });
  return copy.outerHTML;
};
for (const figure of document.querySelectorAll("figure")) {
  const button = figure.querySelector(".save"), plot = figure.querySelector("svg");
  button.hidden = false;
  button.setAttribute("aria-label", `Save the figure ${figure.querySelector("h3").textContent} as SVG`);
  button.addEventListener("click", () => save(standalone(plot), figure.querySelector("h3").textContent.toLowerCase().replaceAll(" ", "-") + ".svg"));
}
