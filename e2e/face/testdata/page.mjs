// The page of c2c in Chromium. The test in Go runs one part of this at a time, and does what is wished for: a line of JSON out
// for each wish, a line in for its answer.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { layout } from './layout.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const [part, program, origin, shots] = process.argv.slice(2);
const patience = 120000; // for what comes by itself, on a machine that has much else to do

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function wish(what, more = {}) {
  say({ do: what, ...more });
  return JSON.parse((await answers.next()).value).given;
}
function check(what, ok, more = '') { say(ok ? { check: what } : { check: what, wrong: 'no' + (more ? ': ' + more : '') }); }
function same(what, got, want) { check(what, JSON.stringify(got) === JSON.stringify(want), JSON.stringify(got) + ', want ' + JSON.stringify(want)); }

const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'] });

// open is a browser window whose requests are all ours, and in which nothing goes wrong.
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.wrong = [];
  page.expected = [];
  context.on('request', (r) => { if (!r.url().startsWith(origin + '/')) page.wrong.push('asks ' + r.url()); });
  page.on('dialog', (d) => { page.wrong.push('dialog ' + d.message()); d.dismiss(); });
  page.on('pageerror', (e) => page.wrong.push(e.stack));
  page.on('console', (m) => { if (m.type() === 'error' && !page.expected.some((e) => m.text().includes(e))) page.wrong.push(m.text()); });
  page.on('popup', () => page.wrong.push('a window opens'));
  page.end = async (what) => {
    same(what + ': nothing went wrong', page.wrong, []);
    await context.close();
  };
  return page;
}

async function loggedIn(options) {
  const page = await open(options);
  await page.goto(await wish('link'));
  await page.waitForSelector('#main:not([hidden])');
  return page;
}

const shown = (page, text) => page.locator('#flow article').filter({ has: page.locator('.words', { hasText: text }) });
async function picture(page, name) { if (shots) await page.screenshot({ path: shots + '/' + name + '.png' }); }

// lint is axe on what is shown now. It reads the page from outside, so the policy of the page stays as it is.
async function lint(page, what) {
  await page.waitForFunction(() => document.getAnimations().length === 0); // what fades in has no colour yet
  const session = await page.context().newCDPSession(page);
  const run = (expression) => session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  await run(axe);
  const { result, exceptionDetails } = await run('axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))');
  await session.detach();
  same('axe: ' + what, exceptionDetails ? exceptionDetails.exception.description : result.value, []);
}

// busyTimes is how many milliseconds of CPU each task of the page has taken. By the clock it is more when others have the CPU.
function busyTimes(events) {
  const main = new Set(events.filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map((e) => e.pid + '/' + e.tid));
  const all = events.filter((e) => e.ph === 'X' && main.has(e.pid + '/' + e.tid)).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  let end = 0; // of the last one: what is told within it is a part of it
  return all.filter((e) => e.ts >= end && (end = e.ts + e.dur)).map((e) => (e.tdur || 0) / 1000);
}

