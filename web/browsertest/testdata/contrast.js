// Measures the contrast of every text that the page shows, as the browser
// computes its colours, by the formulas of WCAG 2. The value is {measured, poor}.
(() => {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== "none") layers.push(null);
      const colour = rgba(style.backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    if (layers.includes(null)) return null;
    if (layers.at(-1)[3] !== 1) return null; // the page has no colour of its own
    return layers.reduceRight((below, top) => over(top, below));
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const opacity = (element) => {
    let product = 1;
    for (let e = element; e; e = e.parentElement) product *= Number(getComputedStyle(e).opacity);
    return product;
  };
  const result = { measured: 0, poor: [] };
  const measure = (element, text, style) => {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return;
    if (element.closest(":disabled, [aria-hidden='true']")) return;
    const below = behind(element);
    const name = `${element.tagName.toLowerCase()}.${element.className}: ${text.trim().slice(0, 40)}`;
    result.measured++;
    if (!below) {
      result.poor.push(`${name}: nobody knows what is behind it`);
      return;
    }
    const colour = rgba(style.color);
    colour[3] *= opacity(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const got = ratio(over(colour, below), below);
    if (got < (large ? 3 : 4.5)) result.poor.push(`${name}: ${got.toFixed(2)}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (texts.currentNode.data.trim() && !["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE"].includes(element.tagName)) {
      measure(element, texts.currentNode.data, getComputedStyle(element));
    }
  }
  for (const field of document.querySelectorAll("input, textarea")) {
    if (field.value) measure(field, field.value, getComputedStyle(field));
    else if (field.placeholder) measure(field, field.placeholder, getComputedStyle(field, "::placeholder"));
  }
  return result;
})();
