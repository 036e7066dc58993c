// Unpacks texts where they are opened, marks lines that belong together, searches, obeys keys.
'use strict';
const all = (what, where = document) => [...where.querySelectorAll(what)];
const source = document.getElementById('source');
const box = document.getElementById('search');
const found = document.getElementById('found');
let texts = [];        // pairs: the text, and for each line its places in the source
let places = [];       // by number - 1: line and column of the first and last characters
let marked = null;     // the test of a line of a text, by its places
let hits = [], words = '', at = -1;

// A line's places are its own, then 0 and those of the calls around it.
const own = (known) => known.includes(0) ? known.slice(0, known.indexOf(0)) : known;
const calls = (known) => known.includes(0) ? known.slice(known.indexOf(0) + 1) : [];
const list = (numbers) => typeof numbers === 'number' ? (numbers ? [numbers] : []) : numbers;
const placesOf = (line) => (line.dataset.s || '').split(' ').filter(Boolean).map(Number);
const LOOKS = {'+': ' add', '-': ' del', '@': ' gap'};

// Words of OpenCL and of the IR: comments, strings, keywords, types, numbers.
const WORDS = new RegExp([
  /(?<com>\/\/.*|#(?:define|undef|pragma).*)/, /(?<str>"(?:[^"\\]|\\.)*")/,
  /\b(?<key>let|in|if|then|else|loop|for|while|do|versions|when|entry|comm|operator|return|map|redomap|scanomap|scatter|hist|accumulate|segmap|segred|segscan|segscatter|seghist|segaccumulate|assert)\b/,
  /\b(?<typ>const|void|float|double|long|int|uint|ulong|u?char|u?short|half|bool|[iuf](?:8|16|32|64)|__\w+)\b/,
  /\b(?<num>\d[\w.]*)/].map((each) => each.source).join('|'), 'g');

function colour(made, line) {
  let done = 0;
  for (const match of line.matchAll(WORDS)) {
    const word = document.createElement('span');
    word.className = Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined);
    word.textContent = match[0];
    made.append(line.slice(done, match.index), word);
    done = match.index + match[0].length;
  }
  made.append(line.slice(done));
}

function fill(pre) {
  if (pre.childElementCount) return;
  near.unobserve(pre);
  const [text, numbers] = texts[pre.dataset.text];
  const isDiff = pre.classList.contains('diff');
  pre.append(...text.split('\n').map((line, k) => {
    const made = document.createElement('span');
    made.className = 'l' + (isDiff ? LOOKS[line[0]] || '' : '');
    const known = list(numbers[k]);
    if (known.length) made.dataset.s = known.join(' ');
    colour(made, line);
    made.append('\n');
    return made;
  }));
  if (marked) show(pre);
  if (words) all('.l', pre).forEach(look);
}

function isOpen(element) {
  for (let e = element.parentElement; e; e = e.parentElement)
    if (e.tagName === 'DETAILS' && !e.open) return false;
  return true;
}

// Open texts have their room at once, and their lines when they come near the window.
const near = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) if (isIntersecting) fill(target);
}, {rootMargin: '1000px'});

function fillOpen(where) {
  if (!texts.length) return;
  for (const pre of all('pre[data-text]', where).filter(isOpen)) {
    if (pre.childElementCount) continue;
    pre.style.minHeight = `min(32rem, ${1.45 * texts[pre.dataset.text][1].length}em)`;
    near.observe(pre);
  }
}

// What is open is printed whole.
addEventListener('beforeprint', () => all('pre[data-text]').filter(isOpen).forEach(fill));

// Marks

function show(pre) {
  for (const line of all('.l', pre)) {
    const known = placesOf(line);
    line.classList.toggle('mark', Boolean(marked) && known.length > 0 && marked(known));
  }
}

function mark(test, here, around = []) {
  marked = test;
  at = -1;
  all('.mark', source).forEach((e) => e.classList.remove('mark'));
  for (const [from, , to] of here.map((number) => places[number - 1]))
    for (let line = from; line <= to; line++)
      document.getElementById('L' + line)?.classList.add('mark');
  paint('here', here);
  paint('around', around);
  all('pre.text').filter((pre) => pre !== source).forEach(show);
  const has = texts.map((text) => text[1].some((numbers) => numbers && marked(list(numbers))));
  for (const details of all('details'))
    details.firstElementChild.classList.toggle(
      'has', all('pre[data-text]', details).some((pre) => has[pre.dataset.text]));
}

