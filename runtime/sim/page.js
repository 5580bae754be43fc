'use strict';
// The time line of one or two runs. DATA.runs is written by html.c: arrays in base64, times in ns.
const HUES = { pe: 212, act: 28, pool: 280, dve: 150, sp: 340, steps: 225, parts: 255, queue: 185 };
const GAP = 4, RULER = 22, HEAD = 24, LEVELS = 17;
const $ = id => document.getElementById(id);
const canvas = $('view'), ink = canvas.getContext('2d');
const state = { from: 0, to: 1, hover: null, chosen: null, matches: [], match: -1, query: '' };
let runs = [], rows = [], span = 1, height = 0, curve = 54, scheduled = false;

// ---- data ----

function bytesOf(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes.buffer;
}

function makeTrack(name, key, hue) {
    return { name, key, hue, index: [], depth: 1, busy: 0, level: null };
}

// Steps, and their parts: each from the end of those before it to its own.
const ofSteps = track => track.key === 'steps' || track.key === 'parts';

// Puts transfers that move at the same time one below the other.
function stack(run, track) {
    const ends = [], most = track.key === 'queue' ? 4 : track.key === 'thread' ? 3 : 1;
    track.row = new Uint8Array(track.index.length);
    track.index.forEach((r, i) => {
        let row = 0;
        while (row < ends.length && ends[row] > run.start[r] + 0.01 + run.dur[r] * 1e-6) row++;
        if (row >= most) row = ends.indexOf(Math.min(...ends));
        ends[row] = run.start[r] + run.dur[r];
        track.row[i] = row;
        track.depth = Math.max(track.depth, row + 1);
    });
}

// Levels of detail: busy time in 2^LEVELS slices of the whole, then in half as many, and so on.
function pyramid(run, track) {
    const n = 1 << LEVELS, width = run.span / n;
    let level = new Float32Array(n);
    for (const r of track.index) {
        let at = run.start[r];
        const end = at + run.dur[r];
        for (let b = Math.floor(at / width); at < end && b < n; b++) {
            const stop = Math.min(end, (b + 1) * width);
            level[b] += Math.max(0, stop - at);
            at = stop;
        }
    }
    track.levels = [level];
    while (level.length > 1) {
        const half = new Float32Array(level.length / 2);
        for (let i = 0; i < half.length; i++) half[i] = level[2 * i] + level[2 * i + 1];
        track.levels.push(level = half);
    }
}

function finishRun(run) {
    run.end = i => run.start[i] + run.dur[i];
    run.tracks.forEach(track => {
        track.index.sort((a, b) => run.start[a] - run.start[b] || a - b);
        stack(run, track);
        pyramid(run, track);
        track.longest = 0;
        for (const r of track.index) {
            track.busy += run.dur[r];
            track.longest = Math.max(track.longest, run.dur[r]);
        }
    });
    run.tracks = run.tracks.filter(track => track.index.length);
    return run;
}

function readRun(d) {
    const run = {
        name: d.name, line: d.line, statics: d.statics, nodes: d.nodes, kernels: d.kernels, why: d.why,
        start: new Float64Array(bytesOf(d.start)), dur: new Float32Array(bytesOf(d.dur)),
        insn: new Uint32Array(bytesOf(d.insn)), cause: new Int32Array(bytesOf(d.cause)),
        instance: new Int32Array(bytesOf(d.instance)), track: new Uint8Array(bytesOf(d.track)),
        reason: new Uint8Array(bytesOf(d.reason)), critical: new Uint8Array(bytesOf(d.critical)),
        liveAt: new Float64Array(bytesOf(d.live_at)), sbuf: new Int32Array(bytesOf(d.sbuf)),
        psum: new Int32Array(bytesOf(d.psum)), room: d.room, span: d.span, simulated: true, advice: d.advice,
    };
    run.peak = [run.sbuf, run.psum].map(values => values.reduce((a, b) => Math.max(a, b), 0));
    run.tracks = d.tracks.map(name => {
        const word = name.replace(/^core \d+ /, '').replace(/^q\..*/, 'queue');
        return makeTrack(name, word, HUES[word] ?? 200);
    });
    run.track.forEach((track, i) => run.tracks[track].index.push(i));
    return finishRun(run);
}