const parts = {
  ...layout({ wish, check, same, loggedIn, shown, picture, lint }),

  async login() {
    const page = await open();
    page.expected = ['403', '401'];
    await page.goto(origin + '/');
    await page.waitForSelector('#gate:not([hidden])');
    check('without a login there is only the gate', await page.isHidden('#main') && (await page.textContent('#gate')).includes('c2c open'));
    await lint(page, 'the gate');
    await picture(page, 'gate');
    const link = await wish('link');
    await page.goto(link);
    await page.waitForSelector('#main:not([hidden])');
    await page.waitForFunction(() => document.querySelector('#link').textContent === 'live');
    check('the code leaves the address, which names the project', new RegExp('^' + origin + '/\\?p=[0-9a-f]{12}$').test(page.url()), page.url());
    check('it is in no history', !(await page.evaluate(() => JSON.stringify(history.state) + location.href)).includes(link.split('#')[1]));
    const cookies = await page.context().cookies();
    same('one cookie, for us alone', cookies.map((c) => [c.httpOnly, c.sameSite, c.path, c.domain]), [[true, 'Strict', '/', '127.0.0.1']]);
    for (const [n, where] of ['talk-title', 'todo-title', 'text'].entries()) {
      await page.locator('.skip').nth(n).focus();
      await page.keyboard.press('Enter');
      same('one can skip', await page.evaluate(() => document.activeElement.id), where);
    }
    const bookmark = page.url();
    await page.reload();
    await page.waitForSelector('#main:not([hidden])');
    check('the tab stays logged in', true);
    // The same browser, another tab; and one more link, which gives all tabs a new key.
    const second = await page.context().newPage();
    await second.goto(bookmark);
    await second.waitForSelector('#main:not([hidden])');
    check('a bookmark is logged in, too', true);
    await second.goto(await wish('link'));
    await second.waitForSelector('#main:not([hidden])');
    await page.click('#s-waiting');
    await wish('send', { from: 'amber', to: 'birch', text: 'behind the second link' });
    await page.click('#s-all');
    await shown(page, 'behind the second link').waitFor();
    check('the first tab goes on', await page.isVisible('#main'));
    await second.close();
    await page.goto(link);
    await page.waitForSelector('#gate:not([hidden])');
    check('a link works once', (await page.textContent('#gate-why')).includes('used already'));
    await page.goto(origin + '/');
    await page.waitForSelector('#main:not([hidden])');
    await page.click('#logout');
    await page.waitForSelector('#gate:not([hidden])');
    await page.goto(bookmark);
    await page.waitForSelector('#gate:not([hidden])');
    check('whoever has logged out is out', await page.isHidden('#main'));
    await page.end('login');
  },

  async hostile() {
    await wish('hostile');
    const page = await loggedIn();
    page.expected = ['TrustedHTML', 'Trusted Type'];
    await wish('hostile'); // and as they come
    await wish('send', { from: 'amber', to: 'birch', text: 'the last one' });
    await shown(page, 'the last one').waitFor();
    // Every message is drawn once, and every long one in full.
    for (let n = 0; n < 400; n++) {
      const more = page.locator('#flow .words + .quiet:not([hidden])').last();
      if (!(await more.count())) break;
      await more.click();
      await page.waitForFunction(() => !document.querySelector('#flow .words + .quiet:disabled:not([hidden])'));
    }
    const boards = ['div', 'p', 'br', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'time', 'svg', 'g', 'path', 'circle', 'text', 'title'];
    const look = () => page.evaluate((ours) => ({
      pwned: window.pwned ?? null,
      tags: [...new Set([...document.querySelectorAll('#flow *')].map((e) => e.localName))].filter((t) => !['article', 'div', 'p', 'time', 'h3', 'bdi', 'span', 'button'].includes(t)),
      list: [...new Set([...document.querySelectorAll('#rooms *, #talk-facts *, #board *')].map((e) => e.localName))].filter((t) => !['li', 'button', 'span', 'bdi'].concat(ours).includes(t)),
      scripts: [...document.scripts].map((s) => s.getAttribute('src')),
      handlers: [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => a.name.startsWith('on') || a.value.startsWith('javascript:')).length,
      base: document.baseURI, title: document.title,
      raw: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\u2028]/.test(document.querySelector('.talk').textContent),
      wide: document.querySelector('#scroll').scrollWidth - document.querySelector('#scroll').clientWidth,
    }), boards);
    const textAlone = async (what) => {
      const odd = await look();
      same(what + ': others write text and nothing else', [odd.pwned, odd.tags, odd.list, odd.scripts, odd.handlers, odd.raw, odd.wide], [null, [], [], ['/page.js'], 0, false, 0]);
      check(what + ': the page is where it was', odd.base.startsWith(origin + '/?p=') && odd.title.includes('c2c'), odd.base + ' ' + odd.title);
    };
    await textAlone('mail');
    await wish('send', { from: 'amber', to: 'birch', kind: 'question', text: '<img src=x onerror="window.pwned=9"> <b>why</b>?' });
    for (const board of ['timeline', 'waiting']) {
      await page.click('#s-' + board);
      await page.locator('#board tbody tr', { hasText: '<b>why</b>' }).waitFor();
      await textAlone(board);
    }
    await picture(page, 'hostile-waiting');
    await page.click('#s-all');
    const posts = await wish('hostile room');
    await page.locator('#r-review').click();
    await shown(page, 'the last post').waitFor();
    await page.evaluate(() => { document.querySelector('#scroll').scrollTop = 0; });
    await page.waitForFunction((n) => document.querySelectorAll('#flow article').length === n, posts);
    await textAlone('a room');
    await lint(page, 'a hostile room');
    await picture(page, 'hostile-room');
    await page.click('#back');
    const tried = await page.evaluate(() => {
      try { document.querySelector('#flow').innerHTML = '<b>x</b>'; return 'it is made'; } catch (e) { return e.name; }
    });
    same('the browser makes no markup of text', tried, 'TypeError');
    for (const word of ['onerror', 'gnp.exe', 'العربية']) {
      await page.fill('#words', word);
      await page.press('#words', 'Enter');
      await shown(page, word).first().waitFor();
    }
    check('they are found', true);
    await shown(page, 'العربية').first().getByRole('button', { name: 'Thread' }).click({ force: true });
    await page.waitForFunction(() => document.querySelector('#talk-title').textContent.startsWith('Conversation'));
    await picture(page, 'hostile');
    await lint(page, 'hostile mail');
    await page.setViewportSize({ width: 360, height: 740 });
    same('nothing makes it wide', await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await page.end('hostile');
  },

  async write() {
    const first = await wish('send', { from: 'birch', to: 'dana', kind: 'question', text: 'Shall I go on?' });
    const page = await loggedIn();
    same('who hears a message hears who, to whom, what and its words', [await page.getByRole('article', { name: /^\d\d:\d\d:\d\d birch to dana question (?:claimed|unknown) queued$/ }).count(),
      await page.evaluate(() => document.getElementById(document.querySelector('#flow article').getAttribute('aria-describedby')).textContent)], [1, 'Shall I go on?']);
    // By keyboard alone.
    await shown(page, 'Shall I go on?').focus();
    await page.keyboard.press('r');
    same('r answers the message', await page.evaluate(() => document.activeElement.id), 'text');
    await page.keyboard.type('Yes, go on.');
    await page.keyboard.press('Control+Enter');
    await page.waitForFunction(() => document.querySelector('#sent').textContent.startsWith('Stored for birch'));
    same('it is an answer', await wish('waits', { to: 'birch' }), ['dana: Yes, go on. (' + first + ')']);
    await shown(page, 'Yes, go on.').waitFor();
    await page.waitForSelector('#mine', { state: 'hidden' });
    same('who answers has read it', await wish('waits', { to: 'dana' }), null);
    await page.selectOption('#to', 'amber');
    await page.selectOption('#kind', 'task');
    await page.fill('#text', 'Please look at it.');
    await page.click('#send');
    await page.waitForFunction(() => document.querySelector('#sent').textContent.startsWith('Stored for amber'));
    same('it goes to whom was chosen', await wish('waits', { to: 'amber' }), ['dana: Please look at it. ()']);
    await page.click('#s-waiting');
    const waits = page.locator('#board tbody tr', { hasText: 'Please look at it.' });
    await waits.waitFor();
    check('who owes an answer is shown', (await waits.textContent()).startsWith('you waits for amber'));
    same('it is not for the person to do', await page.locator('#owed .card').count(), 0);
    await page.click('#back');
    // What cannot be sent is kept.
    page.expected = ['422'];
    await page.selectOption('#to', 'amber');
    await page.fill('#text', 'x'.repeat(300 * 1024));
    await page.click('#send');
    await page.waitForFunction(() => document.querySelector('#sent').classList.contains('wrong'));
    same('a text that is too long is kept', (await page.inputValue('#text')).length, 300 * 1024);
    await page.fill('#text', '');
    // Threads, and why something waits.
    await shown(page, 'Shall I go on?').focus();
    await page.keyboard.press('t');
    await page.waitForFunction(() => document.querySelector('#talk-title').textContent.startsWith('Conversation'));
    same('the thread has both', await page.locator('#flow article').count(), 2);
    await page.keyboard.press('w');
    await page.locator('#more[open] ol li').first().waitFor();
    await lint(page, 'why');
    await picture(page, 'why');
    await page.keyboard.press('Escape');
    check('Escape closes it, and the focus is where it was', await page.evaluate(() => !document.querySelector('#more').open && document.activeElement.closest('article') !== null));
    await page.click('#back');
    await page.click('#sessions button:has-text("amber")');
    await page.waitForFunction(() => document.querySelector('#talk-title').textContent === 'Mail of amber');
    same('mail of one session', await page.locator('#flow article').count(), 1);
    check('what is known of it is text', (await page.textContent('#talk-facts')).includes('oldest mail'));
    same('it is whom one writes to', await page.inputValue('#to'), 'amber');
    await page.click('#sessions button:has-text("All mail")');
    // The person's own mail.
    await wish('send', { from: 'amber', to: 'dana', text: 'Look.' });
    await page.getByRole('button', { name: 'Mark as read' }).click();
    await page.waitForSelector('#mine', { state: 'hidden' });
    same('it is read then', await wish('waits', { to: 'dana' }), null);
    // A notification, when the page is not in front.
    await page.context().grantPermissions(['notifications'], { origin });
    await page.evaluate(() => {
      window.told = [];
      window.Notification = class extends EventTarget { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(title, o) { super(); window.told.push([title, o.body, o.tag]); } close() {} };
    });
    await page.click('#notify');
    await wish('send', { from: 'amber', to: 'dana', text: 'seen as it comes' });
    await shown(page, 'seen as it comes').waitFor();
    await page.evaluate(() => { document.hasFocus = () => false; }); // another window is in front
    await wish('send', { from: 'amber', to: 'birch', text: 'not for dana' });
    await wish('send', { from: 'amber', to: 'dana', text: 'for dana' });
    await wish('send', { from: 'birch', to: 'dana', text: 'for dana, too' });
    await page.waitForFunction(() => window.told.length > 1);
    const told = await page.evaluate(() => window.told);
    same('mail to the person is told of', told.map((n) => n.slice(0, 2)), [['Mail from amber', 'for dana'], ['Mail from birch', 'for dana, too']]);
    check('the second does not take the place of the first', told[0][2] !== told[1][2]);
    await page.end('write');
  },

  async rooms() {
    await wish('room');
    await wish('post', { from: 'amber', text: 'from before' });
    const page = await loggedIn();
    page.expected = ['TrustedHTML', 'Trusted Type'];
    const badge = (n) => page.waitForFunction((want) => (document.querySelector('#r-review .badge')?.firstChild.textContent ?? '') === want, n);
    const receipt = (text) => page.waitForFunction((want) => document.querySelector('#sent').textContent.startsWith(want), text);
    const cost = (text) => page.waitForFunction((want) => document.querySelector('#cost').textContent.endsWith(want), text);
    await page.click('#r-review');
    await shown(page, 'from before').waitFor();
    check('who is in it is shown', (await page.textContent('#talk-facts')).includes('amber, birch'));
    await page.click('#room-join');
    await page.waitForSelector('#room-level-label:not([hidden])');
    same('one who has joined writes there', await page.inputValue('#to'), '#review');
    // A post comes while the room is shown.
    await wish('post', { from: 'birch', text: '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"> what do you think, @dana?' });
    await shown(page, 'what do you think').waitFor();
    same('a post is text', await page.evaluate(() => [window.pwned ?? null, document.querySelectorAll('#flow script, #flow img').length,
      [...document.querySelectorAll('#flow .words')].pop().textContent]), [null, 0, '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"> what do you think, @dana?']);
    // It is answered, and the page says what that costs.
    await shown(page, 'what do you think').focus();
    await page.keyboard.press('r');
    await page.keyboard.type('I look at it.');
    await cost('It would be stored for 2, wakes 0, waits for the next turn of 1 (birch)');
    await page.keyboard.press('Control+Enter');
    await receipt('#review: stored for 2, wakes 0, waits for the next turn of 1 (birch); ');
    await shown(page, 'I look at it.').waitFor();
    same('it is an answer', (await wish('posts')).slice(-1), ['dana: I look at it. (what do you think, @dana?)']);
    await page.waitForSelector('#mine', { state: 'hidden' });
    same('who answers has read it', await wish('waits', { to: 'dana' }), null);
    // A post of a person may wake all.
    await page.selectOption('#to', '#review');
    await page.fill('#text', 'Go on, all of you.');
    await cost('stored for 2, wakes 0');
    await page.check('#wake');
    await cost('waits for the next turn of 2 (amber, birch)');
    await picture(page, 'room');
    await lint(page, 'a room');
    await page.click('#send');
    await receipt('#review: stored for 2, wakes 0, waits for the next turn of 2 (amber, birch); ');
    check('that is for one post', !(await page.isChecked('#wake')));
    await page.setViewportSize({ width: 390, height: 780 });
    await page.fill('#text', 'On a small screen, @amber.');
    await cost('waits for the next turn of 1 (amber)');
    await picture(page, 'room-phone');
    await page.click('#tabs button:has-text("Sessions")');
    await lint(page, 'the rooms on a small screen');
    await picture(page, 'rooms-phone');
    same('nothing is wider than the screen', await page.evaluate(() => [...document.querySelectorAll('.session, #room-acts, .scroll')].filter((e) => e.getBoundingClientRect().right > 390).length), 0);
    await page.click('#r-review');
    await page.locator('#room-acts').waitFor(); // a room that is opened is shown
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.fill('#text', '');
    await page.selectOption('#to', 'amber');
    check('only a post wakes all', await page.isHidden('#wake'));
    // What comes while another thing is shown is new in the list, and marked in the room.
    await page.click('#sessions button:has-text("All mail")');
    await wish('post', { from: 'amber', text: 'the build is green' });
    await badge('1');
    await page.click('#r-review');
    await shown(page, 'the build is green').waitFor();
    await badge('');
    const marks = () => page.evaluate(() => [...document.querySelectorAll('#flow article')].map((e) => e.querySelector('.fate').textContent));
    same('old posts and new ones are marked', await marks(), ['old: from before you joined', '', '', '', 'new']);
    // Old posts come when one scrolls up.
    await wish('posted', { from: 'amber', count: 120 });
    await shown(page, 'post 119').waitFor();
    await page.evaluate(async () => {
      const scroll = document.querySelector('#scroll');
      while (!document.querySelector('#flow article .words')?.textContent.startsWith('from before')) {
        scroll.scrollTop = 0;
        await new Promise(requestAnimationFrame);
      }
    });
    const first = page.locator('#flow article').first();
    same('each has its place', await page.evaluate(() => [...document.querySelectorAll('#flow article .words')].slice(4, 8).map((e) => e.textContent.split(' ')[1])), ['build', '0', '1', '2']);
    check('that is the beginning', (await first.textContent()).includes('from before') && (await page.textContent('#older')) === 'This is the beginning');
    // What was looked for is found in rooms, too.
    await page.fill('#words', 'green');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#talk-title').textContent.startsWith('1 message'));
    same('a post is found', await page.locator('#flow article h3').allTextContents(), ['amber→ to #review']);
    await shown(page, 'green').focus();
    await page.keyboard.press('t');
    await page.waitForFunction(() => document.querySelector('#talk-title').textContent === '#review');
    // By keyboard alone. Tab reaches one room, and the keys go on from there.
    await wish('room', { to: 'tests' });
    await wish('post', { from: 'amber', to: 'tests', text: 'in another room' });
    await page.locator('#r-tests').waitFor();
    await page.locator('#r-review').focus();
    await page.keyboard.press('ArrowDown');
    same('one room can be reached with Tab', await page.evaluate(() => [document.activeElement.id, document.querySelectorAll('#rooms [tabindex="0"]').length]), ['r-tests', 1]);
    await page.keyboard.press('Enter');
    await shown(page, 'in another room').waitFor();
    same('the focus stays', await page.evaluate(() => document.activeElement.id), 'r-tests');
    // A mention that stands in the mail is answered in its room, and costs the same.
    await wish('post', { from: 'amber', text: 'and you, @dana?' });
    await page.click('#sessions button:has-text("All mail")');
    await shown(page, 'and you, @dana?').focus();
    await page.keyboard.press('r');
    await page.keyboard.type('Yes.');
    await cost('stored for 2, wakes 0, waits for the next turn of 1 (amber)');
    await page.keyboard.press('Control+Enter');
    await receipt('Stored for #review. stored for 2, wakes 0, waits for the next turn of 1 (amber); ');
    await page.click('#r-review');
    await shown(page, 'Yes.').waitFor();
    await page.selectOption('#room-level', 'muted');
    await page.waitForFunction(() => document.querySelector('#r-review').textContent.includes('muted'));
    await page.click('#room-join');
    await page.waitForFunction(() => document.querySelector('#r-review').textContent.includes('you are not in it'));
    check('one who has left writes elsewhere', !(await page.locator('#to option').allTextContents()).includes('#review'));
    await page.end('rooms');
  },

  async permission() {
    const page = await loggedIn();
    await page.click('#text');
    await page.keyboard.type('in the middle of a wor');
    await wish('ask', { from: 'amber', id: 'abcde' });
    const card = page.locator('#asks .card', { hasText: 'abcde' });
    await card.waitFor();
    same('the focus stays where it is', await page.evaluate(() => document.activeElement.id), 'text');
    check('what it wants is shown as text', (await card.textContent()).includes('<b>remove</b> everything') && (await card.textContent()).includes('rm -rf build/'));
    const allow = card.getByRole('button', { name: 'Allow' });
    // At once, as somebody whose click was meant for what was there before.
    await allow.dispatchEvent('click');
    same('a click that comes too early does nothing', await wish('asked', { id: 'abcde' }), 'open');
    await page.locator('#asks button[aria-disabled="false"]').first().waitFor();
    await allow.focus();
    await page.keyboard.press('Enter');
    same('Enter does not decide', await wish('asked', { id: 'abcde' }), 'open');
    await lint(page, 'a permission');
    await picture(page, 'permission');
    await page.keyboard.press('Space');
    await card.waitFor({ state: 'detached' });
    same('Space does', await wish('asked', { id: 'abcde' }), 'allowed');
    check('the focus is not lost', await page.evaluate(() => document.activeElement !== document.body));
    await wish('ask', { from: 'birch', id: 'bcdef' });
    await page.locator('#asks button[aria-disabled="false"]').first().waitFor();
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.locator('#asks .card').waitFor({ state: 'detached' });
    same('Deny denies', await wish('asked', { id: 'bcdef' }), 'denied');
    same('what was typed is there', await page.inputValue('#text'), 'in the middle of a wor');
    // A dialog that only its own window can answer.
    const empty = page.locator('#todo-empty'), dialog = page.locator('#dialogs .card');
    check('nothing waits', await empty.isVisible());
    await wish('dialog', { from: 'birch' });
    await dialog.waitFor();
    check('a session that stands at a dialog waits', (await dialog.textContent()).includes('birch waits for its person') && !(await empty.isVisible()) && (await page.title()).startsWith('(1)'));
    await lint(page, 'a dialog');
    await picture(page, 'waits');
    await wish('ask', { from: 'birch', id: 'cdefg' });
    await page.locator('#asks .card', { hasText: 'cdefg' }).waitFor();
    same('what can be decided here stands here once', await dialog.count(), 0);
    await page.locator('#asks button[aria-disabled="false"]').first().waitFor();
    await page.getByRole('button', { name: 'Deny' }).click();
    await dialog.waitFor();
    await wish('no dialog', { from: 'birch' });
    await dialog.waitFor({ state: 'detached' });
    await page.end('permission');
  },

  // What a real client asks. The page is there before it: a client offers its dialogs only if somebody is, when it starts.
  async claude() {
    const page = await loggedIn();
    await page.waitForFunction(() => document.querySelector('#link').textContent === 'live');
    const [one, two] = await wish('begin'); // in one turn
    const card = (path) => page.locator('#asks .card', { hasText: 'touch ' + path });
    const decide = async (path, word) => {
      await card(path).locator('button[aria-disabled="false"]', { hasText: word }).click();
      await card(path).waitFor({ state: 'detached' });
    };
    await card(one).waitFor();
    check('who asks, and for what', (await card(one).textContent()).includes('amber asks to use Bash'));
    await picture(page, 'claude');
    await decide(one, 'Allow');
    same('the tool that was allowed', await wish('effect', { id: one }), 'allowed by ada (page)');
    await decide(two, 'Deny');
    same('the tool that was denied', await wish('effect', { id: two }), 'denied by ada (page)');
    same('nothing is open', await page.locator('#asks .card').count(), 0);
    await page.end('claude');
  },

  async reconnect() {
    const page = await loggedIn();
    page.expected = ['ERR_', 'Failed to load'];
    await wish('send', { from: 'amber', to: 'birch', text: 'before the break' });
    await shown(page, 'before the break').waitFor();
    await wish('stop');
    await page.waitForFunction(() => document.querySelector('#link').textContent === 'reconnecting');
    await page.waitForFunction(() => document.body.innerText.includes('c2c serve start'), undefined, { timeout: 15000 });
    check('it says what to run', true);
    await picture(page, 'reconnecting');
    await lint(page, 'reconnecting');
    await page.selectOption('#to', 'birch');
    await page.fill('#text', 'written in the break');
    await page.click('#send');
    await page.waitForFunction(() => document.querySelector('#sent').classList.contains('wrong'));
    await wish('send', { from: 'amber', to: 'birch', text: 'in the break' });
    await wish('start');
    await page.waitForFunction(() => document.querySelector('#link').textContent === 'live');
    await shown(page, 'in the break').first().waitFor();
    check('then it says so no more', !(await page.evaluate(() => document.body.innerText)).includes('c2c serve start'));
    await page.click('#send');
    await shown(page, 'written in the break').waitFor();
    const texts = () => page.evaluate(() => [...document.querySelectorAll('#flow .words')].map((e) => e.textContent));
    same('each is there once', await texts(), ['before the break', 'in the break', 'written in the break']);
    // A room that is shown goes on, too.
    await wish('room');
    await wish('post', { from: 'amber', text: 'posted before' });
    await page.locator('#r-review').click();
    await shown(page, 'posted before').waitFor();
    await wish('stop');
    await page.waitForFunction(() => document.querySelector('#link').textContent === 'reconnecting');
    await wish('post', { from: 'birch', text: 'posted in the break' });
    await wish('start');
    await shown(page, 'posted in the break').waitFor();
    same('each post is there once', await texts(), ['posted before', 'posted in the break']);
    await page.end('reconnect');
  },

  async looks() {
    await wish('send', { from: 'amber', to: 'birch', kind: 'task', text: 'The importer drops the last row when the file has no newline at its end. Find out why, and add a test.\n\nFiles:\n- importer/read.go\n- importer/testdata/no_newline.csv' });
    await wish('send', { from: 'birch', to: 'amber', kind: 'question', text: 'Is the CSV dialect fixed, or can a user choose the separator? I see `Separator rune` in importer/options.go, but nothing sets it.' });
    await wish('send', { from: 'amber', to: 'birch', text: 'Only the comma. Options.Separator is dead code; remove it while you are there.' });
    await wish('send', { from: 'birch', to: 'dana', kind: 'question', text: 'Shall an empty file be an error for the user, or an import of no rows?' });
    await wish('send', { from: 'birch', to: 'amber', kind: 'status', text: 'panic: runtime error: index out of range [0] with length 0\ngoroutine 42 [running]:\n\texample/importer.(*Reader).header(0xc000124000)\n\t\t/src/importer/read.go:71 +0x1f4' });
    await wish('ended', { from: 'coral' });
    await wish('ended', { from: 'dune' });
    for (const colorScheme of ['light', 'dark']) {
      for (const [name, width, height] of [['wide', 1280, 800], ['middle', 900, 700], ['phone', 360, 740]]) {
        const page = await loggedIn({ colorScheme, viewport: { width, height }, hasTouch: name === 'phone', isMobile: name === 'phone' });
        await wish('ask', { from: 'amber', id: 'cdefg' });
        await page.locator('#asks .card').waitFor({ state: 'attached' });
        await page.locator('#owed .card').first().waitFor({ state: 'attached' });
        await shown(page, 'Only the comma').waitFor();
        for (const part of name === 'phone' ? ['talk', 'who', 'todo'] : ['talk']) {
          if (name === 'phone') await page.click('#tabs button[data-part=' + part + ']');
          same(name + ' ' + part + ' needs no sideways scroll', await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
          await lint(page, [colorScheme, name, part].join(' '));
          await picture(page, [colorScheme, name, part].join('-'));
        }
        await page.end('looks');
      }
    }
    const page = await loggedIn();
    const rows = () => page.locator('#sessions .name').allTextContents();
    same('the sessions that have ended are a number', (await rows()).sort(), ['2 ended sessions', 'All mail', 'Costs', 'Timeline', 'Waiting', 'amber', 'birch', 'dana']);
    await page.click('#s-ended');
    same('they are shown to who wants that', (await rows()).sort(), ['2 ended sessions', 'All mail', 'Costs', 'Timeline', 'Waiting', 'amber', 'birch', 'coral', 'dana', 'dune']);
    same('each session has a colour of its own', new Set(await page.locator('#sessions .name bdi').evaluateAll((all) => all.map((e) => e.className))).size, 5);
    let best = Infinity;
    for (let n = 0; n < 5; n++) {
      await page.reload();
      await page.waitForFunction(() => performance.getEntriesByName('first-paint').length > 0); // told when the frame is on the screen
      best = Math.min(best, await page.evaluate(() => performance.getEntriesByName('first-paint')[0].startTime));
    }
    say({ told: 'first paint after ' + best.toFixed(0) + ' ms, the best of 5' });
    await page.end('paint');
  },

  async many() {
    const count = await wish('count');
    const page = await loggedIn();
    await shown(page, 'number ' + (count - 1)).waitFor();
    await page.evaluate(() => {
      window.long = [];
      new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => e.duration))).observe({ type: 'longtask' });
      window.most = 0;
    });
    await browser.startTracing(page, { categories: ['toplevel'] });
    const began = Date.now();
    // As somebody who only scrolls up, fast. The list must bring what is older by itself.
    await page.evaluate(async () => {
      const scroll = document.querySelector('#scroll');
      while (!document.querySelector('#older').textContent.startsWith('This is the beginning') || scroll.scrollTop > 0) {
        scroll.scrollTop -= 3000;
        await new Promise((go) => requestAnimationFrame(go));
        window.most = Math.max(window.most, document.querySelectorAll('#flow article').length);
      }
    });
    const took = Date.now() - began;
    const { long, most } = await page.evaluate(() => ({ long: window.long, most: window.most }));
    const busy = busyTimes(JSON.parse(await browser.stopTracing()).traceEvents);
    await shown(page, 'number 0').first().waitFor();
    // And down again. Each message that is drawn is in its place, and each comes that is in the window.
    const seen = await page.evaluate(async () => {
      const scroll = document.querySelector('#scroll');
      const seen = new Set(), wrong = [];
      for (let at = 0; ; at++) {
        await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
        let last = 0;
        for (const a of document.querySelectorAll('#flow article')) {
          const n = Number(/number (\d+)/.exec(a.querySelector('.words').textContent)[1]);
          const place = Number(a.getAttribute('aria-posinset'));
          if (place !== n + 1 || last && place !== last + 1) wrong.push([n, place, last]);
          last = place;
          seen.add(n);
        }
        const box = scroll.getBoundingClientRect();
        if (!document.elementFromPoint(box.left + 40, box.top + box.height / 2).closest('article')) wrong.push('nothing is drawn at ' + scroll.scrollTop);
        if (scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 2) break;
        scroll.scrollTop += at < 840 ? 500 : 7000; // the first ones without a gap
      }
      let without = 0;
      while (seen.has(without)) without++;
      return [without > 2000, seen.has(9999), wrong.slice(0, 3)];
    });
    same('each message is in its place', seen, [true, true, []]);
    // New mail, while one is at the end.
    await wish('send', { from: 'birch', to: 'dana', text: 'Shall I?' });
    await shown(page, 'Shall I?').waitFor();
    await browser.startTracing(page, { categories: ['toplevel'] });
    await wish('burst');
    await shown(page, 'number ' + (count + 499)).waitFor();
    const atOnce = busyTimes(JSON.parse(await browser.stopTracing()).traceEvents);
    check('the newest is in the window', await page.evaluate(() => { const s = document.querySelector('#scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 60; }));
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    check('the browser holds a part of them', most < 200 && nodes < 6000, most + ' articles, ' + nodes + ' elements');
    const above = (all) => Math.max(0, ...all).toFixed(0) + ' ms, ' + all.filter((ms) => ms > 50).length + ' above 50 ms';
    say({ told: 'to the beginning of ' + count + ' messages in ' + took + ' ms; longest task of the page: ' + above(busy) + ' of CPU; by the clock ' + above(long) + '; at most ' + most + ' messages drawn; longest task when 500 come at once: ' + above(atOnce) + ' of CPU' });
    await page.end('many');
    // What waits for the person is told, though the page does not have it yet.
    const later = await loggedIn();
    await later.locator('#mine', { hasText: '1 message for you waits' }).getByRole('button', { name: 'Show' }).click();
    await later.locator('#mine button:enabled', { hasText: 'Mark as read' }).click();
    await later.waitForSelector('#mine', { state: 'hidden' });
    await later.end('an old message for the person');
  },
};

let failed = '';
try { await parts[part](); } catch (e) { failed = e.stack; }
if (failed) say({ check: part, wrong: failed });
await browser.close();
process.exit(0);
