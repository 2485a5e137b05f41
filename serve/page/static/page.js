'use strict';
// The page of c2c. What others wrote comes into it as text alone: nothing here parses HTML, and the browser forbids it, too
// (Trusted Types). The server has made control characters visible.
(() => {
  const $ = (id) => document.getElementById(id);
  const keyName = 'c2c-key';

  // make builds an element. Text children are text, whatever they look like.
  function make(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(props || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
      else if (name === 'class') e.className = value;
      else if (name === 'hidden') e.hidden = true;
      else e.setAttribute(name, value === true ? '' : value);
    }
    for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) e.append(c);
    return e;
  }

  // svg builds an element of a drawing.
  function svg(tag, props, ...children) {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(props)) e.setAttribute(name, value);
    e.append(...children);
    return e;
  }

  // --- The server -------------------------------------------------------------------------------------------------

  class Refused extends Error {
    constructor(status, text) { super(text); this.status = status; }
  }

  async function request(path, body) {
    const used = key();
    const init = { headers: { 'X-C2C-Key': used, 'X-C2C-Page': project }, cache: 'no-store' };
    if (body !== undefined) {
      init.method = 'POST';
      init.headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    let answer;
    try { answer = await fetch(path, init); } catch {
      down(true);
      throw new Refused(0, 'c2c does not answer');
    }
    down(false);
    if (answer.ok) return answer;
    if (answer.status === 401) {
      await new Promise((go) => setTimeout(go, 300)); // another tab may just have used a link
      if (used && key() && key() !== used) return request(path, body);
      gate('This login is over, or this project is gone.');
    }
    const text = await answer.text();
    let why = text.trim();
    try { why = JSON.parse(text).error || why; } catch { /* the guard answers with a sentence */ }
    throw new Refused(answer.status, why);
  }
  // down says what to do while nothing answers.
  const down = (is) => { $('down').hidden = !is; };
  const ask = async (path, body) => (await request(path, body)).json();

  // The key is one for all tabs. Each tab has its own project, which its address names: so a bookmark leads there again.
  const key = () => { try { return localStorage.getItem(keyName) || ''; } catch { return ''; } };
  const address = () => '/' + (project ? '?p=' + project : '');
  let project = new URLSearchParams(location.search).get('p') || '';
  if (!/^\w*$/.test(project)) project = '';

  async function login() {
    const code = location.hash.slice(1);
    history.replaceState(null, '', address()); // so that it is in no list of pages
    if (!code) return !!key();
    try {
      const fresh = await ask('/login', { code });
      localStorage.setItem(keyName, fresh.key);
      project = fresh.project;
      return true;
    } catch (e) {
      gate(e.message);
      return null;
    }
  }

  function gate(why) {
    stopped = true;
    $('main').hidden = $('tabs').hidden = $('find').hidden = true;
    $('notify').hidden = $('logout').hidden = $('place').hidden = true;
    $('gate').hidden = false;
    $('gate-why').textContent = why;
    link('not logged in', false);
    $('gate-title').focus();
  }

  // --- What is known ----------------------------------------------------------------------------------------------

  let stopped = false;
  let me = { id: '', alias: '' };
  let sessions = [];
  const mails = new Map(); // by key
  const byID = new Map(); // the first message with an id
  const maxKnown = 60000; // then the page begins anew
  let drafted = null; // the message that is answered
  let last = null; // the draft that was sent last, and its id

  function know(m) {
    const old = mails.get(m.key);
    if (old) {
      // A list has the text as it is; of a message that was shown whole the text stays.
      const text = old.cut ? m.text : old.text, cut = old.cut ? m.cut : 0;
      Object.assign(old, { old: m.old, new: m.new, state: m.state, since: m.since, after: m.after, leased: m.leased, by: m.by, why: m.why, held: m.held, session: m.session, text, cut });
      return old;
    }
    mails.set(m.key, m);
    if (m.id && !byID.has(m.id)) byID.set(m.id, m);
    return m;
  }

  // --- Time -------------------------------------------------------------------------------------------------------

  const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
  const dateFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
  const clockFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
  const valid = (ms) => ms > 0 && ms < 8.64e15;
  const day = (ms) => (valid(ms) ? dayFormat.format(ms) : '');
  const clock = (ms) => (valid(ms) ? clockFormat.format(ms) : '');
  const sameDay = (a, b) => new Date(a).toDateString() === new Date(b).toDateString(); // a format takes many times as long
  const short = (ms) => (!valid(ms) ? '' : sameDay(ms, Date.now()) ? clock(ms) : fullFormat.format(ms));
  const sent = (m) => Math.round(m.ts * 1000);

  function age(ms) {
    const s = Math.max(0, Math.round((Date.now() - ms) / 1000));
    if (s < 60) return s + ' s';
    if (s < 3600) return Math.floor(s / 60) + ' min';
    if (s < 48 * 3600) return Math.floor(s / 3600) + ' h';
    return Math.floor(s / 86400) + ' days';
  }
  const count = (n, one, many) => n + ' ' + (n === 1 ? one : many);

  // --- One message ------------------------------------------------------------------------------------------------

  // The first eight names have colours of their own. The others share them.
  const colours = new Map();
  const inboxOf = (to) => to.replace(/(.)#.*/, '$1'); // a post in a room goes to amber#room
  function colour(name) {
    name = inboxOf(name);
    if (!colours.has(name)) {
      let n = 0;
      for (let i = 0; i < name.length; i++) n = (n * 31 + name.charCodeAt(i)) >>> 0;
      n %= 8;
      const taken = [...colours.values()];
      if (taken.length < 8) while (taken.includes(n)) n = (n + 1) % 8;
      colours.set(name, n);
    }
    return 'n' + colours.get(name);
  }
  const name = (text, more, shown) => make('bdi', { class: colour(text) + (more || '') }, shown || text);

  const word = (text) => (/^\w+$/.test(text) ? text : ''); // what may be a class
  const longText = (text) => text.length > 1600 || (text.match(/\n/g) || []).length > 13;

  // hitsOf finds the words that were looked for, as the server does: anywhere, in large letters or small ones.
  function hitsOf(words) {
    const all = words.trim().split(/\s+/).sort((a, b) => b.length - a.length);
    return new RegExp(all.map((w) => w.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'giu');
  }
  // marked is a text with its hits marked, where the list shows what was found.
  function marked(text) {
    if (!view.hits) return text;
    const parts = [];
    let at = 0;
    for (const hit of text.matchAll(view.hits)) {
      if (!hit[0]) continue;
      parts.push(text.slice(at, hit.index), make('mark', {}, hit[0]));
      at = hit.index + hit[0].length;
    }
    return [...parts, text.slice(at)];
  }
  // excerpt begins a long text where its first hit is, if that is far down.
  function excerpt(text) {
    const at = view.hits ? text.search(view.hits) : -1; // search always begins at 0
    if (at < 500 && (text.slice(0, Math.max(0, at)).match(/\n/g) || []).length < 8) return text;
    let from = Math.max(text.lastIndexOf('\n', at) + 1, at - 100);
    if (/[\udc00-\udfff]/.test(text[from])) from--; // not the second half of a character
    return '… ' + text.slice(from);
  }

  // blocksOf cuts a text into its lines of code, of a diff or of a table, and what stands between. No character is lost.
  const fenceLine = /^ {0,3}(`{3,}|~{3,})(.*)/;
  const diffStart = /^(?:diff --git |@@ -\d|--- .*\n\+\+\+ )/;
  const diffLine = /^(?:[-+ @\\]|diff |index |new file|deleted file|old mode|new mode|similarity |rename )/;
  const tableLine = /^\s*(?:\|.*\||[│┌├└║╔╠╚].*|\+[-=+]+\+)\s*$/;
  function blocksOf(text) {
    const lines = text.match(/[^\n]*\n|[^\n]+/g) || [];
    const blocks = [];
    const run = (from, isIn) => {
      let to = from;
      while (to < lines.length && isIn(lines[to], to)) to++;
      return to;
    };
    for (let i = 0; i < lines.length;) {
      const fence = fenceLine.exec(lines[i]);
      let end = i, kind = 'code';
      if (fence) {
        end = run(i + 1, (line) => !(line.trim().startsWith(fence[1]) && !line.trim().slice(fence[1].length).replaceAll(fence[1][0], ''))) + 1;
        if (/^\s*diff\b/.test(fence[2])) kind = 'diff';
      } else if (diffStart.test(lines[i] + (lines[i + 1] || ''))) {
        end = run(i, (line) => diffLine.test(line));
        kind = 'diff';
      } else {
        end = run(i, (line) => tableLine.test(line));
        if (end < i + 2) end = i;
      }
      if (end === i) {
        end = i + 1;
        kind = '';
      }
      const last = blocks[blocks.length - 1];
      if (!kind && last && !last.kind) last.lines.push(lines[i]);
      else blocks.push({ kind, lines: lines.slice(i, end) });
      i = end;
    }
    return blocks;
  }

  // formatted is a text with its code, diffs and tables set off, and its links, which one click selects. It is still text alone.
  function formatted(text) {
    return blocksOf(text).flatMap(({ kind, lines }) => {
      if (!kind) return view.hits ? marked(lines.join('')) : inline(lines.join(''));
      const sign = { '+': 'comes', '-': 'goes', '@': 'fence' };
      const parts = [];
      for (const line of lines) {
        const looks = fenceLine.test(line) ? 'fence' : (kind === 'diff' && sign[line[0]]) || '';
        if (parts.length && parts[parts.length - 1][0] === looks) parts[parts.length - 1][1] += line;
        else parts.push([looks, line]);
      }
      return make('span', { class: 'code', dir: 'ltr' }, parts.flatMap(([looks, text]) => (looks ? make('span', { class: looks }, marked(text)) : marked(text))));
    });
  }
  function inline(text) {
    return text.split(/(`[^`\n]+`|https?:\/\/[^\s<>"'`]+)/).map((part, i) => (i % 2 ? make('span', { class: part[0] === '`' ? 'mono' : 'mono address' }, part) : part));
  }

  function fate(m) {
    if (m.room) return m.new ? 'new' : m.old ? 'old: from before you joined' : '';
    const what = m.state;
    let text = m.held ? 'held' : what;
    if (m.after) text += ' after ' + short(m.after);
    else if (m.state !== 'queued' && m.since) text += ' ' + short(m.since);
    return text;
  }

  const fateClass = (m) => 'fate ' + word(m.state);
  const fateTitle = (m) => (m.by ? 'by ' + m.by : '');

  function answersLine(m) {
    if (!m.answers) return null;
    const to = byID.get(m.answers);
    const first = to && to.text.trim().split('\n', 1)[0].slice(0, 120);
    return make('p', { class: 'answers', dir: 'auto' }, to ? 'answers ' + to.from + ': ' + first : 'answers an earlier message');
  }

  // article builds a message. before is the one above it in the list.
  function article(m, before, place, size) {
    const id = 'm-' + m.key;
    const text = longText(m.text) && !m.open ? excerpt(m.text) : m.text;
    const words = make('div', { class: 'words', dir: 'auto', id: id + '-w' }, formatted(text));
    const more = make('button', { type: 'button', class: 'quiet', tabindex: -1, hidden: true });
    if (longText(m.text) && !m.open) {
      words.classList.toggle('short', longText(text));
      more.hidden = false;
      more.textContent = 'Show all of it';
    }
    if (m.cut) {
      more.hidden = false;
      more.textContent = 'Show all of it (' + Math.ceil(m.cut / 1024) + ' KiB)' + (view.hits && m.text.search(view.hits) < 0 ? ': what you look for is further down' : '');
    }
    more.addEventListener('click', () => showAll(m, words, more));
    const act = (label, what, title) => make('button', { type: 'button', tabindex: -1, title, onclick: () => what(m) }, label,
      make('span', { class: 'unseen' }, ' message of ' + m.from));
    const e = make('article', { id, 'aria-labelledby': id + '-h', 'aria-describedby': longText(m.text) ? null : id + '-w', 'aria-posinset': place, 'aria-setsize': size, tabindex: -1,
      class: m.session === me.id && me.id ? 'mine' : m.old ? 'old' : '' },
      (!before || !sameDay(sent(before), sent(m))) && valid(sent(m)) ? make('p', { class: 'day' }, day(sent(m))) : null,
      make('div', { class: 'line' }, make('span', { class: 'label', id: id + '-h' },
        m.ts ? make('time', { datetime: valid(sent(m)) ? new Date(sent(m)).toISOString() : null, title: valid(sent(m)) ? fullFormat.format(sent(m)) : null }, clock(sent(m))) : null,
        make('h3', {}, name(m.from, '', marked(m.from)), make('span', { class: 'arrow', 'aria-hidden': 'true' }, '→'), make('span', { class: 'unseen' }, ' to '), name(m.to, ' to', marked(m.to))),
        m.kind && m.kind !== 'message' ? make('span', { class: 'mark' }, m.kind) : null,
        m.tag ? make('span', { class: 'mark loud' }, m.tag) : null,
        m.reason ? make('span', { class: 'mark', title: 'Why it is for all: ' + m.reason }, m.reason) : null,
        knownBy(m),
        make('span', { class: fateClass(m), title: fateTitle(m) || null }, fate(m))),
        make('span', { class: 'acts' },
          m.from !== 'c2c-system' && m.from !== me.alias && (m.id || !m.room) ? act('Reply', reply, 'Answer this message (r)') : null,
          m.room ? null : act('Thread', thread, 'The whole conversation (t)'),
          m.room ? null : act('Why?', why, 'What became of it, and why (w)'),
          m.room && view.kind !== 'room' ? act('Room', thread, 'The whole room (t)') : null)),
      answersLine(m), words, more);
    return e;
  }

  // how c2c knows the sender
  const knownWords = { person: 'A person, at a terminal or on this page.', outside: 'From a program or person that is not here. It has no authority.',
    host: 'Another machine has signed it, and says which of its sessions wrote.', claimed: 'The sender only claims this name.' };
  function knownBy(m) {
    if (m.from === 'c2c-system' || m.known_by === 'process') return null; // the usual
    const warns = !m.known_by || m.known_by === 'outside' || m.known_by === 'claimed';
    const words = knownWords[m.known_by] || 'c2c does not know who wrote this: another program or an older c2c has stored it.';
    return make('span', { class: warns ? 'mark outside' : 'mark', title: words + (m.started_by ? ' ' + m.started_by + ' has started it.' : '') }, m.known_by || 'unknown');
  }

  const whole = (m) => ask('/api/message?' + new URLSearchParams({ id: m.id, key: m.key }));

  async function showAll(m, words, more) {
    if (m.cut) {
      more.disabled = true;
      try {
        const all = await whole(m);
        m.text = all.text;
        m.cut = 0;
      } catch (e) {
        more.disabled = false;
        more.textContent = e.message;
        return;
      }
    }
    m.open = true;
    words.replaceChildren(...formatted(m.text));
    words.classList.remove('short');
    const at = more.closest('article');
    more.hidden = true;
    if (at) at.focus({ preventScroll: true });
    words.querySelector('mark')?.scrollIntoView({ block: 'nearest' });
    list.update();
  }

  // --- A list of any length ---------------------------------------------------------------------------------------

  // The list is cut into pieces. Only those near the window are in the document; two empty blocks stand for the others. What
  // is in the window stays where it is, whatever comes above it. What the window shows is drawn at once, and what is near it
  // piece by piece afterwards: a frame has time for some twenty messages.
  const pieceSize = 8;
  const perMessage = 90; // pixels, until it is known
  const margin = 900; // pixels above and below the window

  class List {
    constructor(scroller, flow) {
      this.scroller = scroller;
      this.flow = flow;
      this.above = make('div', { role: 'none' });
      this.below = make('div', { role: 'none' });
      this.clear();
      scroller.addEventListener('scroll', () => this.update(), { passive: true });
      new ResizeObserver(() => this.update()).observe(scroller);
      flow.addEventListener('keydown', (e) => this.keydown(e));
      flow.addEventListener('focusin', (e) => this.focused(e.target.closest('article')));
    }
    clear() {
      this.items = [];
      this.at = new Map(); // key → index, made when it is asked for
      this.pieces = [];
      this.drawn = []; // those of them that are in the document, in their order
      this.current = null;
      this.end = true; // the last message was in the window when we looked last
      this.reads = null; // otherwise: the first message in the window, and how far below its top
      clearTimeout(this.later);
      this.later = 0;
      this.flow.replaceChildren(this.above, this.below);
      this.flow.hidden = true; // a list of nothing
    }
    get size() { return this.items.length; }
    has(m) { return this.keys().has(m.key); }
    keys() {
      if (this.at.size !== this.items.length) this.at = new Map(this.items.map((m, i) => [m.key, i]));
      return this.at;
    }

    cut(items) {
      const pieces = [];
      for (let i = 0; i < items.length; i += pieceSize) {
        const n = Math.min(pieceSize, items.length - i);
        pieces.push({ count: n, height: n * perMessage, el: null });
      }
      return pieces;
    }
    // set shows other messages, and the end of them or the beginning.
    set(items, atEnd) {
      this.clear();
      this.items = items.slice();
      this.pieces = this.cut(items);
      this.flow.hidden = items.length === 0;
      this.end = atEnd;
      this.update();
      if (atEnd) this.toEnd();
      else this.scroller.scrollTop = 0;
      this.update();
    }
    prepend(items) {
      this.items = items.concat(this.items);
      this.flow.hidden = this.items.length === 0;
      this.at.clear();
      const first = this.pieces[0];
      this.pieces = this.cut(items).concat(this.pieces);
      this.update();
      if (first && first.el) this.draw(first, first.from); // its first message may not begin a day any more
      for (const p of this.drawn) [...p.el.children].forEach((el, i) => el.setAttribute('aria-posinset', p.from + i + 1));
    }
    append(items) {
      const atEnd = this.isAtEnd();
      this.flow.hidden = false;
      for (const m of items) {
        this.items.push(m);
        if (this.at.size) this.at.set(m.key, this.items.length - 1);
        const p = this.pieces[this.pieces.length - 1];
        if (!p || p.count >= pieceSize) {
          this.pieces.push({ count: 1, height: perMessage, el: null });
        } else {
          p.count++;
          p.height += perMessage;
          if (p.el) p.el.append(this.build(this.items.length - 1));
        }
      }
      this.update();
      if (atEnd) this.toEnd();
      return atEnd;
    }
    // changed draws the state of a message anew, if it is drawn at all.
    changed(m) {
      const el = document.getElementById('m-' + m.key);
      if (!el || !this.flow.contains(el)) return;
      const f = el.querySelector('.fate');
      f.className = fateClass(m);
      f.textContent = fate(m);
      f.title = fateTitle(m);
    }
    build(i) {
      const el = article(this.items[i], this.items[i - 1], i + 1, this.complete ? this.items.length : -1);
      if (this.current === this.items[i].key || (!this.current && i === this.items.length - 1)) this.reachable(el, true);
      return el;
    }
    draw(p, from) {
      p.el = p.el || make('div', { class: 'piece', role: 'none' });
      if (p.el.contains(document.activeElement)) return;
      const all = [];
      for (let i = from; i < from + p.count; i++) all.push(this.build(i));
      p.el.replaceChildren(...all);
    }
    // update draws what is in the window and, later or at once, what is near it, and removes what is not. To read a height
    // behind a change would lay the list out again each time, so all are read first.
    update(atOnce) {
      const box = this.scroller.getBoundingClientRect();
      if (box.height === 0) { // not shown
        this.width = this.height = 0;
        return;
      }
      if (this.hasNewSize()) return this.resized(atOnce);
      for (const p of this.drawn) p.height = p.el.offsetHeight;
      const still = this.drawn.find((p) => p.el.getBoundingClientRect().bottom > box.top);
      const was = still && still.el.getBoundingClientRect().top;
      // Where a drawn piece is tells where the others are: what stands above it may have grown by now.
      const index = still ? this.pieces.indexOf(still) : -1;
      let y = still ? was - box.top : this.flow.getBoundingClientRect().top - box.top;
      for (let k = 0; k < index; k++) y -= this.pieces[k].height;
      const near = [], away = []; // how far each of them is from the window
      let above = 0, below = 0, from = 0;
      for (const p of this.pieces) {
        p.from = from;
        const far = Math.max(-(y + p.height), y - box.height);
        if (far <= margin) {
          near.push(p);
          away.push(far);
        } else if (y < 0) above += p.height;
        else below += p.height;
        y += p.height;
        from += p.count;
      }
      // From the window outwards, what is there already stays, and one piece more is drawn.
      let first = Math.max(0, away.findIndex((far) => far <= 0)), last = first;
      while (last + 1 < near.length && away[last + 1] <= 0) last++;
      let more = near.slice(first, last + 1).every((p) => p.el) ? 1 : 0;
      if (atOnce) more = near.length;
      const grows = (p) => p && (p.el || more-- > 0);
      while (grows(near[first - 1])) first--;
      while (grows(near[last + 1])) last++;
      for (const p of near.slice(0, first)) above += p.height;
      for (const p of near.slice(last + 1)) below += p.height;
      const shown = near.slice(first, last + 1);
      if (shown.length < near.length && !this.later) this.later = setTimeout(() => { this.later = 0; this.update(); });
      const keep = new Set(shown);
      for (const p of this.drawn) {
        if (keep.has(p)) continue;
        if (p.el.contains(document.activeElement)) this.scroller.focus({ preventScroll: true });
        p.el.remove();
        p.el = null;
      }
      let before = this.above;
      for (const p of shown) {
        if (!p.el) this.draw(p, p.from);
        if (before.nextSibling !== p.el) before.after(p.el);
        before = p.el;
      }
      this.drawn = shown;
      this.above.style.height = above + 'px';
      this.below.style.height = below + 'px';
      if (still && still.el) {
        const moved = still.el.getBoundingClientRect().top - was;
        if (Math.abs(moved) >= 1) this.scroller.scrollTop += moved;
      }
      this.remember();
    }
    remember() {
      this.end = this.isAtEnd();
      const top = this.scroller.getBoundingClientRect().top;
      const isIn = (el) => el.getBoundingClientRect().bottom > top;
      const piece = this.drawn.find((p) => isIn(p.el));
      const el = piece && [...piece.el.children].find(isIn);
      this.reads = el ? { el, below: el.getBoundingClientRect().top - top } : null;
    }
    // resized keeps what was in the window there: lines break anew in a window of another width. A list that is not shown has
    // no height, and stays as it is until it is. An event of scrolling may come between the new size and what observes it.
    hasNewSize() { return this.scroller.offsetWidth !== this.width || this.scroller.offsetHeight !== this.height; }
    resized(atOnce) {
      const { end, reads } = this;
      this.width = this.scroller.offsetWidth;
      this.height = this.scroller.offsetHeight;
      this.update(atOnce);
      if (end) return this.toEnd();
      if (!reads || !reads.el.isConnected) return;
      const moved = reads.el.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top - reads.below;
      if (Math.abs(moved) < 1) return;
      this.scroller.scrollTop += moved;
      this.update();
    }
    isAtEnd() {
      if (this.hasNewSize()) return this.end;
      return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 60;
    }
    toEnd() {
      this.end = true;
      for (let n = 0; n < 4; n++) { // what is drawn there may be higher than was thought
        this.scroller.scrollTop = this.scroller.scrollHeight;
        this.update();
      }
      this.scroller.scrollTop = this.scroller.scrollHeight;
    }
    // enter puts the focus on the message that had it last, or the newest.
    enter() {
      if (this.size) this.go(this.keys().get(this.current) ?? this.size - 1);
      else $('talk-title').focus();
    }

    // One message can be reached with Tab, and its buttons with it. The keys go on from there.
    reachable(el, on) {
      el.tabIndex = on ? 0 : -1;
      for (const b of el.querySelectorAll('button')) b.tabIndex = on ? 0 : -1;
    }
    focused(el) {
      if (!el) return;
      const k = el.id.slice(2);
      if (k !== this.current) {
        for (const other of this.flow.querySelectorAll('article[tabindex="0"]')) this.reachable(other, false);
        this.current = k;
      }
      this.reachable(el, true);
      // Where nothing points, its buttons take a line of their own now.
      if (this.end && matchMedia('(hover: none)').matches) this.toEnd();
    }
    go(to) {
      if (to < 0 || to >= this.items.length) return;
      const find = () => document.getElementById('m-' + this.items[to].key);
      if (!find()) this.update(true);
      for (let n = 0; n < 4 && !find(); n++) { // it is far away
        let y = 0;
        for (const p of this.pieces) {
          if (to < p.from + p.count) break;
          y += p.height;
        }
        this.drawn.forEach((p) => { p.el.remove(); p.el = null; });
        this.drawn = [];
        this.above.style.height = y + 'px';
        this.below.style.height = this.pieces.reduce((sum, p) => sum + p.height, -y) + 'px';
        this.scroller.scrollTop = this.flow.offsetTop + y;
        this.update();
      }
      const el = find();
      if (!el) return;
      el.focus({ preventScroll: true });
      el.scrollIntoView({ block: 'nearest' });
      this.update();
    }
    keydown(e) {
      const el = e.target.closest('article');
      if (!el || e.ctrlKey || e.metaKey || e.altKey) return;
      const i = this.keys().get(el.id.slice(2));
      const m = this.items[i];
      const moves = { j: 1, k: -1, PageDown: 1, PageUp: -1, ArrowDown: 1, ArrowUp: -1 };
      if (e.key in moves) this.go(i + moves[e.key]);
      else if (e.key === 'End') this.go(this.items.length - 1);
      else if (e.key === 'Home') this.go(0);
      else if (e.key === 'r') reply(m);
      else if (e.key === 't') thread(m);
      else if (e.key === 'w') why(m);
      else return;
      e.preventDefault();
    }
  }

  const list = new List($('scroll'), $('flow'));

  // --- What the list shows ----------------------------------------------------------------------------------------

  // view is all mail, that of a session, a thread or what was found.
  let view = { kind: 'all', title: 'All mail' };
  let flowMails = []; // of all sessions, the oldest first, without a gap to the newest
  let flowMore = true; // there are older ones

  const inView = (m, before) => view.kind === 'all' || (view.kind === 'session' && isOf(view, m)) ||
    (view.kind === 'thread' && m.answers && [...list.items, ...before].some((o) => o.id === m.answers));
  const isOf = (v, m) => m.session === v.session || m.from === v.alias || m.to === v.alias;

  const order = (a, b) => a.ts - b.ts || (a.key < b.key ? -1 : 1);

  function open(v, items, atEnd) {
    view = v;
    list.complete = !v.more;
    const isBoard = v.kind in boards;
    $('board').hidden = !isBoard;
    $('lanes').hidden = v.kind !== 'thread';
    $('scroll').hidden = $('write').hidden = isBoard;
    $('talk-title').textContent = v.title;
    $('back').hidden = v.kind === 'all';
    if (v.kind !== 'found') $('words').value = '';
    note(v.note);
    fresh(0);
    list.set(items, atEnd);
    older();
    $('empty').hidden = items.length > 0 || v.kind !== 'all';
    drawSessions();
    part('talk');
    if (isBoard) boards[v.kind]();
  }

  function note(text) {
    $('talk-note').hidden = !text;
    $('talk-note').textContent = text || '';
  }

  function older() {
    const e = $('older');
    e.hidden = list.size === 0 && !view.more;
    e.textContent = view.more ? (view.kind === 'room' ? 'Older posts come as you scroll up' : 'Older mail comes as you scroll up') : { thread: 'The beginning of this conversation', found: '' }[view.kind] ?? 'This is the beginning';
    if (!e.textContent) e.hidden = true;
  }

  function openAll() {
    open({ kind: 'all', title: 'All mail', more: flowMore }, flowMails, true);
  }

  // openBoard shows what is no list of messages.
  const boards = { waiting: drawWaiting, timeline: drawTimeline, everywhere: drawEverywhere, costs: drawCosts };
  let boardTimer = 0;
  function boardSoon() {
    if (boardTimer || !(view.kind in boards)) return;
    boardTimer = setTimeout(() => {
      boardTimer = 0;
      if (view.kind in boards) boards[view.kind]();
    }, 300);
  }
  // board shows this in place of the list, and keeps the focus.
  function board(...inside) {
    const box = $('board'), had = box.contains(document.activeElement) ? document.activeElement.id : '';
    box.replaceChildren(...inside.flat());
    if (had && $(had)) $(had).focus({ preventScroll: true });
  }
  const table = (kind, titles, rows) => make('table', { class: kind }, make('thead', {}, make('tr', {}, titles.map((t) => make('th', { scope: 'col' }, t)))), make('tbody', {}, rows));
  const who = (alias) => (alias === me.alias ? 'you' : name(alias));

  // writing shows where one writes.
  const writing = () => (view.kind in boards ? openAll() : part('talk'));

  async function openSession(s) {
    const v = { kind: 'session', title: 'Mail of ' + s.alias, session: s.id, alias: s.alias, more: true };
    open(v, flowMails.filter((m) => isOf(v, m)), true);
    if (!$('text').value && s.id !== me.id) $('to').value = s.alias;
    if (list.size < 30) await loadOlder();
  }

  async function thread(m) {
    if (m.room) return openRoom(m.room);
    await fetched('/api/thread?' + new URLSearchParams({ id: m.id }), (l) => {
      open({ kind: 'thread', title: 'Conversation of ' + m.from + ' and ' + m.to, more: false,
        note: l.more ? 'This conversation has more messages than are shown here.' : l.note }, l.mails, false);
      const at = l.mails.findIndex((o) => o.key === m.key);
      if (at >= 0) list.go(at);
    });
  }

  async function search(words) {
    if (!words.trim()) return openAll();
    await fetched('/api/search?' + new URLSearchParams({ q: words }), (l) => {
      open({ kind: 'found', title: (l.more ? 'More than ' : '') + count(l.mails.length, 'message has', 'messages have') + ' “' + words + '”', more: false, hits: hitsOf(words),
        note: [l.more ? 'These are the newest. More words find less.' : '', l.note].filter(Boolean).join(' ') }, l.mails.reverse(), true);
      aloud(count(l.mails.length, 'message', 'messages') + ' found');
      $('talk-title').focus();
    });
  }

  // fetched shows the answer to the newest question: an earlier one may be answered later.
  let asked = 0;
  async function fetched(path, then) {
    const mine = ++asked;
    try {
      const l = await ask(path);
      if (mine !== asked) return;
      l.mails = l.mails.map(know);
      then(l);
    } catch (e) {
      if (mine === asked) note(e.message);
    }
  }

  let loading = false;
  async function loadOlder() {
    if (loading || !view.more) return;
    loading = true;
    $('flow').setAttribute('aria-busy', 'true');
    const v = view;
    const oldest = list.items[0];
    const q = new URLSearchParams({ limit: 200 });
    if (oldest) q.set('before', oldest.ts + '/' + oldest.key);
    if (v.kind === 'session') q.set('session', v.session);
    let again = false;
    try {
      const l = await ask(v.kind === 'room' ? roomPath(v.room, { before: v.older }) : '/api/history?' + q);
      if (view !== v) return;
      v.more = l.more;
      v.older = l.older;
      const items = l.mails.map(know).filter((m) => !list.has(m)).reverse();
      if (v.kind === 'all') {
        flowMails = items.concat(flowMails);
        flowMore = l.more;
      }
      list.prepend(items);
      drawMine();
      note(l.note);
      again = l.more && list.scroller.scrollTop < 1200;
    } catch (e) {
      if (view === v) note(e.message);
    } finally {
      loading = false;
      $('flow').removeAttribute('aria-busy');
      older();
    }
    if (again) requestAnimationFrame(loadOlder);
  }

  let unseenBelow = 0;
  function fresh(n) {
    unseenBelow = n;
    $('newer').hidden = n === 0;
    $('newer').textContent = count(n, 'new message', 'new messages') + ' ↓';
  }

  // --- Sessions ---------------------------------------------------------------------------------------------------

  const doesWords = { busy: 'busy', idle: 'idle', waiting: 'waiting for its person', absent: 'absent', away: 'away', person: 'person', external: 'sender outside', alive: 'alive', unknown: '' }; // those of c2c help states

  function about(s) {
    const parts = [];
    if (s.error) parts.push(s.error);
    let does = Object.hasOwn(doesWords, s.does) ? doesWords[s.does] : s.does;
    if (does && s.since && s.does !== 'person' && s.does !== 'absent') does += ' for ' + age(s.since);
    if (s.id === me.id) does = 'you';
    if (does) parts.push(does);
    if (s.waiting && s.oldest) parts.push('oldest mail ' + age(s.oldest) + ' old');
    if (s.quiet) parts.push('do not disturb');
    if (s.client && s.client !== 'human' && s.does !== 'external') parts.push(s.client);
    if (s.role) parts.push(s.role);
    return parts.join(' · ');
  }

  // sessionFacts is what there is no room for in the list.
  function sessionFacts(s) {
    const more = [];
    if (s.ring) more.push('last ring: ' + s.ring + (s.ring_at ? ', ' + short(s.ring_at) : ''));
    if (s.surface) more.push(s.surface === 'full' ? 'mail rings it' : 'c2c knows of nothing that rings it: its next turn brings its mail');
    if (s.last_read) more.push('last got mail ' + short(s.last_read));
    if (s.handed) more.push(count(s.handed, 'message', 'messages') + ' handed');
    return more;
  }

  const rank = (s) => (s.needs_person ? 0 : s.id === me.id ? 1 : s.state === 'absent' ? 3 : 2);
  const hasEnded = (s) => s.state === 'absent';
  // The filter shows the sessions and the rooms that have its words, those that have ended, too.
  let filter = [];
  const passes = (...texts) => { const all = texts.join(' ').toLowerCase(); return filter.every((w) => all.includes(w)); };
  const isShown = (s) => view.kind === 'session' && view.session === s.id;
  let showEnded = false;
  const rowAt = { sessions: 's-all', rooms: '' }; // the row of each list that had the focus last. Tab reaches that one alone, and the keys go on from there
  const sorted = () => sessions.slice().sort((a, b) => rank(a) - rank(b));

  function drawSessions() {
    const ul = $('sessions');
    const ended = sessions.filter(hasEnded);
    const elsewhere = projects.reduce((sum, p) => sum + (p.id === project ? 0 : p.needs || 0), 0);
    const left = ended.reduce((sum, s) => sum + (s.waiting || 0), 0);
    const had = document.activeElement && ul.contains(document.activeElement) ? document.activeElement.id : '';
    const row = (id, attrs, ...inside) => make('li', {}, make('button', { type: 'button', id, class: 'session' + (attrs.gone ? ' gone' : ''), tabindex: -1, 'aria-pressed': String(!!attrs.on), title: attrs.title || null, onclick: attrs.open }, ...inside));
    const badge = (n, one, many, more) => (n ? make('span', { class: 'badge' + (more || '') }, n, make('span', { class: 'unseen' }, n === 1 ? one : many)) : make('span', {}));
    const mails = (n, more) => badge(n, ' message waits', ' messages wait', more);
    const isListed = (s) => isShown(s) || (filter.length ? passes(s.alias, about(s)) : showEnded || !hasEnded(s));
    ul.replaceChildren(
      row('s-all', { on: view.kind === 'all', open: openAll }, make('span', {}), make('span', { class: 'name' }, 'All mail')),
      projects.length > 1 ? row('s-everywhere', { on: view.kind === 'everywhere', open: () => { open({ kind: 'everywhere', title: 'All projects' }, [], false); listProjects(); } }, make('span', {}), make('span', { class: 'name' }, 'All projects'), badge(elsewhere, ' needs you in another project', ' need you in other projects')) : '',
      row('s-waiting', { on: view.kind === 'waiting', open: () => open({ kind: 'waiting', title: 'Waiting' }, [], false) }, make('span', {}), make('span', { class: 'name' }, 'Waiting'), badge(waits().length + (owes.more_waits || 0), ' waits', ' wait', ' calm')),
      row('s-timeline', { on: !!view.day, open: () => openDay(Date.now()) }, make('span', {}), make('span', { class: 'name' }, 'Timeline')),
      row('s-costs', { on: view.kind === 'costs', open: () => open({ kind: 'costs', title: 'Costs of the last day' }, [], false) }, make('span', {}), make('span', { class: 'name' }, 'Costs')),
      ...sorted().filter(isListed).map((s) => row('s-' + s.id, { on: isShown(s), gone: s.state === 'absent', title: sessionFacts(s).join('\n'), open: () => openSession(s) },
        make('span', { class: 'dot ' + word(s.does) }), make('span', { class: 'name' }, name(s.alias)), mails(s.waiting), make('span', { class: 'about' }, about(s)))),
      ended.length && !filter.length ? row('s-ended', { on: showEnded, gone: true, open: () => { showEnded = !showEnded; drawSessions(); } }, make('span', {}), make('span', { class: 'name' }, count(ended.length, 'ended session', 'ended sessions')), mails(left, ' calm')) : '');
    const shown = sessions.find(isShown);
    $('talk-facts').hidden = !shown;
    $('talk-facts').textContent = shown ? [about(shown), ...sessionFacts(shown)].filter(Boolean).join(' · ') : '';
    $('tell').hidden = !shown || shown.id === me.id || ['person', 'external', 'absent'].includes(shown.does);
    ($(rowAt.sessions) || $('s-all')).tabIndex = 0;
    if (had) ($(had) || $('s-all')).focus({ preventScroll: true });
    $('start').hidden = sessions.some((s) => !['absent', 'person', 'external'].includes(s.does));
    drawRooms();
  }
  $('filter').addEventListener('input', () => {
    filter = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    drawSessions();
    boardSoon();
  });
  for (const b of $('tell').querySelectorAll('button')) {
    b.addEventListener('click', async () => {
      const shown = sessions.find(isShown);
      if (!shown) return;
      try {
        const told = await ask('/api/notify', { alias: shown.alias, when: b.textContent });
        note(told.text || 'One message will tell you when ' + shown.alias + ' is ' + b.textContent + '.');
      } catch (e) { note(e.message); }
    });
  }
  for (const ul of [$('sessions'), $('rooms')]) {
    ul.addEventListener('focusin', (e) => {
      for (const had of ul.querySelectorAll('[tabindex="0"]')) had.tabIndex = -1;
      rowAt[ul.id] = e.target.id;
      e.target.tabIndex = 0;
    });
    ul.addEventListener('keydown', (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const all = [...ul.querySelectorAll('button')], at = all.indexOf(e.target);
      const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: all.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      if (all[to]) all[to].focus();
    });
  }

  function drawTo() {
    const to = $('to');
    const chosen = to.value;
    const others = sorted().filter((s) => s.id !== me.id);
    const mine = rooms.filter((r) => r.mine).map((r) => '#' + r.name);
    const names = others.map((s) => s.alias + '\n' + s.state).concat(mine).join('\n');
    if (to.names === names) return;
    to.names = names;
    to.replaceChildren(make('option', { value: '' }, 'choose'), ...others.map((s) => make('option', { value: s.alias }, s.state === 'absent' ? s.alias + ' (ended)' : s.alias)), ...mine.map((r) => make('option', { value: r }, r)));
    to.value = others.some((s) => s.alias === chosen) || mine.includes(chosen) ? chosen : '';
    if (to.value !== chosen) costSoon();
  }

  // --- Rooms ------------------------------------------------------------------------------------------------------

  let rooms = [];
  const shownRoom = () => (view.kind === 'room' ? rooms.find((r) => r.name === view.room) : undefined);
  const roomPath = (name, more) => '/api/room?' + new URLSearchParams({ name, ...more });

  // The list is asked for anew when something was posted, and now and then: others may make rooms.
  let roomsTimer = 0;
  function roomsSoon(ms) {
    if (roomsTimer) return;
    roomsTimer = setTimeout(() => {
      roomsTimer = 0;
      if (!stopped && !document.hidden) listRooms();
    }, ms);
  }
  async function listRooms() {
    try {
      const l = await ask('/api/rooms');
      rooms = l.rooms;
      if (l.note) note(l.note);
      drawRooms();
    } catch (e) { if (e.status) note(e.message); }
  }

  function aboutRoom(r) {
    const parts = [count(r.members.length, 'member', 'members')];
    if (r.private) parts.push('private');
    if (r.mine) parts.push(r.level);
    if (r.asked && !r.mine) parts.push('you have asked to join');
    else if (!r.mine) parts.push('you are not in it');
    if (r.error) parts.push(r.error);
    return parts.join(' · ');
  }

  function drawRooms() {
    const ul = $('rooms');
    const listed = rooms.filter((r) => passes('#' + r.name, aboutRoom(r)));
    $('rooms-title').hidden = ul.hidden = !listed.length;
    const had = ul.contains(document.activeElement) ? document.activeElement.id : '';
    ul.replaceChildren(...listed.map((r) => make('li', {}, make('button', { type: 'button', id: 'r-' + r.name, class: 'session' + (r.mine ? '' : ' gone'), tabindex: -1, 'aria-pressed': String(view.kind === 'room' && view.room === r.name), title: r.last ? 'Last post: ' + short(r.last * 1000) : null, onclick: () => openRoom(r.name) },
      make('span', { class: 'hash', 'aria-hidden': 'true' }, '#'),
      make('span', { class: 'name' }, make('bdi', {}, r.name)),
      r.new ? make('span', { class: 'badge' }, r.new + (r.more ? '+' : ''), make('span', { class: 'unseen' }, r.new === 1 ? ' new post' : ' new posts')) : make('span', {}),
      make('span', { class: 'about' }, aboutRoom(r))))));
    const reached = $(rowAt.rooms) || ul.querySelector('button');
    if (reached) reached.tabIndex = 0;
    if (had && $(had)) $(had).focus({ preventScroll: true });
    const r = shownRoom();
    $('room-acts').hidden = !r;
    $('room-level-label').hidden = !r || !r.mine;
    if (r) {
      $('talk-facts').hidden = false;
      $('talk-facts').textContent = 'In it: ' + (r.members.map((m) => m.alias + (m.level === 'quiet' ? '' : ' (' + m.level + ')')).join(', ') || 'nobody');
      $('room-join').textContent = r.mine ? 'Leave the room' : 'Join the room';
      if (document.activeElement !== $('room-level')) $('room-level').value = r.level || 'quiet';
    }
    drawTo();
  }

  async function setMember(what) {
    const room = view.room;
    try {
      const done = await ask('/api/rooms/member', { room, do: what });
      note(done.note);
    } catch (e) { note(e.message); }
    await listRooms();
    writeTo(room);
  }
  // writeTo makes the room that is shown the receiver, unless the person has begun to write.
  function writeTo(room) {
    if ($('text').value || drafted || shownRoom()?.name !== room || !shownRoom().mine) return;
    $('to').value = '#' + room;
    costSoon();
  }
  $('room-join').addEventListener('click', () => setMember(shownRoom()?.mine ? 'leave' : 'join'));
  $('room-level').addEventListener('change', () => setMember($('room-level').value));

  async function openRoom(name) {
    await fetched(roomPath(name), (l) => {
      open({ kind: 'room', title: '#' + name, room: name, more: l.more, older: l.older, note: l.note || (l.mails.length ? '' : 'Nobody has posted here.') }, l.mails.reverse(), true);
      writeTo(name);
      seen(name, l.end);
    });
  }

  // seen tells c2c that the person has the posts up to here. The posts keep their mark while the room is shown.
  async function seen(room, place) {
    if (document.hidden || !rooms.some((r) => r.name === room && r.mine)) return;
    try { await ask('/api/rooms/seen', { room, place }); } catch (e) { if (e.status) note(e.message); }
    roomsSoon(0);
  }

  // readOn shows what has come to the room that is shown.
  let reading = false, readAgain = false;
  async function readOn() {
    const v = view;
    if (v.kind !== 'room') return;
    if (reading) {
      readAgain = true;
      return;
    }
    reading = true;
    try {
      const l = await ask(roomPath(v.room));
      if (view === v) {
        const all = l.mails.map(know).reverse();
        const items = all.filter((m) => !list.has(m));
        if (list.size && items.length && items.length === all.length) openRoom(v.room); // some are missing between
        else if (items.length) {
          note('');
          if (!list.append(items)) fresh(unseenBelow + items.length);
          for (const m of items) aloud('Post from ' + m.from + ' in ' + v.room);
        }
        if (items.length < all.length || !list.size) seen(v.room, l.end);
      }
    } catch (e) {
      if (view === v) note(e.message);
    }
    reading = false;
    if (readAgain) {
      readAgain = false;
      readOn();
    }
  }

  // posted is told in which rooms there are new posts.
  function posted(names) {
    roomsSoon(500);
    if (view.kind === 'room' && names.includes(view.room)) readOn();
  }

  // target is the room to which the draft goes; '': it goes to a session.
  const target = () => (drafted ? drafted.room || '' : $('to').value.startsWith('#') ? $('to').value.slice(1) : '');

  // What a post costs is shown before it is sent: whom it wakes is for c2c to say, which knows what is a name in it.
  let costTimer = 0, costOf = 0;
  function costSoon() {
    const mine = ++costOf;
    $('wake-label').hidden = !target();
    if (!target()) $('wake').checked = false;
    const room = target() || (drafted ? drafted.to.split('#')[1] : ''); // the answer to a mention goes into its room, too
    $('cost').textContent = '';
    clearTimeout(costTimer);
    if (!room || !$('text').value.trim()) return;
    costTimer = setTimeout(async () => {
      let text;
      try { text = 'Not sent yet. It would be ' + (await ask('/api/rooms/cost', postOf(room))).note; } catch (e) { text = e.message; }
      if (mine === costOf) $('cost').textContent = text;
    }, 300);
  }
  const postOf = (room) => ({ id: uuid(), text: $('text').value, kind: $('kind').value, tag: $('tag').value, room, wake: $('wake').checked, answers: drafted ? drafted.id : '' });

  // --- Writing ----------------------------------------------------------------------------------------------------

  function reply(m) {
    if (m.from === me.alias) return note('This is your own message. Choose to whom you write below.');
    if (m.room && !m.id) return note('The OCaml c2c has written this post, and nobody can answer it.');
    drafted = m;
    $('to-label').hidden = true;
    $('about').hidden = false;
    const first = m.text.trim().split('\n', 1)[0];
    $('about-text').textContent = 'Answer to ' + m.from + ', about “' + (first.length > 90 ? first.slice(0, 90) + '…' : first) + '”';
    said('');
    costSoon();
    $('text').focus();
  }
  function dropReply() {
    drafted = null;
    $('to-label').hidden = false;
    $('about').hidden = true;
    costSoon();
  }
  function said(text, wrong) {
    $('sent').textContent = text;
    $('sent').classList.toggle('wrong', !!wrong);
  }
  function uuid() {
    const b = crypto.getRandomValues(new Uint8Array(16));
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    const h = Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
    return [h.slice(0, 8), h.slice(8, 12), h.slice(12, 16), h.slice(16, 20), h.slice(20)].join('-');
  }

  let sending = false;
  async function send() {
    const text = $('text').value;
    if (sending) return;
    if (!text.trim()) return said('There is nothing to send yet.', true);
    if (!drafted && !$('to').value) {
      said('Choose to whom it goes.', true);
      return $('to').focus();
    }
    let draft = { text, kind: $('kind').value, tag: $('tag').value };
    const room = target();
    if (room) draft = { ...postOf(room), id: undefined };
    else if (drafted) Object.assign(draft, { answers: drafted.id, key: drafted.key });
    else draft.to = $('to').value;
    // The same words to the same session, sent again because no answer came, are the same message.
    const same = JSON.stringify(draft);
    if (!last || last.same !== same) last = { same, id: uuid() };
    draft.id = last.id;
    sending = true;
    $('send').disabled = true;
    said('Sending');
    try {
      const r = await ask(room ? '/api/rooms/post' : drafted ? '/api/reply' : '/api/send', draft);
      last = null;
      if ($('text').value === text) $('text').value = '';
      $('kind').value = 'message';
      $('tag').value = '';
      $('wake').checked = false;
      dropReply();
      said(room ? r.to + ': ' + r.note : 'Stored for ' + r.to + (r.note ? '. ' + r.note : ''));
    } catch (e) {
      said('Not sent, and kept here: ' + e.message, true);
    } finally {
      sending = false;
      $('send').disabled = false;
    }
  }

  // --- Why --------------------------------------------------------------------------------------------------------

  async function why(m) {
    if (m.room) return;
    const from = document.activeElement;
    $('more-title').textContent = 'The message of ' + m.from + ' to ' + m.to;
    $('more-text').replaceChildren(make('p', {}, 'Looking'));
    const d = $('more');
    d.showModal();
    d.addEventListener('close', () => from && from.focus && from.focus({ preventScroll: true }), { once: true });
    try {
      const w = await whole(m);
      $('more-text').replaceChildren(...[
        w.keeps && make('p', { class: 'why' }, w.keeps),
        w.do && make('p', {}, w.do),
        w.why && make('p', { class: 'why' }, w.why),
        make('ol', {}, w.way.map((line) => make('li', {}, line))),
        make('p', { class: 'soft' }, 'Its id is ' + w.short + (m.id !== w.short ? ' (the end of a longer one)' : '') + '.'),
      ].filter(Boolean));
    } catch (e) {
      $('more-text').replaceChildren(make('p', { class: 'why' }, e.message));
    }
  }

  // --- For the person ---------------------------------------------------------------------------------------------

  // myMail has what waits of the mail that the page has: older mail comes with Show.
  const myMail = () => [...mails.values()].filter((m) => me.id && m.session === me.id && ['queued', 'rung', 'handed'].includes(m.state));
  const myself = () => sessions.find((s) => s.id === me.id);
  const mineWait = () => myself()?.waiting || 0;

  function drawMine() {
    const box = $('mine'), waits = myMail(), n = mineWait();
    box.hidden = !n;
    if (n) {
      const had = box.contains(document.activeElement);
      const b = make('button', { type: 'button', disabled: !waits.length, onclick: readMine }, 'Mark as read');
      box.replaceChildren(make('h3', {}, count(n, 'message for you waits', 'messages for you wait')),
        make('p', { class: 'soft' }, (waits.length ? 'From ' + [...new Set(waits.map((m) => m.from))].slice(0, 6).join(', ') + '. ' : '') + 'It stays unread until you mark it.'),
        make('div', { class: 'row' }, b, make('button', { type: 'button', onclick: () => myself() && openSession(myself()) }, 'Show')));
      if (had) b.focus();
    }
    counts();
  }

  // drawDialogs draws a card for each session that stands at a dialog which only its own window can answer.
  function drawDialogs() {
    const hasCard = (s) => [...asks.keys()].some((name) => name.startsWith(s.id + '/'));
    $('dialogs').replaceChildren(...sessions.filter((s) => s.needs_person && !hasCard(s)).map((s) => make('div', { class: 'card ask' },
      make('h3', {}, name(s.alias), ' waits for its person'),
      make('p', { class: 'soft' }, 'A dialog is open in its own window' + (s.since ? ' for ' + age(s.since) : '') + '. Answer it there.'))));
  }

  function counts() {
    drawDialogs();
    const n = mineWait() + $('dialogs').children.length + asks.size + owes.mine.filter((o) => o.late).length;
    $('todo-count').hidden = n === 0;
    $('todo-count').textContent = n;
    $('todo-empty').hidden = n > 0 || owes.mine.length > 0;
    document.title = (n ? '(' + n + ') ' : '') + 'c2c' + (projectName ? ' · ' + projectName : '');
  }

  async function readMine() {
    const waits = myMail();
    try {
      const r = await ask('/api/read', { keys: waits.map((m) => m.key) });
      for (const m of waits) m.state = 'read'; // of old mail the stream tells nothing
      aloud(count(r.read, 'message', 'messages') + ' marked as read');
    } catch (e) {
      note(e.message);
    }
  }

  // Tool calls that wait for a person. Nothing leads the focus to a button of theirs, Enter does not press them, and a card is
  // dead for a moment after it has come: who was about to press something else must not decide.
  const asks = new Map(); // name → card
  const armed = 700; // milliseconds

  function drawAsks(open) {
    const box = $('asks');
    const names = new Set(open.map((a) => a.session + '/' + a.id));
    for (const [name, card] of asks) {
      if (names.has(name)) continue;
      if (card.contains(document.activeElement)) $('todo-title').focus({ preventScroll: true });
      card.remove();
      asks.delete(name);
    }
    for (const a of open) {
      const name = a.session + '/' + a.id;
      if (asks.has(name)) continue;
      const card = askCard(a);
      asks.set(name, card);
      box.append(card);
      aloud(a.alias + ' asks whether it may use ' + a.tool);
      notify(a.alias + ' asks for permission', a.tool + ': ' + (a.about || ''), name);
    }
    counts();
  }

  // editLines are the lines that go and those that come, with what both have before and behind them.
  function editLines(before, after) {
    const old = before.split('\n'), fresh = after.split('\n');
    let same = 0, end = 0;
    const least = () => Math.min(old.length, fresh.length) - same;
    while (least() > 0 && old[same] === fresh[same]) same++;
    while (end < least() && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end++;
    const all = (sign, lines, kind) => lines.map((line) => make('span', { class: kind }, sign + ' ' + line + '\n'));
    return [...all(' ', old.slice(0, same)), ...all('-', old.slice(same, old.length - end), 'goes'),
      ...all('+', fresh.slice(same, fresh.length - end), 'comes'), ...all(' ', old.slice(old.length - end))];
  }

  function askCard(a) {
    const answer = make('p', { class: 'soft', role: 'status' });
    let dead = true, partial = false;
    const wait = () => setTimeout(() => { dead = false; draw(); }, armed);
    const decide = async (allow) => {
      if (dead) return;
      dead = true;
      draw();
      if (allow && a.partial && !partial) { // a second press, of a button that says something else
        partial = true;
        buttons[1].firstChild.textContent = 'Allow what is not shown, too';
        answer.textContent = 'It is not shown in full. Look at it in its own dialog, or press once more.';
        wait();
        return;
      }
      answer.textContent = 'Sending';
      try {
        await ask('/api/decide', { id: a.id, session: a.session, allow, partial });
        answer.textContent = allow ? 'Allowed. Its client is told.' : 'Denied. Its client is told.';
      } catch (e) {
        answer.textContent = e.message;
        if (e.status !== 409) dead = false;
        draw();
      }
    };
    const button = (allow, label, what) => {
      const b = make('button', { type: 'button', class: allow ? '' : 'main', 'aria-disabled': 'true', onclick: () => decide(allow) }, label, make('span', { class: 'unseen' }, what));
      b.addEventListener('keydown', (e) => { if (e.key === 'Enter') e.preventDefault(); }); // the space bar presses it
      return b;
    };
    const of = ' ' + a.tool + ' of ' + a.alias;
    const buttons = [button(false, 'Deny', of), button(true, 'Allow', of)];
    const draw = () => { for (const b of buttons) b.setAttribute('aria-disabled', String(dead)); };
    wait();
    const what = (name, ...value) => make('pre', { dir: 'auto', tabindex: 0, role: 'region', 'aria-label': name + of + ', ' + a.id }, ...value);
    const fields = a.fields || [];
    const [before, after] = ['old_string', 'new_string'].map((name) => fields.find((f) => f.name === name));
    const isEdit = before && after;
    const inFull = fields.map((f) => {
      if (isEdit && f === after) return null;
      if (isEdit && f === before) return what('the edit', ...editLines(before.value, after.value));
      return what(f.name, f.name === 'command' ? f.value : f.name + ': ' + f.value);
    });
    return make('div', { class: 'card ask', role: 'group', 'aria-label': a.alias + ' asks for ' + a.tool },
      make('h3', {}, name(a.alias), ' asks to use ', make('bdi', {}, a.tool)),
      a.about ? make('p', { dir: 'auto' }, a.about) : null,
      a.partial ? make('p', { class: 'mark loud' }, 'NOT SHOWN IN FULL: its client leaves a part out.') : null,
      ...(a.fields ? inFull : a.input ? [what('what it would do', a.input)] : []),
      make('p', { class: 'soft' }, 'Request ' + a.id + ' is open until ' + short(a.until) + '. Its own dialog decides, too, and so does c2c allow ' + a.id + ' in a terminal.'),
      make('div', { class: 'row' }, ...buttons), answer);
  }

  // Answers that somebody waits for. They are asked for anew when something has happened, at most every few seconds.
  let owedTimer = 0, owedText = '';
  let owes = { mine: [], waits: [] };
  function owedSoon(ms) {
    if (owedTimer) return;
    owedTimer = setTimeout(async () => {
      owedTimer = 0;
      if (stopped || document.hidden) return;
      try { drawOwed(await ask('/api/owed')); } catch (e) { if (e.status) note(e.message); }
    }, ms);
  }

  function drawOwed(l) {
    const text = JSON.stringify(l);
    if (text === owedText) return;
    owedText = text;
    owes = l;
    const box = $('owed');
    const had = box.contains(document.activeElement) ? document.activeElement.id : '';
    box.replaceChildren(...(l.mine.length ? [make('h3', { class: 'group' }, 'You owe an answer')] : []), ...l.mine.map(owedCard),
      ...(l.more_mine ? [make('p', { class: 'soft' }, 'and ' + l.more_mine + ' more: c2c obligations shows all')] : []));
    if (had && $(had)) $(had).focus({ preventScroll: true });
    counts();
    drawSessions();
    boardSoon();
  }

  const wordsOf = (o) => { const known = byID.get(o.id); return known && known.from === o.from ? known.text.slice(0, 600) : o.words; };
  const dueWords = (o) => (o.late ? 'overdue since ' + short(o.due) : 'due ' + short(o.due));
  const showThread = (o, id) => make('button', { type: 'button', class: 'quiet', id: id + o.id, onclick: () => thread({ id: o.id, from: o.from, to: o.to }) }, 'Show', make('span', { class: 'unseen' }, ' the ' + o.kind + ' of ' + o.from));

  function owedCard(o) {
    return make('div', { class: 'card' + (o.late ? ' late' : ''), role: 'group', 'aria-label': o.kind + ' of ' + o.from },
      make('h3', {}, name(o.from), make('span', { class: 'soft' }, ' waits for you')),
      make('p', { class: 'brief', dir: 'auto' }, wordsOf(o)),
      make('p', { class: 'soft' }, make('span', { class: o.late ? 'fate dead' : '' }, o.kind + ', ' + dueWords(o)), o.reminders ? ', reminded ' + count(o.reminders, 'time', 'times') : ''),
      make('div', { class: 'row' },
        byID.has(o.id) ? make('button', { type: 'button', onclick: () => { writing(); reply(byID.get(o.id)); } }, 'Answer', make('span', { class: 'unseen' }, ' ' + o.from)) : null,
        showThread(o, 'o-')));
  }

  // --- Who waits for whom -----------------------------------------------------------------------------------------

  // waits has who waits: those at a dialog, and then those who wait for an answer, the longest wait first.
  const waits = () => [...sessions.filter((s) => s.needs_person).map((s) => ({ from: s.alias, sent: s.since, dialog: true })), ...owes.waits];

  function drawWaiting() {
    const all = waits().filter((w) => passes(w.from, w.to || '')), shown = all.filter((w) => !w.dialog);
    board(all.length ? [graph(shown), table('waits', ['Who waits for whom', 'For what', 'Since'], all.map((w) => make('tr', { class: w.overdue ? 'late' : '' },
      make('td', {}, who(w.from), make('span', { class: 'soft' }, ' waits for '), w.dialog ? 'its person' : who(w.to), w.circle ? make('span', { class: 'mark loud' }, 'circle') : null),
      make('td', { dir: 'auto' }, make('span', { class: 'brief' }, w.dialog ? 'A dialog is open in its own window.' : wordsOf(w)),
        w.why && w.to !== me.alias ? make('span', { class: 'soft brief' }, w.why + (w.do ? ': ' + w.do : '')) : null),
      make('td', {}, w.sent ? age(w.sent) : '', w.dialog ? null : [make('br', {}), make('span', { class: w.overdue ? 'fate dead' : 'soft' },
        w.count > 1 ? count(w.count, 'question', 'questions') + (w.overdue ? ', ' + w.overdue + ' overdue' : '') : w.kind + ', ' + dueWords(w)), showThread(w, 'w-')]))))]
      : make('p', { class: 'empty' }, 'Nobody waits for anybody.'),
    owes.more_waits ? make('p', { class: 'soft' }, 'and ' + owes.more_waits + ' more: c2c obligations shows all') : []);
  }

  // graph draws who waits for whom, on an ellipse, if they are few. The table says the same.
  function graph(all) {
    const names = [...new Set(all.flatMap((w) => [w.from, w.to]))];
    if (names.length < 3 || names.length > 12) return '';
    const wide = Math.min(620, Math.max(280, $('board').clientWidth - 32)), high = Math.min(320, 90 + 24 * names.length);
    const at = new Map(names.map((n, i) => {
      const turn = (i / names.length) * 2 * Math.PI - Math.PI / 2;
      return [n, [wide / 2 + (wide / 2 - 62) * Math.cos(turn), high / 2 + (high / 2 - 22) * Math.sin(turn)]];
    }));
    const arrow = (w) => {
      const [[x0, y0], [x1, y1]] = [at.get(w.from), at.get(w.to)];
      const far = Math.hypot(x1 - x0, y1 - y0);
      if (!far) return '';
      const [dx, dy] = [(x1 - x0) / far, (y1 - y0) / far];
      const gap = Math.min(far / 3, Math.min(50 / Math.abs(dx), 16 / Math.abs(dy))); // to the edge of a name
      const [bx, by] = [(x0 + x1) / 2 - dy * 14, (y0 + y1) / 2 + dx * 14]; // a bow, so that two ways do not cover each other
      const [ex, ey] = [x1 - dx * gap, y1 - dy * gap];
      const back = Math.hypot(ex - bx, ey - by), [hx, hy] = [(ex - bx) / back, (ey - by) / back];
      const point = (along, aside) => (ex - hx * along - hy * aside).toFixed(1) + ' ' + (ey - hy * along + hx * aside).toFixed(1);
      return svg('g', { class: w.circle ? 'circle' : '' }, svg('path', { class: 'way', d: `M${x0 + dx * gap} ${y0 + dy * gap} Q${bx} ${by} ${point(5, 0)}` }), svg('path', { class: 'tip', d: `M${point(0, 0)} L${point(9, 4)} L${point(9, -4)} Z` }));
    };
    return svg('svg', { class: 'graph', viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, 'aria-hidden': 'true' }, ...all.map(arrow),
      ...names.map((n) => svg('text', { class: n === me.alias ? '' : colour(n), x: at.get(n)[0], y: at.get(n)[1] + 4 }, n === me.alias ? 'you' : n.length > 15 ? n.slice(0, 14) + '…' : n)));
  }

  // --- What happened when -----------------------------------------------------------------------------------------

  const maxTimeline = 300; // messages
  // openDay shows a day. A conversation has the same view.
  async function openDay(ms) {
    const day = new Date(ms).setHours(0, 0, 0, 0), next = new Date(day).setHours(24);
    const v = { kind: 'timeline', title: 'Timeline, ' + dateFormat.format(day), day, next, mails: [], loads: true };
    open(v, [], false);
    try {
      for (let before = next / 1000 + '/' + '0'.repeat(32); before;) {
        const l = await ask('/api/history?' + new URLSearchParams({ before, limit: 200 }));
        if (view !== v) return;
        const of = l.mails.filter((m) => sent(m) >= day), last = of[of.length - 1];
        v.mails.push(...of.map(know));
        before = l.more && last && of.length === l.mails.length && v.mails.length < maxTimeline ? last.ts + '/' + last.key : '';
      }
    } catch (e) { if (view === v) note(e.message); }
    v.loads = false;
    v.mails = [...new Set(v.mails)].sort(order); // what came meanwhile is there twice
    if (view === v) drawTimeline();
  }
  const isOnTimeline = (m) => !m.room && (view.day ? sent(m) >= view.day && sent(m) < view.next : view.mails.some((o) => o.id && o.id === m.answers));

  // momentOf says when a message was handed, or became dead; 0: it waits. When a model has read it, only its later answers tell.
  const momentOf = (m) => (m.state === 'queued' || m.state === 'rung' ? 0 : m.after || m.leased || m.since || sent(m));
  const span = (from, to) => age(Date.now() - Math.max(0, to - from));

  function drawTimeline() {
    const all = view.mails.filter((m) => valid(sent(m)) && passes(m.from, m.to)).slice(-maxTimeline);
    const answers = new Map(all.filter((m) => m.answers).reverse().map((m) => [m.answers, m])); // the first of each
    const step = (id, label, to, off) => make('button', { type: 'button', id, disabled: off, onclick: () => openDay(to) }, label);
    const became = (m) => {
      const at = momentOf(m), answer = m.id && answers.get(m.id);
      return [m.state === 'rung' ? 'rung after ' + span(sent(m), m.since) : '', at ? (['handed', 'read'].includes(m.state) ? 'handed' : m.state) + ' after ' + span(sent(m), at) : 'waits',
        m.state === 'read' ? 'read' : '', answer ? 'answered after ' + span(sent(m), sent(answer)) : ''].filter(Boolean).join(', ');
    };
    board(view.day ? make('div', { class: 'row' }, step('day-before', 'Day before', view.day - 1), step('day-after', 'Day after', view.next, view.next > Date.now())) : [],
      view.mails.length >= maxTimeline ? make('p', { class: 'soft' }, 'These are the newest ' + maxTimeline + ' messages.') : [],
      all.length ? [lanes(all, answers), make('p', { class: 'soft key' }, [['sent', 'sent'], ['waits', 'waits'], ['rung', 'rung'], ['handed', 'handed'], ['read', 'handed, and read since'], ['works', 'until its answer'], ['dead', 'not handed']].map(([kind, text]) =>
        make('span', {}, svg('svg', { viewBox: '0 0 20 10', width: 20, height: 10, 'aria-hidden': 'true' }, sign(kind, 10, 5, 20)), text)), 'Long pauses are drawn shorter.'),
      table('times', ['Sent', 'Message', 'What became of it'], all.map((m) => make('tr', {},
        make('td', {}, make('time', {}, view.day ? clock(sent(m)) : short(sent(m)))),
        make('td', { dir: 'auto' }, who(m.from), make('span', { class: 'soft' }, ' to '), who(m.to), ' ', make('span', { class: 'brief one' }, m.text.trim().split('\n', 1)[0].slice(0, 200))),
        make('td', {}, make('span', { class: fateClass(m) }, became(m)), showThread({ ...m, kind: 'message' }, 't-' + m.key)))))]
        : make('p', { class: 'empty' }, view.loads ? 'Looking' : 'No mail.'));
  }

  // sign draws one thing that happens to a message; a stretch of time ends at x.
  function sign(kind, x, y, wide) {
    const d = { waits: `M${x - wide / 2} ${y} h${wide}`, works: `M${x - wide / 2} ${y} h${wide}`, rung: `M${x - 4} ${y + 4} h8 l-4 -8 Z`, dead: `M${x - 4} ${y - 4} l8 8 m0 -8 l-8 8` }[kind] || `M${x - 4} ${y} l4 -4 l4 4 l-4 4 Z`;
    return kind === 'sent' ? svg('circle', { class: kind, cx: x, cy: y, r: 3 }) : svg('path', { class: kind, d });
  }

  // lanes draws the messages: a lane for each session, time from left to right. The table says the same.
  function lanes(all, answers) {
    const now = Date.now(), end = (m) => momentOf(m) || Math.max(now, sent(m));
    const names = [...new Set(all.flatMap((m) => [m.from, inboxOf(m.to)]))];
    const wide = Math.max(280, $('board').clientWidth - 32), isSmall = wide < 600;
    const [left, lane] = isSmall ? [8, 38] : [120, 28], high = names.length * lane + 26;
    // A pause of an hour is some times as long as one of a minute, and no more.
    const moments = [...new Set(all.flatMap((m) => [sent(m), end(m), m.state === 'rung' ? m.since : sent(m)]))].sort((a, b) => a - b);
    const at = new Map();
    let sum = 0;
    moments.forEach((t, i) => { sum += i ? Math.log1p((t - moments[i - 1]) / 100) : 0; at.set(t, sum); });
    const x = (t) => left + 6 + (at.get(t) / (sum || 1)) * (wide - left - 20);
    const y = new Map(names.map((n, i) => [n, i * lane + (isSmall ? 24 : 14)]));
    const drawn = names.map((n) => svg('path', { class: 'lane', d: `M${left} ${y.get(n)} H${wide}` }));
    all.forEach((m, i) => {
      const [from, to] = [x(sent(m)), x(end(m))], lower = y.get(inboxOf(m.to)) + (i % 3) * 3 - 3, answer = m.id && answers.get(m.id);
      const one = [svg('path', { class: 'way', d: `M${from} ${y.get(m.from)} V${lower}` }), sign('sent', from, y.get(m.from)), sign('waits', (from + to) / 2, lower, to - from)];
      if (answer && momentOf(m)) {
        const done = Math.max(to, x(sent(answer)));
        one.push(sign('works', (to + done) / 2, lower, done - to));
      }
      if (m.state === 'rung') one.push(sign('rung', x(m.since), lower));
      if (momentOf(m)) one.push(sign(['handed', 'read'].includes(m.state) ? m.state : 'dead', to, lower));
      drawn.push(svg('g', { class: m.from === me.alias ? '' : colour(m.from) }, svg('title', {}, m.from + ' to ' + m.to + ', ' + fate(m)), ...one));
    });
    let last = -99;
    for (const t of moments) {
      if (x(t) - last < 74 || x(t) > wide - 50) continue;
      last = x(t);
      drawn.push(svg('path', { class: 'lane', d: `M${last} 0 V${high - 18}` }), svg('text', { class: 'tick', x: last, y: high - 4 }, sameDay(t, moments[0]) ? clock(t) : dayFormat.format(t).split(',')[0] + ' ' + clock(t).slice(0, 5)));
    }
    for (const n of names) drawn.push(svg('text', { class: n === me.alias ? '' : colour(n), x: 0, y: y.get(n) + (isSmall ? -9 : 4) }, n === me.alias ? 'you' : n.length > 16 ? n.slice(0, 15) + '…' : n));
    return svg('svg', { class: 'lanes', viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, 'aria-hidden': 'true' }, ...drawn);
  }

  // Browser notifications, if the person has asked for them in this browser.
  const wanted = () => { try { return localStorage.getItem('c2c-notify') === 'yes'; } catch { return false; } };
  const notifies = () => 'Notification' in window && wanted() && Notification.permission === 'granted';
  function drawNotify() {
    const b = $('notify');
    b.hidden = !('Notification' in window);
    b.setAttribute('aria-pressed', String(notifies()));
  }
  async function toggleNotify() {
    const on = notifies();
    if (!on && Notification.permission !== 'granted' && (await Notification.requestPermission()) !== 'granted') {
      note('The browser does not let this page notify you. Its settings for this site have that.');
      return drawNotify();
    }
    try { localStorage.setItem('c2c-notify', on ? 'no' : 'yes'); } catch { /* for this page only, then */ }
    drawNotify();
    aloud(on ? 'No notifications' : 'Mail to you comes as a notification while this page is not in front');
  }
  // Of one thing there is one notification, however many tabs tell it. A page may be seen while the person types elsewhere.
  function notify(title, text, of) {
    if (!document.hidden && document.hasFocus() || !notifies()) return;
    const n = new Notification(title, { body: text.slice(0, 200), icon: '/icon.svg', tag: 'c2c-' + of });
    n.addEventListener('click', () => { window.focus(); n.close(); });
  }

  // What a screen reader says. Of many at once the number is enough.
  let spoken = [];
  function aloud(text) {
    spoken.push(text);
    if (spoken.length > 1) return;
    setTimeout(() => {
      $('aloud').textContent = spoken.length > 3 ? spoken.length + ' new messages' : spoken.join('. ');
      spoken = [];
    }, 700);
  }

  // --- The stream -------------------------------------------------------------------------------------------------

  let projectName = '';

  function link(text, up) {
    if ($('link').textContent !== text) $('link').textContent = text;
    $('link').classList.toggle('up', up);
  }

  function begin(all) {
    me = { id: all.me, alias: all.alias };
    sessions = all.sessions;
    for (const s of sorted()) colour(s.alias); // those that run come first
    project = all.project;
    history.replaceState(null, '', address());
    const dir = all.dir || all.root;
    projectName = dir.slice(dir.lastIndexOf('/') + 1) || dir;
    $('above').textContent = dir.slice(0, dir.length - projectName.length);
    $('root').textContent = projectName;
    $('place').title = dir + '. Its mail is in ' + all.root;
    listProjects();
    for (const m of all.mails) know(m);
    const mine = all.mails.map((m) => mails.get(m.key)).sort(order);
    // After a break the list goes on where it was, if nothing is missing between.
    const oldest = mine[0];
    const joins = flowMails.length > 0 && oldest && flowMails.some((m) => m.key === oldest.key);
    if (joins) {
      const had = new Set(flowMails.map((m) => m.key));
      for (const m of mine) if (had.has(m.key)) list.changed(m);
      came(mine.filter((m) => !had.has(m.key)));
    } else {
      flowMails = mine;
      flowMore = true;
      if (view.kind === 'all') openAll();
      if (mine.length < 500) loadOlder();
    }
    $('gate').hidden = true;
    $('main').hidden = $('tabs').hidden = $('find').hidden = $('logout').hidden = $('place').hidden = false;
    if (!me.id) note('You can only read here. A mailbox of your own comes with c2c open, typed in a terminal in this project.');
    if (view.kind === 'all' && !joins) list.toEnd(); // it had no height before
    drawNotify();
    drawSessions();
    drawMine();
    owedSoon(0);
    roomsSoon(0);
    readOn();
  }

  // --- Costs ------------------------------------------------------------------------------------------------------

  // amount writes a number as c2c stats does: 950, 8.4k, 84k.
  function amount(n) {
    const units = ['', 'k', 'M', 'G', 'T'];
    while (n >= 999.5 && units.length > 1) {
      n /= 1000;
      units.shift();
    }
    return n.toFixed(units[0] && n < 9.95 ? 1 : 0) + units[0];
  }
  const took = (s) => (s < 1 ? Math.ceil(s * 1000) + ' ms' : age(Date.now() - s * 1000));

  let costs = null, costsAt = 0;
  const costsPause = 5000;
  async function drawCosts() {
    const pause = costsAt + costsPause - Date.now();
    if (pause > 0) setTimeout(boardSoon, pause);
    else {
      costsAt = Date.now();
      try { costs = await ask('/api/costs'); } catch (e) { note(e.message); }
    }
    if (!costs || view.kind !== 'costs') return;
    note(costs.note);
    const rungBy = (all) => all.map((r) => [r.count, r.outcome, r.method && 'by ' + r.method].filter(Boolean).join(' ')).join(', ');
    const mail = (f) => make('td', {}, f.sent === undefined ? f.handed : f.handed + ' got, ' + f.sent + ' sent', f.handed ? make('span', { class: 'soft brief' },
      (f.context_bytes ? amount(f.context_bytes) + ' bytes into its context; ' : '') + 'after ' + took(f.handed_after_seconds.p50) + ', at most ' + took(f.handed_after_seconds.max)) : null);
    const waiting = (f) => make('td', {}, f.waiting || '–', f.waiting ? make('span', { class: 'soft brief' }, 'oldest ' + age(Date.parse(f.oldest_at))) : null);
    const total = costs.total, from = Date.parse(costs.rings_since) > Date.parse(costs.since) ? ' since ' + short(Date.parse(costs.rings_since)) : '';
    board(make('p', {}, count(total.handed, 'message', 'messages') + ' handed over, ' + amount(total.context_bytes) + ' bytes into contexts; ' + (total.waiting ? count(total.waiting, 'waits', 'wait') : 'nothing waits') + '. ' +
      (costs.rings.length ? 'Rings' + from + ': ' + rungBy(costs.rings) + '.' : 'No session was rung' + from + '.')),
    table('costs', ['Session', 'Mail', 'Waits', 'Rung'], costs.sessions.filter((s) => passes(s.alias)).map((s) => make('tr', {},
      make('td', {}, who(s.alias), s.tokens ? make('span', { class: 'soft brief', title: 'The last request to its model, by the record of its client' }, amount(s.tokens.input) + (s.tokens.context_window ? ' of ' + amount(s.tokens.context_window) : '') + ' tokens') : null),
      mail(s), waiting(s), make('td', { class: 'soft' }, rungBy(s.rings) || '–')))),
    costs.pairs.length ? table('costs', ['From one to another', 'Messages', 'Waits'], costs.pairs.filter((p) => passes(p.from, p.to)).map((p) => make('tr', {},
      make('td', {}, who(p.from), make('span', { class: 'soft' }, ' to '), who(p.to)), mail(p), waiting(p)))) : [],
    costs.more ? make('p', { class: 'soft' }, 'and ' + costs.more + ' more pairs: c2c stats --json shows all') : []);
  }

  // --- Projects ---------------------------------------------------------------------------------------------------

  // listProjects asks for all projects and what runs there. It fills the switch, if there is more than one project; of two with
  // one name the switch shows the folders.
  let projects = [];
  async function listProjects() {
    try { projects = (await ask('/api/projects?sessions')).projects; } catch (e) { return e.status && note(e.message); }
    const all = projects.slice().sort((a, b) => a.name.localeCompare(b.name));
    const label = (p) => (all.some((o) => o !== p && o.name === p.name) ? p.dir : p.name);
    $('project').hidden = all.length < 2;
    $('root').hidden = all.length > 1;
    if (document.activeElement !== $('project')) $('project').replaceChildren(...all.map((p) => make('option', { value: p.id, selected: p.id === project }, label(p))));
    drawSessions();
    boardSoon();
  }
  const go = (p) => location.assign('/?p=' + p);

  function drawEverywhere() {
    const rows = (p) => (p.sessions || []).filter((s) => passes(p.name, s.alias, about(s)));
    board(projects.filter((p) => p.id === project || rows(p).length || p.error).map((p) => make('section', { class: 'project', 'aria-labelledby': 'p-' + p.id },
      make('h3', { id: 'p-' + p.id }, p.id === project ? p.name : make('button', { type: 'button', class: 'quiet', id: 'g-' + p.id, onclick: () => go(p.id) }, p.name), make('span', { class: 'soft' }, ' ', p.dir)),
      p.error ? make('p', { class: 'soft' }, p.error) : null,
      make('ul', {}, rows(p).map((s) => make('li', { class: 'session' }, make('span', { class: 'dot ' + word(s.does) }), make('span', { class: 'name' }, name(s.alias)),
        s.waiting ? make('span', { class: 'badge' }, s.waiting, make('span', { class: 'unseen' }, s.waiting === 1 ? ' message waits' : ' messages wait')) : make('span', {}), make('span', { class: 'about' }, about(s)))))))
      .concat(make('p', { class: 'soft' }, 'Projects in which nothing runs are only in the list at the top.')));
  }
  $('project').addEventListener('change', () => go($('project').value));

  // came takes in messages that are new. The list is laid out once for all of them.
  function came(all) {
    if (!all.length) return;
    $('empty').hidden = true;
    const seen = [];
    for (const m of all) {
      flowMails.push(m);
      if (inView(m, seen) && !list.has(m)) seen.push(m);
      if (view.kind === 'timeline' && isOnTimeline(m)) view.mails.push(m);
      aloud('Message from ' + m.from + ' to ' + m.to);
    }
    if (seen.length && !list.append(seen)) fresh(unseenBelow + seen.length);
    const mine = all.filter((m) => me.id && m.session === me.id);
    if (mine.length > 3) notify(mine.length + ' messages for you', 'From ' + [...new Set(mine.map((m) => m.from))].join(', '), mine[0].key);
    else for (const m of mine) notify('Mail from ' + m.from, m.text, m.key);
  }

  function change(c) {
    if (c.sessions) sessions = c.sessions;
    const all = [];
    for (const told of c.mails || []) {
      const isNew = !mails.has(told.key);
      const m = know(told);
      if (isNew) all.push(m);
      else list.changed(m);
    }
    came(all);
    if (c.rooms) posted(c.rooms);
    if (c.sessions) drawSessions();
    boardSoon();
    drawMine();
    owedSoon(2000);
    if (mails.size > maxKnown && !$('text').value) location.reload();
  }

  const handlers = { now: begin, change, asks: drawAsks, wrong: (w) => note(w.error) };

  // stream reads events until the connection ends. fetch sends our key; an EventSource cannot.
  async function stream() {
    const answer = await request('/api/live');
    link('live', true);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const quiet = new Promise((_, no) => setTimeout(() => no(new Refused(0, 'nothing was heard for long')), 45000));
      const { value, done } = await Promise.race([reader.read(), quiet]).catch((e) => { reader.cancel().catch(() => {}); throw e; });
      if (done) return;
      rest += value;
      let end;
      while ((end = rest.indexOf('\n\n')) >= 0) {
        event(rest.slice(0, end));
        rest = rest.slice(end + 2);
      }
    }
  }
  function event(text) {
    let what = 'message';
    const data = [];
    for (const line of text.split('\n')) {
      if (line.startsWith('event: ')) what = line.slice(7);
      else if (line.startsWith('data: ')) data.push(line.slice(6));
    }
    if (data.length && handlers[what]) handlers[what](JSON.parse(data.join('\n')));
  }

  async function follow() {
    let wait = 500;
    while (!stopped) {
      const began = Date.now();
      try { await stream(); } catch (e) {
        if (e.status === 403) gate(e.message);
        if (!(e instanceof Refused)) console.error(e);
      }
      if (stopped) return;
      link('reconnecting', false);
      if (Date.now() - began > 10000) wait = 500;
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(wait * 2, 10000);
    }
  }

  // --- The keys and the buttons -----------------------------------------------------------------------------------

  function part(name) {
    $('main').dataset.part = name;
    for (const b of $('tabs').children) {
      if (b.dataset.part === name) b.setAttribute('aria-current', 'true');
      else b.removeAttribute('aria-current');
    }
  }

  $('tabs').addEventListener('click', (e) => {
    const b = e.target.closest('button');
    if (b) part(b.dataset.part);
  });
  for (const a of document.querySelectorAll('.skip')) {
    a.addEventListener('click', (e) => {
      e.preventDefault(); // what stands behind the # of the address is a code, when the page is loaded again
      if (a.hash === '#todo-title') part('todo');
      else writing();
      if (a.hash === '#flow') list.enter();
      else $(a.hash.slice(1)).focus();
    });
  }
  $('find').addEventListener('submit', (e) => {
    e.preventDefault();
    search($('words').value);
  });
  $('words').addEventListener('search', () => { if (!$('words').value && view.kind === 'found') openAll(); });
  $('write').addEventListener('submit', (e) => {
    e.preventDefault();
    send();
  });
  $('text').addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !e.isComposing) {
      e.preventDefault();
      send();
    } else if (e.key === 'Escape' && drafted) dropReply();
  });
  $('text').addEventListener('input', () => { said(''); costSoon(); });
  for (const id of ['to', 'wake', 'kind']) $(id).addEventListener('change', costSoon);
  $('about-drop').addEventListener('click', () => { dropReply(); $('to').focus(); });
  $('back').addEventListener('click', openAll);
  $('lanes').addEventListener('click', () => open({ kind: 'timeline', title: view.title.replace('Conversation', 'Timeline'), mails: list.items.slice() }, [], false));
  new ResizeObserver(boardSoon).observe($('board'));
  $('newer').addEventListener('click', () => { list.toEnd(); fresh(0); });
  $('scroll').addEventListener('scroll', () => {
    if (unseenBelow && list.isAtEnd()) fresh(0);
    if (view.more && $('scroll').scrollTop < 1200) loadOlder();
  }, { passive: true });
  $('notify').addEventListener('click', toggleNotify);
  $('logout').addEventListener('click', async () => {
    try { await ask('/api/logout', {}); } catch { /* it is over here in any case */ }
    localStorage.removeItem(keyName);
    gate('You have logged out, in all tabs.');
  });
  function refresh() {
    if (document.hidden || stopped || $('main').hidden) return;
    drawSessions();
    boardSoon();
    counts();
    owedSoon(0);
    roomsSoon(0);
    listProjects();
  }
  setInterval(refresh, 30000);
  document.addEventListener('visibilitychange', () => {
    refresh();
    if (!document.hidden && !stopped) readOn();
  });

  login().then((ok) => {
    if (ok) follow();
    else if (ok === false) gate('Nobody is logged in here.');
  });
})();