// Chrome trace events, as xrun --profile writes them: one track per thread.
function readTrace(name, text) {
    const events = JSON.parse(text).traceEvents.filter(e => e.ph === 'X');
    if (!events.length) throw new Error('no complete events');
    const n = events.length, threads = [...new Set(events.map(e => e.tid))].sort((a, b) => a - b);
    const statics = [], known = new Map(), nodes = [], first = Math.min(...events.map(e => e.ts));
    const run = {
        name, line: 'measured on this CPU', statics, nodes, kernels: [''], why: ['measured'], room: [0, 0],
        start: new Float64Array(n), dur: new Float32Array(n), insn: new Uint32Array(n),
        cause: new Int32Array(n).fill(-1), instance: new Int32Array(n).fill(-1), track: new Uint8Array(n),
        reason: new Uint8Array(n), critical: new Uint8Array(n), liveAt: [], sbuf: [], psum: [], simulated: false, advice: [],
    };
    run.tracks = threads.map(t => makeTrack('thread ' + t, 'thread', 150));
    events.forEach((e, i) => {
        const key = e.name + '\n' + (e.cat || '');
        if (!known.has(key)) {
            known.set(key, statics.length);
            nodes.push(e.name);
            statics.push([0, e.name, nodes.length - 1, JSON.stringify(e.args || {})]);
        }
        run.start[i] = (e.ts - first) * 1000, run.dur[i] = e.dur * 1000, run.insn[i] = known.get(key);
        run.tracks[threads.indexOf(e.tid)].index.push(i);
    });
    run.span = Math.max(...events.map(e => e.ts + e.dur - first)) * 1000;
    return finishRun(run);
}

// ---- layout ----

function layout() {
    rows = [];
    let y = RULER;
    const units = runs.reduce((n, run) => n + 1 + (run.liveAt.length ? 2 : 0) +
        run.tracks.reduce((m, track) => m + (track.depth > 1 ? track.depth * 0.6 : 1), 0), 0);
    const tracks = Math.max(24, Math.min(46, ($('main').clientHeight - RULER - 10) / units - GAP));
    curve = tracks * 2;
    const labels = $('labels');
    labels.textContent = '';
    const label = (text, share, top, tall, cls) => {
        const div = document.createElement('div');
        div.style.top = top + 'px', div.style.height = div.style.lineHeight = tall + 'px';
        div.className = cls || 'track';
        div.append(text);
        const right = document.createElement('span');
        right.textContent = share;
        div.append(right);
        labels.append(div);
    };
    for (const run of runs) {
        label(run.name, '', y, HEAD, 'run');
        run.top = y;
        y += HEAD;
        for (const track of run.tracks) {
            const tall = track.depth > 1 ? tracks * 0.6 * track.depth
                : ofSteps(track) ? Math.min(tracks, 24) : tracks;
            rows.push({ run, track, y, tall });
            const share = ofSteps(track) ? '' : (100 * Math.min(1, track.busy / run.span)).toFixed(1) + '%';
            label(track.name, track.depth > 1 ? '' : share, y, tall);
            y += tall + GAP;
        }
        run.curve = run.liveAt.length ? y : 0;
        if (run.curve) {
            const used = i => (run.peak[i] / 1024).toFixed(1) + ' of ' + (run.room[i] / 1024).toFixed(0) + ' KiB';
            label('SBUF', used(0), y, curve / 2);
            label('PSUM', used(1), y + curve / 2, curve / 2);
            y += curve + GAP;
        }
        y += 10;
    }
    height = Math.max(y, 120);
    span = Math.max(...runs.map(run => run.span));
    labels.style.height = height + 'px';
    resize();
}

function resize() {
    const scale = window.devicePixelRatio || 1, width = canvas.parentElement.clientWidth - 190;
    canvas.style.height = height + 'px', canvas.style.width = width + 'px';
    canvas.width = width * scale, canvas.height = height * scale;
    ink.setTransform(scale, 0, 0, scale, 0, 0);
    draw();
}

const width = () => canvas.clientWidth || 1;
const xOf = t => (t - state.from) / (state.to - state.from) * width();
const tOf = x => state.from + x / width() * (state.to - state.from);

// ---- text ----

function time(ns, digits = 2) {
    const [unit, size] = ns >= 1e6 ? ['ms', 1e6] : ns >= 1e3 ? ['us', 1e3] : ['ns', 1];
    return (ns / size).toFixed(digits) + ' ' + unit;
}

