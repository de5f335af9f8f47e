// The contrast of every visible text with what is behind it, by WCAG's formula: the texts below 4.5, with their colours.
(() => {
  const channels = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return color.startsWith("color(") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
  };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3])).concat(1);
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(element.parentElement));
  };
  const box = (text) => {
    const { left, top } = text.getBoundingClientRect();
    return [...text.closest("svg").querySelectorAll("rect.box")].find((rect) => {
      const r = rect.getBoundingClientRect();
      return r.left <= left && left <= r.right && r.top <= top && top <= r.bottom;
    });
  };
  const seen = [], weak = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const svg = element.closest("svg");
    if (!walk.currentNode.data.trim() || !element.checkVisibility() || (svg && element.tagName !== "text")) continue;
    const style = getComputedStyle(element), rect = svg && box(element);
    const back = rect ? channels(getComputedStyle(rect).fill) : ground(svg || element);
    const front = over(channels(svg ? style.fill : style.color), back);
    const [low, high] = [luminance(front), luminance(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    seen.push(ratio);
    if (ratio < 4.5) weak.push([walk.currentNode.data.trim(), ratio, front, back]);
  }
  return { texts: seen.length, weak };
})()
