// Compares boxes of a page; returns pairs of a kind and a description.
() => {
  const found = new Map();
  const add = (kind, what) => {
    const known = found.get(kind) || [];
    found.set(kind, known);
    known.push(what);
  };
  const root = document.documentElement;
  const styles = new Map();
  const style = (e) => {
    if (!styles.has(e)) styles.set(e, getComputedStyle(e));
    return styles.get(e);
  };
  const name = (e) => {
    const looks = e.getAttribute('class');
    return e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') +
      (looks ? '.' + looks.trim().replace(/\s+/g, '.') : '');
  };
  const words = (text) => '"' + text.trim().replace(/\s+/g, ' ').slice(0, 40) + '"';
  const scrolls = (e) => ['auto', 'scroll'].includes(style(e).overflowX);
  const cuts = (e) => style(e).overflowX !== 'visible' && e !== root && e !== document.body;

  // The part of the page in which what is inside of an element can be seen, and may be scrolled to.
  const whole = {left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity, free: false};
  const windows = new Map();
  const seen = (e) => {
    if (!e || e === root || e === document.body) return whole;
    if (windows.has(e)) return windows.get(e);
    let clip = seen(e.parentElement);
    if (cuts(e) || style(e).overflowY !== 'visible') {
      const box = e.getBoundingClientRect();
      clip = {
        left: Math.max(clip.left, box.left), right: Math.min(clip.right, box.right),
        top: Math.max(clip.top, box.top), bottom: Math.min(clip.bottom, box.bottom),
        free: clip.free || scrolls(e)};
    }
    windows.set(e, clip);
    return clip;
  };

  if (root.scrollWidth > root.clientWidth + 1) {
    let widest = null, right = root.clientWidth + 1;
    for (const e of document.body.querySelectorAll('*')) {
      if (seen(e.parentElement).free || !e.checkVisibility()) continue;
      const box = e.getBoundingClientRect();
      if (box.right > right) [widest, right] = [e, box.right];
    }
    add('page wider than the window', `${root.scrollWidth} > ${root.clientWidth}` +
        (widest ? ` by ${name(widest)} ${words(widest.textContent)}` : ''));
  }

  // Texts, each with its visible box.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || ['SCRIPT', 'STYLE', 'TITLE', 'DESC'].includes(e.tagName.toUpperCase()) ||
        !e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    range.selectNodeContents(node);
    const clip = seen(e);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      const right = Math.min(box.right, clip.right), left = Math.max(box.left, clip.left);
      if (!clip.free && (box.right > clip.right + 1 || box.left < clip.left - 1))
        add('cut text', `${words(node.data)} in ${name(e)}`);
      // A line of text is higher than its letters.
      const slack = box.height * 0.2;
      const top = Math.max(box.top + slack, clip.top);
      const bottom = Math.min(box.bottom - slack, clip.bottom);
      if (right > left && bottom > top) texts.push({node, e, left, right, top, bottom});
    }
    const block = e.closest('td, th, p, li, dd, dt, figcaption, button, summary, h1, h2, h3, h4, div, pre');
    if (block && block.contains(e) && !clip.free && !e.closest('svg')) {
      const own = block.getBoundingClientRect();
      const box = range.getBoundingClientRect();
      if (box.width > 1 && (box.right > own.right + 1 || box.left < own.left - 1))
        add('text leaves its box', `${words(node.data)} in ${name(block)}`);
    }
  }

  // Texts over each other.
  texts.sort((a, b) => a.top - b.top);
  const fixed = (e) => {
    for (; e && e !== root; e = e.parentElement)
      if (['fixed', 'sticky', 'absolute'].includes(style(e).position)) return true;
    return false;
  };
  let open = [];
  for (const text of texts) {
    open = open.filter((other) => other.bottom > text.top + 1);
    for (const other of open) {
      const width = Math.min(text.right, other.right) - Math.max(text.left, other.left);
      const height = Math.min(text.bottom, other.bottom) - Math.max(text.top, other.top);
      if (width > 2 && height > 2 && other.node !== text.node && !fixed(text.e) && !fixed(other.e))
        add('texts overlap', `${words(other.node.data)} and ${words(text.node.data)} in ${name(text.e)}`);
    }
    open.push(text);
  }

  // Boxes of siblings over each other.
  for (const parent of [document.body, ...document.body.querySelectorAll(':not(svg, svg *)')]) {
    const boxes = [];
    for (const e of parent.children) {
      if (!e.checkVisibility() || style(e).position !== 'static' || style(e).float !== 'none' ||
          ['inline', 'contents', 'none'].includes(style(e).display)) continue;
      const box = e.getBoundingClientRect();
      if (box.width > 1 && box.height > 1) boxes.push({e, box});
    }
    boxes.sort((a, b) => a.box.top - b.box.top);
    for (let k = 0; k < boxes.length; k++)
      for (let m = k + 1; m < boxes.length && boxes[m].box.top < boxes[k].box.bottom - 2; m++) {
        const width = Math.min(boxes[k].box.right, boxes[m].box.right) -
          Math.max(boxes[k].box.left, boxes[m].box.left);
        const height = Math.min(boxes[k].box.bottom, boxes[m].box.bottom) - boxes[m].box.top;
        if (width > 2 && height > 2)
          add('boxes overlap', `${name(boxes[k].e)} and ${name(boxes[m].e)} in ${name(parent)}`);
      }
  }

  // Tables and pictures: wholly in view on wide windows, at least within reach on narrow ones.
  for (const e of document.querySelectorAll('table, svg')) {
    if (!e.checkVisibility()) continue;
    const box = e.getBoundingClientRect(), clip = seen(e.parentElement);
    if (box.right > clip.right + 1 || box.left < clip.left - 1) {
      if (!clip.free) add('cut', `${name(e)} ${words(e.textContent)}`);
      else if (root.clientWidth >= 1280)
        add('needs scrolling', `${name(e)} ${words(e.textContent)}: ` +
            `${Math.round(box.width)} > ${Math.round(clip.right - clip.left)}`);
    }
  }

  // Colours of text and of what is behind it.
  const parts = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return colour.startsWith('color(') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255).map(
      (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = new Map();
  const paper = (e) => {
    if (!e) return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    if (behind.has(e)) return behind.get(e);
    const [r, g, b, a] = parts(style(e).backgroundColor);
    const under = a < 1 ? paper(e.parentElement) : null;
    const made = under ? [r, g, b].map((v, k) => v * a + under[k] * (1 - a)) : [r, g, b];
    behind.set(e, made);
    return made;
  };
  const checked = new Set();
  for (const {node, e} of texts) {
    if (checked.has(e)) continue;
    checked.add(e);
    const ink = e.closest('svg') ? style(e).fill : style(e).color;
    if (!/^(rgb|color)/.test(ink)) continue;
    const [one, two] = [light(parts(ink)), light(paper(e))].sort((a, b) => a - b);
    const ratio = (two + 0.05) / (one + 0.05);
    if (ratio < 4.5) add('faint text', `${words(node.data)} in ${name(e)}: ${ratio.toFixed(1)}`);
  }

  return [...found].flatMap(([kind, each]) => {
    const once = [...new Set(each)];
    return once.slice(0, 8).map((what) => [kind, what]).concat(
      once.length > 8 ? [[kind, `and ${once.length - 8} more`]] : []);
  });
}