const staticOf = (run, r) => run.statics[run.insn[r]];
const opOf = text => text.split(' ')[0].replace(/^[a-z]+\./, '');
const escape = s => String(s).replace(/[&<>"]/g, c => '&#' + c.charCodeAt(0) + ';');

// What a bar is called: a step by its kernel, a part by its node, else by the instruction.
function titleOf(run, r) {
    const [, words, node] = staticOf(run, r), key = run.trackOf[r].key;
    return key === 'steps' ? words : key === 'parts' ? run.nodes[node] || 'part' : opOf(words);
}

function describe(run, r, full) {
    const [kernel, text, node, more] = staticOf(run, r);
    let html = '<b>' + escape(titleOf(run, r)) + '</b> ' + time(run.dur[r]) + ' <i>at ' + time(run.start[r]) + '</i>';
    if (node >= 0 && run.nodes[node]) html += '<br>node ' + escape(run.nodes[node]);
    if (run.simulated) html += '<br><i>kernel ' + escape(run.kernels[kernel] || '-') +
        (more === undefined ? '' : ', instruction ' + more) +
        (run.instance[r] >= 0 ? ', instance ' + run.instance[r] : '') + '</i>';
    html += '<br><code>' + escape(full ? text : text.slice(0, 260)) + '</code>';
    const c = run.cause[r];
    if (c >= 0) {
        const waited = run.start[r] - run.end(c), name = escape(opOf(staticOf(run, c)[1]));
        html += '<br><i>began after</i> ' + (full ? '<a data-go="' + c + '">' + name + '</a>' : name) + ' <i>on ' +
            escape(run.trackNames[run.track[c]]) + ' (' + run.why[run.reason[r]] + (waited > 0.5 ? ', ' + time(waited) + ' later' : '') + ')</i>';
    }
    return html;
}

// ---- drawing ----

function colours() {
    const style = getComputedStyle(document.documentElement), get = n => style.getPropertyValue(n).trim();
    return { bg: get('--bg'), fg: get('--fg'), soft: get('--soft'), line: get('--line'), track: get('--track'), accent: get('--accent') };
}

function firstIndex(run, track, t) {
    let low = 0, high = track.index.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (run.start[track.index[middle]] < t) low = middle + 1; else high = middle;
    }
    return low;
}

const dark = () => matchMedia('(prefers-color-scheme: dark)').matches;

// Of a track too full for rectangles: how busy each pixel's time is.
function drawDense(row) {
    const { run, track, y, tall } = row, per = (state.to - state.from) / width();
    let l = Math.max(0, Math.min(track.levels.length - 1, Math.floor(Math.log2(per / (run.span / (1 << LEVELS))))));
    const level = track.levels[l], size = run.span / level.length;
    for (let x = 0; x < width(); x++) {
        const a = Math.floor(tOf(x) / size), b = Math.max(a + 1, Math.floor(tOf(x + 1) / size));
        let busy = 0;
        for (let i = Math.max(0, a); i < b && i < level.length; i++) busy += level[i];
        const share = Math.min(1, busy / ((b - a) * size));
        if (share <= 0.001) continue;
        ink.fillStyle = `hsl(${track.hue} ${55}% ${dark() ? 50 : 58}% / ${0.15 + 0.85 * share})`;
        const h = Math.max(2, tall * share);
        ink.fillRect(x, y + tall - h, 1, h);
    }
}

function fill(run, track, r) {
    const node = staticOf(run, r)[2], shift = ((node + 1) * 37 % 5 - 2) * 4, s = 55;
    const faded = state.query && !matched(run, r);
    return `hsl(${track.hue} ${faded ? s / 4 : s}% ${(dark() ? 48 : 62) + shift}% / ${faded ? 0.25 : 1})`;
}

function drawTrack(row, c) {
    const { run, track, y, tall } = row;
    ink.fillStyle = c.track;
    ink.fillRect(0, y, width(), tall);
    const from = firstIndex(run, track, state.from - track.longest), to = firstIndex(run, track, state.to);
    if (to - from > 8000 && !state.query) return drawDense(row);
    const step = tall / track.depth, path = $('path').checked;
    let last = -1, lastRow = -1;
    for (let i = from; i < to; i++) {
        const r = track.index[i], x0 = xOf(run.start[r]), x1 = xOf(run.end(r));
        if (x1 < 0) continue;
        if (x1 - last < 0.7 && track.row[i] === lastRow && !state.query) continue;
        last = x1, lastRow = track.row[i];
        const top = y + track.row[i] * step, w = Math.max(0.8, x1 - x0 - (x1 - x0 > 4 ? 0.7 : 0));
        ink.fillStyle = fill(run, track, r);
        ink.fillRect(x0, top, w, step - 1);
        if (path && run.critical[r]) {
            ink.fillStyle = c.accent;
            ink.fillRect(x0, top + step - 4, w, 3);
        }
        const seen = Math.min(x1, width()) - Math.max(x0, 0);
        if (seen > 46 && step > 11) text(run, r, Math.max(x0, 0) + 4, top + step / 2, seen - 8);
    }
}

function text(run, r, x, y, room) {
    const node = staticOf(run, r)[2], name = node >= 0 ? run.nodes[node] : '';
    let label = titleOf(run, r);
    if (name && name !== label && room > 90) label += '  ' + name;
    const fits = Math.floor(room / 5.6);
    ink.fillStyle = (dark() ? '#ffffff' : '#14171c') + (state.query && !matched(run, r) ? '55' : '');
    ink.font = '10.5px system-ui, sans-serif', ink.textBaseline = 'middle';
    ink.fillText(label.length > fits ? label.slice(0, Math.max(1, fits - 1)) + '\u2026' : label, x, y);
}

function drawRuler(c) {
    const target = (state.to - state.from) / (width() / 110), size = 10 ** Math.floor(Math.log10(target));
    const step = [1, 2, 5, 10].map(k => k * size).find(s => s >= target);
    ink.font = '10.5px system-ui, sans-serif', ink.textBaseline = 'middle';
    for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step) {
        const x = xOf(t);
        ink.fillStyle = c.line;
        ink.fillRect(x, 0, 1, height);
        ink.fillStyle = c.soft;
        ink.fillText(t === 0 ? '0' : time(t, step < 10 ? 1 : step >= 1e6 ? 0 : t >= 1e6 && step < 1e5 ? 3 : 1), x + 4, RULER / 2);
    }
}