// What a line of a text comes from, and all lines that come from the same places.
function markOrigin(known) {
  const here = new Set(own(known));
  mark((other) => own(other).some((number) => here.has(number)), [...here], calls(known));
  reveal(known[0]);
}

// What comes from a place, and from what is inside of it.
function markPlace(number) {
  mark((other) => other.includes(number), [number]);
}

function reveal(number) {
  within(source, document.getElementById('L' + places[number - 1][0]));
}

function markLine(line) {
  const here = new Set(places.flatMap(([from], k) => from === line ? [k + 1] : []));
  mark((other) => other.some((number) => here.has(number)), []);
  document.getElementById('L' + line).classList.add('mark');
}

// Paints places of the source, where the browser can.
function paint(name, numbers) {
  if (!CSS.highlights) return;
  CSS.highlights.set(name, new Highlight(...numbers.map((number) => {
    const [line, column, last, end] = places[number - 1];
    const range = document.createRange();
    range.setStart(...position(line, column - 1));
    range.setEnd(...position(last, end));
    return range;
  })));
}

// The text node, and the place in it, of a character of the source.
function position(line, offset) {
  const walker = document.createTreeWalker(document.getElementById('L' + line), NodeFilter.SHOW_TEXT);
  let node = walker.nextNode();
  while (node && offset > node.length) {
    offset -= node.length;
    node = walker.nextNode() || node;
  }
  return [node, Math.min(offset, node.length)];
}

// The smallest place around a point of the source, or the first that begins on its line.
function placeAt(line, event) {
  const number = Number(line.id.slice(1));
  const caret = document.caretPositionFromPoint
    ? document.caretPositionFromPoint(event.clientX, event.clientY)
    : document.caretRangeFromPoint(event.clientX, event.clientY);
  let column = Infinity;
  if (caret) {
    const before = document.createRange();
    before.setStart(line, 0);
    before.setEnd(caret.offsetNode || caret.startContainer, caret.offset ?? caret.startOffset);
    column = before.toString().length + 1;
  }
  const size = ([from, first, to, last]) => (to - from) * 1000 + last - first;
  let best = 0;
  places.forEach((each, k) => {
    const [from, first, to, last] = each;
    const around = (from < number || (from === number && first <= column)) &&
      (number < to || (number === to && column <= last + 1));
    if (around && (!best || size(each) < size(places[best - 1]))) best = k + 1;
  });
  return best || places.findIndex(([from]) => from === number) + 1;
}

// Scrolls a pane, not the window, so that a line is in its middle.
function within(pane, line) {
  pane.scrollTop = line.offsetTop - pane.offsetTop - pane.clientHeight / 2;
}

function clear() {
  marked = null;
  hits = [];
  words = box.value = found.value = '';
  at = -1;
  CSS.highlights?.clear();
  all('.mark, .hit, .now, .has').forEach((e) => e.classList.remove('mark', 'hit', 'now', 'has'));
}

document.addEventListener('click', (event) => {
  const link = event.target.closest('a.place');
  if (link) {
    event.preventDefault();
    markPlace(Number(link.dataset.place));
    reveal(Number(link.dataset.place));
    return;
  }
  const line = event.target.closest('.l');
  if (!line || String(getSelection())) return;
  if (source.contains(line)) {
    const place = placeAt(line, event);
    if (place) markPlace(place);
  } else if (line.dataset.s) {
    markOrigin(placesOf(line));
  }
});

// Search

function look(line) {
  line.classList.toggle('hit', words !== '' && line.textContent.toLowerCase().includes(words));
}