function drawCurve(run, values, room, y, tall, hue) {
    if (!run.liveAt.length) return;
    ink.fillStyle = `hsl(${hue} 45% 55% / 0.55)`;
    ink.beginPath();
    ink.moveTo(0, y + tall);
    let low = 0, high = run.liveAt.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (run.liveAt[middle] < state.from) low = middle + 1; else high = middle;
    }
    let value = low ? values[low - 1] : 0, px = -1, most = value, before = 0;
    const put = (x, v) => ink.lineTo(x, y + tall - Math.min(1, v / Math.max(1, room)) * (tall - 5));
    put(0, value);
    for (let i = low; i < run.liveAt.length && run.liveAt[i] <= state.to; i++) {
        const x = xOf(run.liveAt[i]);
        most = Math.max(most, values[i]);
        if (x - px >= 0.5) {
            put(before, value), put(x, value), put(x, most);
            px = x, most = values[i];
        }
        value = values[i], before = x;
    }
    put(before, value), put(Math.min(width(), xOf(run.span)), value);
    ink.lineTo(Math.min(width(), xOf(run.span)), y + tall);
    ink.fill();
}

function place(run, r) {
    return rows.find(row => row.run === run && row.track === run.trackOf[r]);
}

function arrow(run, r, c) {
    const a = place(run, run.cause[r]), b = place(run, r), cause = run.cause[r];
    if (!a || !b) return;
    const x0 = xOf(Math.min(run.end(cause), run.start[r])), x1 = xOf(run.start[r]);
    const y0 = a.y + a.tall / 2, y1 = b.y + b.tall / 2, bend = Math.max(8, (x1 - x0) / 2);
    ink.strokeStyle = ink.fillStyle = c;
    ink.lineWidth = 1.2;
    ink.beginPath();
    ink.moveTo(x0, y0);
    ink.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    ink.stroke();
    ink.beginPath();
    ink.moveTo(x1, y1), ink.lineTo(x1 - 6, y1 - 3), ink.lineTo(x1 - 6, y1 + 3);
    ink.fill();
}

// Waits for semaphores, where few enough are in view to tell them apart.
function drawArrows(c) {
    if (!$('arrows').checked) return;
    for (const row of rows) {
        const { run, track } = row, semaphore = run.why.indexOf('semaphore');
        const from = firstIndex(run, track, state.from), to = firstIndex(run, track, state.to);
        if (to - from > 60) continue;
        for (let i = from; i < to; i++)
            if (run.cause[track.index[i]] >= 0 && run.reason[track.index[i]] === semaphore) arrow(run, track.index[i], c.soft + '99');
    }
}

function frame(run, r, colour) {
    const row = place(run, r);
    if (!row) return;
    const step = row.tall / row.track.depth, i = firstIndex(run, row.track, run.start[r]);
    let k = i;
    while (k < row.track.index.length && row.track.index[k] !== r) k++;
    ink.strokeStyle = colour, ink.lineWidth = 2;
    ink.strokeRect(xOf(run.start[r]), row.y + (row.track.row[k] || 0) * step, Math.max(2, xOf(run.end(r)) - xOf(run.start[r])), step - 1);
}

function drawChain(run, r, c) {
    for (let i = 0, at = r; i < 60 && run.cause[at] >= 0; i++, at = run.cause[at]) arrow(run, at, c.accent);
}

function paint() {
    const c = colours();
    ink.fillStyle = c.bg;
    ink.fillRect(0, 0, width(), height);
    drawRuler(c);
    for (const row of rows) drawTrack(row, c);
    for (const run of runs) {
        if (!run.curve) continue;
        drawCurve(run, run.sbuf, run.peak[0], run.curve, curve / 2, 190);
        drawCurve(run, run.psum, run.peak[1], run.curve + curve / 2, curve / 2, 330);
    }
    for (const run of runs) {
        ink.fillStyle = c.soft;
        ink.fillRect(xOf(run.span), run.top, 1, HEAD);
        ink.font = '11px system-ui, sans-serif', ink.textBaseline = 'middle';
        ink.fillText(run.line, 6, run.top + HEAD / 2);
    }
    drawArrows(c);
    if (state.chosen) drawChain(state.chosen.run, state.chosen.r, c), frame(state.chosen.run, state.chosen.r, c.accent);
    if (state.hover) frame(state.hover.run, state.hover.r, c.fg);
    $('range').textContent = time(Math.max(0, state.from)) + ' to ' + time(state.to);
}

function draw() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; paint(); });
}

// ---- view ----

function show(from, to) {
    const least = 2, wide = Math.max(least, Math.min(to - from, span * 1.1));
    from = Math.max(-span * 0.05, Math.min(from, span * 1.05 - wide));
    state.from = from, state.to = from + wide;
    draw();
}

function zoom(factor, t) {
    show(t - (t - state.from) * factor, t + (state.to - t) * factor);
}

function pan(share) {
    const d = (state.to - state.from) * share;
    show(state.from + d, state.to + d);
}

function go(run, r) {
    const wide = Math.max(run.dur[r] * 12, Math.min(state.to - state.from, run.dur[r] * 200), 20), middle = run.start[r] + run.dur[r] / 2;
    choose({ run, r });
    show(middle - wide / 2, middle + wide / 2);
}

function hit(x, y) {
    const row = rows.find(q => y >= q.y && y < q.y + q.tall);
    if (!row) return null;
    const { run, track } = row, t = tOf(x), near = (state.to - state.from) / width() * 2;
    const step = row.tall / track.depth, sub = Math.floor((y - row.y) / step);
    let best = null, distance = near;
    for (let i = firstIndex(run, track, t + near) - 1, n = 0; i >= 0 && n < 4000; i--, n++) {
        const r = track.index[i];
        if (run.start[r] + track.longest < t - near) break;
        if (track.row[i] !== sub) continue;
        const d = t < run.start[r] ? run.start[r] - t : Math.max(0, t - run.end(r));
        if (d <= distance) best = { run, r }, distance = d;
        if (d === 0) break;
    }
    return best;
}

// What would help most, while nothing is chosen.
function advice() {
    return runs.filter(run => run.advice.length).map(run => (runs.length > 1 ? '<b>' + escape(run.name) + '</b>' : '') +
        '<ol>' + run.advice.map(a => '<li>' + escape(a) + '</li>').join('') + '</ol>').join('');
}

function choose(what) {
    state.chosen = what;
    $('details').innerHTML = what ? describe(what.run, what.r, true) : advice();
    draw();
}

// ---- search ----

function matched(run, r) {
    return run.hits[run.insn[r]];
}