function search() {
  words = box.value.trim().toLowerCase();
  at = -1;
  all('.l').forEach(look);
  if (!words) {
    found.value = '';
    hits = [];
    return;
  }
  const has = (line) => line.toLowerCase().includes(words);
  hits = all('pre.text').flatMap((pre) => {
    const lines = pre.dataset.text === undefined ? all('.l', pre).map((e) => e.textContent)
      : texts[pre.dataset.text][0].split('\n');
    return lines.flatMap((line, k) => has(line) ? [[pre, k]] : []);
  });
  const places = new Set(hits.map(([pre]) => pre)).size;
  found.value = hits.length ? `${hits.length} lines in ${places} texts` : 'nothing found';
}

// The hits, or the marked lines in texts that are open.
function targets() {
  if (words) return hits;
  if (!marked) return [];
  return all('pre[data-text]').filter(isOpen).flatMap((pre) => texts[pre.dataset.text][1].flatMap(
    (numbers, k) => numbers && marked(list(numbers)) ? [[pre, k]] : []));
}

function go(step) {
  const places = targets();
  if (!places.length) return;
  at = (at + step + places.length) % places.length;
  if (at < 0) at = places.length - 1;
  const [pre, k] = places[at];
  for (let e = pre.parentElement; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (pre.dataset.text !== undefined) fill(pre);
  all('.now').forEach((e) => e.classList.remove('now'));
  const line = all('.l', pre)[k];
  line.classList.add('now');
  within(pre, line);
  if (pre !== source) pre.scrollIntoView({block: 'center'});
  found.value = `${at + 1} of ${places.length}`;
}

let timer = 0;
box.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(search, 120);
});

// Keys

const stops = () => all('summary').filter((e) => isOpen(e.parentElement));

function move(step) {
  const places = stops();
  const here = places.indexOf(document.activeElement);
  const next = here >= 0 ? here + step
    : places.findIndex((e) => e.getBoundingClientRect().top > 0) + (step < 0 ? -1 : 0);
  const stop = places[Math.min(places.length - 1, Math.max(0, next))];
  if (!stop) return;
  stop.focus({preventScroll: true});
  stop.scrollIntoView({block: 'center'});
}

function moveInSource(step) {
  const lines = all('.l', source);
  const here = lines.findIndex((line) => line.classList.contains('mark'));
  const next = lines[Math.min(lines.length - 1, Math.max(0, here + step))];
  markLine(Number(next.id.slice(1)));
  within(source, next);
}

function turn(open) {
  const details = document.activeElement.closest('details');
  if (!details) return;
  if (details.open !== open) details.open = open;
  else if (!open && details.parentElement.closest('details')) {
    const outer = details.parentElement.closest('details').firstElementChild;
    outer.focus();
  }
}

function turnAll() {
  const parts = all('details'), open = parts.some((each) => !each.open);
  for (const each of parts) each.open = open;
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    clear();
    document.activeElement.blur();
    return;
  }
  if (document.activeElement === box) {
    if (event.key !== 'Enter') return;
    clearTimeout(timer);
    if (box.value.trim().toLowerCase() !== words) search();
    go(event.shiftKey ? -1 : 1);
    event.preventDefault();
    return;
  }
  const inSource = document.activeElement === source;
  const step = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1}[event.key];
  if (step) (inSource ? moveInSource : move)(step);
  else if (event.key === 'ArrowRight' && !inSource) turn(true);
  else if (event.key === 'ArrowLeft' && !inSource) turn(false);
  else if (event.key === 'n') go(1);
  else if (event.key === 'p') go(at < 0 ? 0 : -1);
  else if (event.key === 's') source.focus();
  else if (event.key === 'o') turnAll();
  else if (event.key === '/') box.focus();
  else return;
  event.preventDefault();
});

document.addEventListener('toggle', (event) => {
  if (event.target.open) fillOpen(event.target);
}, true);

async function unpack() {
  const packed = atob(document.getElementById('texts').textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  ({places, texts} = await new Response(stream).json());
  fillOpen(document);
  if (places.length) source.scrollTop = document.getElementById(
    'L' + Math.min(...places.map(([line]) => line))).offsetTop - source.offsetTop - 40;
}
if ('DecompressionStream' in window) unpack();
else document.querySelector('.keys').textContent = 'This page needs a browser of 2023 or later.';