function search(query) {
    state.query = query.trim().toLowerCase(), state.matches = [], state.match = -1;
    for (const run of runs) {
        run.hits = run.statics.map(([kernel, text, node]) => state.query &&
            (text + '\n' + (run.nodes[node] || '') + '\n' + (run.kernels[kernel] || '')).toLowerCase().includes(state.query));
        if (state.query)
            for (let r = 0; r < run.start.length; r++)
                if (matched(run, r) && !ofSteps(run.trackOf[r])) state.matches.push({ run, r });
    }
    state.matches.sort((a, b) => runs.indexOf(a.run) - runs.indexOf(b.run) || a.run.start[a.r] - b.run.start[b.r]);
    $('found').textContent = state.query ? state.matches.length + ' found' : '';
    draw();
}

function step(by) {
    if (!state.matches.length) return;
    state.match = (state.match + by + state.matches.length) % state.matches.length;
    const { run, r } = state.matches[state.match];
    $('found').textContent = state.match + 1 + ' of ' + state.matches.length;
    go(run, r);
}

// ---- input ----

let drag = null;
canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / width());
    else zoom(Math.exp(Math.sign(e.deltaY) * Math.min(0.6, Math.abs(e.deltaY) / 400)), tOf(e.offsetX));
}, { passive: false });
canvas.addEventListener('mousedown', e => { drag = { x: e.offsetX, from: state.from, to: state.to, moved: false }; });
window.addEventListener('mouseup', () => { drag = null; });
canvas.addEventListener('mousemove', e => {
    if (drag) {
        const d = (drag.x - e.offsetX) / width() * (drag.to - drag.from);
        drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) > 3;
        return drag.moved && show(drag.from + d, drag.to + d);
    }
    state.hover = hit(e.offsetX, e.offsetY);
    const tip = $('tip');
    tip.hidden = !state.hover;
    if (state.hover) {
        tip.innerHTML = describe(state.hover.run, state.hover.r, false);
        tip.style.left = Math.min(e.clientX + 14, innerWidth - 580) + 'px';
        tip.style.top = (e.clientY + 18 + tip.offsetHeight > innerHeight ? e.clientY - 12 - tip.offsetHeight : e.clientY + 18) + 'px';
    }
    draw();
});
canvas.addEventListener('mouseleave', () => { state.hover = null; $('tip').hidden = true; draw(); });
canvas.addEventListener('click', e => { if (!drag || !drag.moved) choose(hit(e.offsetX, e.offsetY)); });
$('details').addEventListener('click', e => {
    if (e.target.dataset.go !== undefined && state.chosen) go(state.chosen.run, +e.target.dataset.go);
});
$('search').addEventListener('input', e => search(e.target.value));
$('search').addEventListener('keydown', e => { if (e.key === 'Enter') step(e.shiftKey ? -1 : 1); if (e.key === 'Escape') e.target.blur(); });
$('next').onclick = () => step(1);
$('previous').onclick = () => step(-1);
$('fit').onclick = () => show(-span * 0.01, span * 1.01);
$('path').onchange = $('arrows').onchange = draw;

const keys = {
    w: () => zoom(0.7, (state.from + state.to) / 2), s: () => zoom(1 / 0.7, (state.from + state.to) / 2),
    a: () => pan(-0.2), d: () => pan(0.2), f: () => $('fit').onclick(), n: () => step(1), p: () => step(-1),
    c: () => { $('path').checked = !$('path').checked; draw(); }, e: () => { $('arrows').checked = !$('arrows').checked; draw(); },
    '/': e => { e.preventDefault(); $('search').focus(); }, Escape: () => choose(null),
};
keys['+'] = keys.ArrowUp = keys.w, keys['-'] = keys.ArrowDown = keys.s, keys.ArrowLeft = keys.a, keys.ArrowRight = keys.d;
window.addEventListener('keydown', e => {
    if (e.target.tagName === 'INPUT' || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    keys[e.key](e);
});
window.addEventListener('resize', layout);
window.addEventListener('dragover', e => e.preventDefault());
window.addEventListener('drop', async e => {
    e.preventDefault();
    for (const file of e.dataTransfer.files) add(readTrace(file.name, await file.text()));
});

// ---- start ----

function add(run) {
    run.trackOf = [];
    run.trackNames = [];
    run.tracks.forEach(track => track.index.forEach(r => { run.trackOf[r] = track; run.trackNames[run.track[r]] = track.name; }));
    runs.push(run);
    choose(null);
    search($('search').value);
    layout();
    $('fit').onclick();
}

$('title').textContent = document.title = DATA.title;
for (const d of DATA.runs) add(d.trace === undefined ? readRun(d) : readTrace(d.name, d.trace));
