// What the page keeps with many sessions: in windows of all sizes, by keyboard and by touch. page.mjs runs these parts.
export const layout = ({ wish, check, same, loggedIn, shown, picture, lint }) => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

  // The newest message is in the window, whole or its end.
  const newestShown = (page) => page.waitForFunction(() => {
    const box = document.querySelector('#scroll').getBoundingClientRect();
    const last = [...document.querySelectorAll('#flow article')].pop()?.getBoundingClientRect();
    return last && Math.abs(last.bottom - box.bottom) < 3 && document.querySelector('#scroll').clientHeight > 60;
  }, undefined, { timeout: 15000 }).then(() => true, () => false);

  // What lies above the window's top is not reached any more, if the page itself scrolls.
  const stays = async (page, what) => {
    await page.mouse.move(100, 400);
    await page.mouse.wheel(0, 20000);
    same(what + ': the page itself does not scroll', await page.evaluate(() => {
      window.scrollTo(0, 20000);
      const e = document.scrollingElement;
      return [e.scrollHeight <= innerHeight, scrollY, document.querySelector('.top').getBoundingClientRect().top];
    }), [true, 0, 0]);
  };

  const visibleActs = (page) => page.evaluate(() => [...document.querySelectorAll('#flow .acts')].filter((e) => getComputedStyle(e).opacity !== '0').map((e) => e.closest('article').querySelector('.words').textContent));

  return {
    async crowd() {
      for (const count of [2, 10, 60]) {
        await wish('crowd', { count });
        for (const [name, options] of [['wide', { viewport: { width: 1440, height: 900 } }], ['middle', { viewport: { width: 900, height: 700 } }], ['phone', phone]]) {
          const page = await loggedIn(options);
          const what = name + ', ' + count + ' sessions';
          await page.locator('#flow article').last().waitFor();
          await picture(page, [count, 'sessions', name].join('-'));
          if (count === 60 && name !== 'middle') await lint(page, what);
          for (const board of count === 60 ? ['timeline', 'waiting', 'costs'] : []) {
            if (name === 'phone') await page.click('#tabs button[data-part=who]');
            await page.click('#s-' + board);
            await page.waitForFunction((board) => document.querySelector('#s-' + board).getAttribute('aria-pressed') === 'true' && document.querySelector('#board').textContent && !document.querySelector('#board').textContent.includes('Looking'), board);
            await picture(page, [count, 'sessions', name, board].join('-'));
            same(what + ', ' + board + ': no sideways scroll', await page.evaluate(() => document.querySelector('#board').scrollWidth <= document.querySelector('#board').clientWidth), true);
          }
          if (count === 60) await page.evaluate(() => document.querySelector('#s-all').click());
          if (name === 'phone') {
            await page.click('#tabs button[data-part=who]');
            await picture(page, [count, 'sessions', name, 'who'].join('-'));
          }
          if (name !== 'phone') await stays(page, what); // a phone has no wheel
          else same(what + ': the page itself does not scroll', await page.evaluate(() => document.scrollingElement.scrollHeight <= innerHeight), true);
          await picture(page, [count, 'sessions', name, 'scrolled'].join('-'));
          await page.end(what);
        }
      }
      // A window that becomes narrower, lower and wider again.
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      check('the newest mail is in the window', await newestShown(page));
      for (const [width, height] of [[900, 900], [900, 500], [1440, 900], [700, 600], [1440, 900]]) {
        await page.setViewportSize({ width, height });
        check('the newest mail is in the window when that is ' + width + ' × ' + height, await newestShown(page));
        if (width === 900 && height === 900) await picture(page, 'narrower');
      }
      // As above, when the list hears of scrolling before it hears of its size.
      await page.evaluate(() => {
        document.querySelector('.parts').style.gridTemplateColumns = '244px 300px 300px';
        document.querySelector('#scroll').dispatchEvent(new Event('scroll'));
      });
      check('the newest mail is in the window when the list scrolls as it changes its size', await newestShown(page));
      await page.evaluate(() => document.querySelector('.parts').removeAttribute('style'));
      await newestShown(page);
      // A part of the page that was not shown meanwhile.
      await page.setViewportSize({ width: 700, height: 600 });
      await page.click('#tabs button[data-part=who]');
      await page.evaluate(() => { document.querySelector('#aloud').textContent = ''; });
      await wish('send', { from: 'amber', to: 'birch', text: 'came behind the list of sessions' });
      await page.waitForFunction(() => document.querySelector('#aloud').textContent); // the page has it, and draws it when it is shown
      await page.click('#tabs button[data-part=talk]');
      check('mail that came while the sessions were shown is in the window', await newestShown(page) && await shown(page, 'came behind').isVisible());
      // Whoever reads further up stays there.
      await page.setViewportSize({ width: 1440, height: 900 });
      await newestShown(page);
      const scrolled = (by) => page.locator('#scroll').evaluate((e, by) => {
        e.scrollTop += by;
        return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
      }, by);
      const first = (half) => page.evaluate((half) => {
        const top = document.querySelector('#scroll').getBoundingClientRect().top;
        const box = (e) => e.getBoundingClientRect();
        const it = [...document.querySelectorAll('#flow article')].find((e) => box(e).bottom > top + 1);
        return half ? box(it).bottom - box(it).height / 2 - top : it.id;
      }, half);
      await scrolled(-1500);
      await scrolled(await first(true)); // half of it is in the window, so no pixel decides
      const reads = await first();
      await page.setViewportSize({ width: 900, height: 900 });
      await scrolled(0);
      same('what is read stays when the window becomes narrower', await first(), reads);
      await page.end('sizes');
    },

    async keys() {
      await wish('crowd', { count: 60 });
      const page = await loggedIn();
      await page.locator('#flow article').last().waitFor();
      const inMail = () => page.evaluate(() => document.activeElement.closest('#scroll') !== null);
      await page.keyboard.press('Tab');
      await picture(page, 'skip');
      await page.keyboard.press('Enter');
      check('Tab and Enter lead to a message', await page.evaluate(() => document.activeElement.closest('#flow article') !== null));
      await page.reload();
      await page.locator('#flow article').last().waitFor();
      let tabs = 0;
      while (tabs < 80 && !(await inMail())) {
        await page.keyboard.press('Tab');
        tabs++;
      }
      check('few keys lead to the mail, however many sessions there are', tabs <= 10, tabs + ' times Tab');
      // One of the sessions is reached with Tab. The keys go on from there.
      const at = () => page.evaluate(() => document.activeElement.querySelector('.name')?.textContent ?? document.activeElement.id);
      const names = await page.locator('#sessions .name').allTextContents();
      await page.locator('#sessions button[tabindex="0"]').focus({ timeout: 15000 });
      same('it is the one that is shown', await at(), 'All mail');
      await page.keyboard.press('ArrowDown');
      same('Down goes to the next', await at(), names[1]);
      await page.keyboard.press('End');
      same('End goes to the last', await at(), names.at(-1));
      check('it is in the window, and the page where it was', await page.evaluate(() => {
        const box = document.activeElement.getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight && scrollY === 0 && document.querySelector('.top').getBoundingClientRect().top === 0;
      }));
      await page.keyboard.press('ArrowUp');
      same('Up goes back', await at(), names.at(-2));
      await page.keyboard.press('Enter');
      await page.waitForFunction((name) => document.querySelector('#talk-title').textContent === 'Mail of ' + name, names.at(-2));
      same('Enter opens it, and the focus stays', await at(), names.at(-2));
      await wish('send', { from: 'amber', to: 'birch', text: 'has the list of sessions drawn anew' });
      await page.waitForFunction(() => [...document.querySelectorAll('#sessions .session')].some((e) => e.textContent.includes('2 messages wait')));
      same('it stays when something changes', await at(), names.at(-2));
      await page.keyboard.press('Tab');
      check('Tab goes on behind the sessions', await page.evaluate(() => document.activeElement.closest('#sessions') === null && document.activeElement !== document.body));
      await page.end('keys');
    },

    // The buttons of a message are there for whom points at it, has it under the keys, or touches it.
    async acts() {
      for (const text of ['the first', 'the second', 'the third']) await wish('send', { from: 'amber', to: 'birch', text });
      const page = await loggedIn();
      await shown(page, 'the third').waitFor();
      await page.mouse.move(5, 5);
      same('nobody points: no buttons', await visibleActs(page), []);
      await shown(page, 'the second').hover();
      await page.waitForFunction(() => [...document.querySelectorAll('.acts')].some((e) => getComputedStyle(e).opacity === '1'));
      same('the message that is pointed at has buttons', await visibleActs(page), ['the second']);
      await picture(page, 'acts');
      await page.mouse.move(5, 5);
      await page.locator('#flow article[tabindex="0"]').focus();
      await page.keyboard.press('k');
      await page.keyboard.press('Tab');
      same('the keys come to them', await page.evaluate(() => document.activeElement.textContent), 'Reply message of amber');
      await page.waitForFunction(() => [...document.querySelectorAll('.acts')].every((e) => ['0', '1'].includes(getComputedStyle(e).opacity)));
      same('and then they are shown', await visibleActs(page), ['the second']);
      await page.end('acts');
      const small = await loggedIn(phone);
      await shown(small, 'the third').waitFor();
      same('nobody has touched: no buttons', await visibleActs(small), []);
      await picture(small, 'acts-phone');
      // Where they will be, as somebody who only wants to scroll.
      const box = await shown(small, 'the second').boundingBox();
      await small.touchscreen.tap(box.x + box.width - 30, box.y + 14);
      await small.waitForFunction(() => [...document.querySelectorAll('.acts')].some((e) => getComputedStyle(e).opacity === '1'));
      same('the message that is touched has buttons', await visibleActs(small), ['the second']);
      check('the first touch presses none', await small.evaluate(() => !document.querySelector('#more').open && document.querySelector('#about').hidden && document.querySelector('#talk-title').textContent === 'All mail'));
      await picture(small, 'acts-touched');
      await lint(small, 'a message that was touched');
      await shown(small, 'the second').getByRole('button', { name: 'Reply' }).tap();
      same('the second touch does', await small.evaluate(() => document.activeElement.id), 'text');
      await small.end('touch');
      await wish('crowd', { count: 10 });
      const full = await loggedIn(phone);
      const newest = shown(full, 'This is the newest.');
      await newest.waitFor();
      await newest.locator('.words').tap();
      await full.waitForFunction(() => [...document.querySelectorAll('.acts')].some((e) => getComputedStyle(e).opacity === '1'));
      check('the newest message that is touched stays in the window', await newestShown(full));
      await picture(full, 'acts-touched-newest');
      await full.end('touch at the end');
    },

    async words() {
      await wish('old');
      const page = await loggedIn({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
      await shown(page, 'number 3').first().waitFor();
      const times = await page.evaluate(() => [...document.querySelectorAll('*')].flatMap((e) => [e.title, e.childElementCount ? '' : e.textContent]).filter((t) => /\d:\d\d/.test(t)));
      same('each time has 24 hours', [times.length > 0, times.filter((t) => /[ap]\.?m\b/i.test(t))], [true, []]);
      await picture(page, 'times');
      await wish('send', { from: 'amber', to: 'birch', text: 'Where is the CSV reader? csv.NewReader\n' + 'and more of it\n'.repeat(30) + 'the needle is in this line' });
      await wish('send', { from: 'birch', to: 'amber', text: 'The importer has one: <mark>csv</mark>.' });
      const find = async (words) => {
        await page.fill('#words', words);
        await page.press('#words', 'Enter');
        await page.waitForFunction((w) => document.querySelector('#talk-title').textContent.endsWith('“' + w + '”'), words);
      };
      const marks = () => page.locator('#flow mark').allTextContents();
      await find('csv');
      same('each hit is marked', (await marks()).sort(), ['CSV', 'csv', 'csv']);
      same('the words are as they were sent', await shown(page, 'The importer has one').locator('.words').textContent(), 'The importer has one: <mark>csv</mark>.');
      await picture(page, 'search');
      await lint(page, 'what was found');
      for (const [name, width, height] of [['middle', 900, 700], ['phone', 390, 844]]) {
        await page.setViewportSize({ width, height });
        await picture(page, 'search-' + name);
        same('what was found needs no sideways scroll', await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      await find('needle');
      same('a hit far down is shown', [await marks(), await page.locator('#flow mark').evaluate((e) => {
        const box = e.closest('.words').getBoundingClientRect(), own = e.getBoundingClientRect();
        return own.top >= box.top && own.bottom <= box.bottom;
      }, undefined, { timeout: 15000 })], [['needle'], true]);
      await page.locator('#flow .quiet', { hasText: 'Show all of it' }).click();
      same('it stays marked when all is shown', await marks(), ['needle']);
      check('all is there', (await page.locator('#flow .words').first().textContent()).startsWith('Where is the CSV reader?'));
      await find('amber');
      check('a name that was looked for is marked', (await marks()).includes('amber'));
      await page.click('#back');
      await shown(page, 'The importer has one').waitFor();
      same('nothing is marked in all mail', await marks(), []);
      await page.end('words');
    },

    // Code, diffs and tables are set off, a link is text that one click selects, and no character is lost.
    async code() {
      const fence = '```';
      const all = {
        code: 'Look at `read.go`:\n' + fence + 'go\nfunc a() {\n\treturn <b>1</b>\n}\n' + fence + '\nIs it right? See https://example.org/a?b=1 for more.',
        diff: 'I propose:\ndiff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n\nThat is all.',
        table: 'The figures:\n| name | ms |\n|---|---:|\n| send | 3 |\n| hook | 12 |\nA line with a | in it is none.',
        open: 'The end is missing:\n~~~\n' + fence + '\n- not an item',
        list: '- an item\n- another one\n+ and a third',
      };
      for (const text of Object.values(all)) await wish('send', { from: 'amber', to: 'birch', text });
      for (const [name, options] of [['light', { colorScheme: 'light' }], ['dark', { colorScheme: 'dark' }], ['phone', phone]]) {
        const page = await loggedIn(options);
        await shown(page, 'and a third').waitFor();
        same('the words are as they were sent', await page.locator('#flow .words').allTextContents(), Object.values(all));
        same('code stands in a block', await page.locator('#flow .code').allTextContents(), [all.code.slice(19, all.code.indexOf('Is it')), all.diff.slice(11, all.diff.indexOf('\nThat')), all.table.slice(13, all.table.indexOf('A line')), all.open.slice(20)]);
        same('what goes and comes', await page.locator('#flow .goes, #flow .comes').allTextContents(), ['--- a/x.go\n', '+++ b/x.go\n', '-old\n', '+new\n']);
        check('it is monospace', (await page.locator('#flow .code').first().evaluate((e) => getComputedStyle(e).fontFamily)).includes('monospace'));
        await page.locator('#flow .address').click();
        same('one click selects a link, and nothing opens', [await page.evaluate(() => getSelection().toString()), await page.locator('a[href^=http]').count()], ['https://example.org/a?b=1', 0]);
        await lint(page, 'code, ' + name);
        await picture(page, 'code-' + name);
        await page.end('code');
      }
    },

    // What happened when, of a day and of a conversation.
    async timeline() {
      await wish('old'); // of another day
      const first = await wish('send', { from: 'amber', to: 'birch', kind: 'task', text: 'Find out why the last row is lost.' });
      await wish('takes', { from: 'birch' });
      await wish('answers', { from: 'birch', to: 'amber', id: first, text: 'The file has no newline at its end.' });
      await wish('send', { from: 'amber', to: 'dana', text: 'It is fixed.' });
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      await page.click('#s-timeline');
      const rows = () => page.locator('#board tbody tr').evaluateAll((all) => all.map((e) => e.cells[1].textContent + ' | ' + e.cells[2].firstChild.textContent.replace(/ after \d+ s/g, '')));
      await page.locator('#board tbody tr').nth(2).waitFor();
      same('a day in its order', await rows(), ['amber to birch Find out why the last row is lost. | handed, read, answered', 'birch to amber The file has no newline at its end. | waits', 'amber to you It is fixed. | waits']);
      same('a lane a session', await page.locator('#board .lanes text:not(.tick)').allTextContents(), ['amber', 'birch', 'you']);
      same('what happened is drawn', await page.locator('#board .lanes').evaluate((e) => ['sent', 'waits', 'read', 'works'].map((k) => e.querySelectorAll('.' + k).length)), [3, 3, 1, 1]);
      await wish('send', { from: 'birch', to: 'dana', text: 'And this comes now.' });
      await page.locator('#board tbody tr', { hasText: 'And this comes now.' }).waitFor();
      check('what comes is there', true);
      for (const [name, colorScheme, width, height] of [['wide', 'light', 1440, 900], ['middle', 'dark', 1024, 768], ['phone', 'dark', 360, 740]]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        await page.waitForFunction(() => { const s = document.querySelector('#board svg'), b = document.querySelector('#board'); return s.clientWidth === Number(s.getAttribute('width')) && s.clientWidth <= b.clientWidth; });
        same(name + ' needs no sideways scroll', await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.querySelector('#board').scrollWidth <= document.querySelector('#board').clientWidth]), [true, true]);
        await lint(page, 'timeline, ' + name);
        await picture(page, 'timeline-' + name);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.click('#day-before');
      await page.locator('#board', { hasText: 'number' }).or(page.locator('#board', { hasText: 'No mail.' })).waitFor();
      await page.click('#day-after');
      await page.locator('#board tbody tr').nth(3).waitFor();
      await page.locator('#board tbody tr', { hasText: 'Find out' }).getByRole('button').click();
      await page.click('#lanes');
      await page.locator('#board tbody tr').nth(1).waitFor();
      same('a conversation alone', (await rows()).length, 2);
      await picture(page, 'timeline-thread');
      await page.end('timeline');
    },

    // What mail cost, by session and by pair.
    async costs() {
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      await page.route('**/api/costs', async (route) => { // no client runs here whose record could have them
        const all = await (await route.fetch()).json();
        for (const s of all.sessions) if (s.alias === 'amber') s.tokens = { input: 84321, output: 40, context_window: 258400 };
        await route.fulfill({ json: all });
      });
      await page.click('#s-costs');
      await page.locator('#board', { hasText: '0 messages handed over, 0 bytes into contexts; nothing waits.' }).waitFor();
      await wish('send', { from: 'amber', to: 'birch', kind: 'task', text: 'Find out why the last row is lost.' });
      await wish('send', { from: 'amber', to: 'birch', text: 'And write a test.' });
      await wish('takes', { from: 'birch' });
      await wish('send', { from: 'birch', to: 'amber', text: 'The file has no newline at its end.' });
      await wish('ring', { from: 'amber' });
      const cells = (n) => page.locator('#board table').nth(n).locator('tbody tr').evaluateAll((all) => all.map((e) => [...e.cells].map((c) => c.firstChild.textContent)));
      await page.locator('#board table').nth(0).locator('tbody tr', { hasText: 'by socket' }).waitFor(); // what comes is there, after a pause
      await page.locator('#board', { hasText: 'Rings: 1 rang by socket.' }).waitFor();
      same('by session', await cells(0), [['birch', '2 got, 1 sent', '–', '–'], ['amber', '0 got, 2 sent', '1', '1 rang by socket']]);
      same('by pair', await cells(1), [['amber', '2', '–'], ['birch', '0', '1']]);
      check('the bytes in a context are there', /\d+ bytes into its context; after \d+ ms, at most/.test(await page.textContent('#board')));
      check('and the tokens', (await page.textContent('#board')).includes('84k of 258k tokens'));
      for (const [name, colorScheme, width, height] of [['wide', 'light', 1440, 900], ['middle', 'dark', 1024, 768], ['phone', 'dark', 360, 740]]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        same(name + ' needs no sideways scroll', await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.querySelector('#board').scrollWidth <= document.querySelector('#board').clientWidth]), [true, true]);
        await lint(page, 'costs, ' + name);
        await picture(page, 'costs-' + name);
      }
      await page.end('costs');
    },

    // All projects of the person are on one page, and each has an address of its own.
    async projects() {
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      await page.waitForSelector('#place:not([hidden])');
      check('who has one project has no switch', await page.isHidden('#project'));
      const first = page.url();
      await wish('send', { from: 'amber', to: 'birch', text: 'in the first project' });
      await wish('project', { to: 'shop' });
      await page.reload();
      await page.waitForSelector('#project:not([hidden])');
      await lint(page, 'two projects');
      check('what needs the person elsewhere is counted', (await page.textContent('#s-everywhere')).includes('1 needs you in another project'));
      await page.click('#s-everywhere');
      await page.locator('#board .project').nth(1).waitFor();
      same('what needs the person comes first', [await page.locator('#board h3').nth(0).textContent().then((t) => t.startsWith('shop')), await page.locator('#board .project').first().locator('.name').allTextContents()], [true, ['dana', 'coral']]);
      await lint(page, 'all projects');
      await picture(page, 'everywhere');
      await page.setViewportSize({ width: 360, height: 740 });
      await picture(page, 'everywhere-phone');
      same('all projects need no sideways scroll', await page.evaluate(() => document.querySelector('#board').scrollWidth <= document.querySelector('#board').clientWidth), true);
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.locator('#board h3 button').click();
      await page.waitForFunction(() => document.title.endsWith('c2c · shop'));
      await page.goto(first);
      await page.waitForSelector('#project:not([hidden])');
      await page.selectOption('#project', { label: 'shop' });
      await page.waitForFunction(() => document.title === '(1) c2c · shop');
      check('the other one has an address of its own', page.url() !== first && page.url().includes('?p='));
      await page.waitForSelector('#project:not([hidden])');
      same('its sessions alone', (await page.locator('#sessions .name bdi').allTextContents()), ['dana', 'coral']);
      await page.setViewportSize({ width: 360, height: 740 });
      await picture(page, 'projects-phone');
      same('a small window has the name of the folder, not where it is', [await page.isHidden('#above'), await page.locator('#project option:checked').textContent(), await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)], [true, 'shop', true]);
      await page.setViewportSize({ width: 1440, height: 900 });
      await picture(page, 'projects');
      await page.goto(first);
      await shown(page, 'in the first project').waitFor();
      check('a bookmark leads to its project', page.url() === first);
      await page.end('projects');
    },

    async filter() {
      await wish('ended', { from: 'coral' });
      await wish('send', { from: 'amber', to: 'coral', text: 'left behind' });
      await wish('room', { to: 'review' });
      const page = await loggedIn();
      const rows = async () => (await page.locator('#sessions .name, #rooms .name').allTextContents()).sort();
      await page.locator('#r-review').waitFor();
      same('an ended session is folded, also with mail', await rows(), ['1 ended session', 'All mail', 'Costs', 'Timeline', 'Waiting', 'amber', 'birch', 'dana', 'review']);
      check('its mail is counted', (await page.textContent('#s-ended')).includes('1 message waits'));
      await page.fill('#filter', 'CO');
      same('the filter has names and clients of all, in large letters or small ones', await rows(), ['All mail', 'Costs', 'Timeline', 'Waiting', 'birch', 'coral']);
      await page.fill('#filter', 'rev');
      same('and rooms', await rows(), ['All mail', 'Costs', 'Timeline', 'Waiting', 'review']);
      await picture(page, 'filter');
      await page.fill('#filter', '');
      await page.locator('#s-ended').waitFor();
      await page.end('filter');
    },

    async waiting() {
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      await page.click('#s-waiting');
      await page.locator('#board', { hasText: 'Nobody waits' }).waitFor();
      await picture(page, 'waiting-none');
      await wish('send', { from: 'amber', to: 'birch', kind: 'task', text: 'Find out why the last row is lost.' });
      await wish('send', { from: 'birch', to: 'amber', kind: 'question', text: 'Which separator?' });
      await wish('send', { from: 'birch', to: 'amber', kind: 'question', text: 'And which encoding?' });
      await wish('send', { from: 'birch', to: 'dana', kind: 'question', text: 'Shall an empty file be an error?' });
      await wish('dialog', { from: 'birch' });
      await page.locator('#board tbody tr').nth(3).waitFor();
      await page.locator('#board .mark').nth(1).waitFor();
      const rows = await page.locator('#board tbody tr').evaluateAll((all) => all.map((e) => e.cells[0].textContent));
      same('the longest wait comes first, behind those at a dialog', rows, ['birch waits for its person', 'amber waits for birchcircle', 'birch waits for ambercircle', 'birch waits for you']);
      check('several are one row', (await page.locator('#board tbody tr').nth(2).textContent()).includes('2 questions'));
      same('they are drawn', [await page.locator('#board svg text').allTextContents(), await page.locator('#board svg .circle').count()], [['amber', 'birch', 'you'], 2]);
      same('only what is mine is for me', await page.locator('#owed .card h3').allTextContents(), ['birch waits for you']);
      same('a session that waits for its person comes first', (await page.locator('#sessions .name').allTextContents())[4], 'birch');
      check('on top of all that is for me, too', await page.evaluate(() => document.querySelector('.todo .card').textContent.startsWith('birch waits for its person')));
      for (const [name, colorScheme, width, height] of [['wide', 'light', 1440, 900], ['middle', 'dark', 1024, 768], ['phone', 'dark', 360, 740]]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        await page.click('#s-waiting', { force: true }).catch(() => {});
        same(name + ' needs no sideways scroll', await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.querySelector('#board').scrollWidth <= document.querySelector('#board').clientWidth]), [true, true]);
        await lint(page, 'waiting, ' + name);
        await picture(page, 'waiting-' + name);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.locator('#board tbody tr', { hasText: 'Which separator?' }).getByRole('button').click();
      await page.waitForFunction(() => document.querySelector('#talk-title').textContent === 'Conversation of birch and amber');
      check('the conversation is shown', await page.isHidden('#board') && await shown(page, 'Which separator?').isVisible());
      await page.end('waiting');
    },

    // A tool call is shown as its person would write it.
    async dialogs() {
      const page = await loggedIn({ viewport: { width: 1440, height: 900 } });
      const ask = async (id, tool, input) => {
        await wish('ask', { from: 'amber', id, tool, text: typeof input === 'string' ? input : JSON.stringify(input) });
        const card = page.locator('#asks .card', { hasText: id });
        await card.waitFor();
        return card;
      };
      const shownIn = (card) => card.locator('pre').evaluateAll((all) => all.map((e) => e.textContent));
      const run = await ask('kterr', 'Bash', { command: 'cd /src &&\n  go test ./importer', timeout: 60000 });
      same('a command is text', await shownIn(run), ['cd /src &&\n  go test ./importer', 'timeout: 60000']);
      const what = await run.textContent();
      check('it says what its id is for', what.includes('Request kterr') && what.includes('c2c allow kterr'), what);
      const edit = await ask('abcde', 'Edit', { file_path: '/src/read.go', old_string: 'func a() {\n\treturn 1\n}', new_string: 'func a() {\n\tlog()\n\treturn 2\n}', replace_all: true });
      same('an edit is the lines that go and come', await shownIn(edit), ['file_path: /src/read.go', '  func a() {\n- \treturn 1\n+ \tlog()\n+ \treturn 2\n  }\n', 'replace_all: true']);
      const odd = await ask('bcdef', 'mcp__x__y', '[1, "<img src=x onerror=alert(1)>"]');
      same('what is none of that is there as it came', await shownIn(odd), ['[1, "<img src=x onerror=alert(1)>"]']);
      const cut = await ask('cdefg', 'Bash', '{ command: echo one\n⋯ 4,000 code points elided ⋯\ntouch two }');
      check('NOT SHOWN IN FULL can be read', await cut.locator('.mark').evaluate((e) => e.textContent.startsWith('NOT SHOWN IN FULL') && e.scrollWidth <= e.clientWidth));
      await lint(page, 'four dialogs');
      await picture(page, 'dialogs');
      await page.setViewportSize({ width: 900, height: 700 });
      await picture(page, 'dialogs-middle');
      await page.setViewportSize({ width: 390, height: 844 });
      await page.click('#tabs button[data-part=todo]');
      same('they need no sideways scroll', await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
      await picture(page, 'dialogs-phone');
      await page.end('dialogs');
    },

    async empty() {
      const page = await loggedIn();
      const empty = await page.locator('#empty').textContent();
      check('who has no session is told how to start one', (await page.isVisible('#empty')) && empty.includes('c2c start --alias amber claude'), empty);
      await picture(page, 'empty');
      await lint(page, 'the empty page');
      await wish('begin');
      await page.locator('#sessions .name', { hasText: 'amber' }).waitFor();
      await page.waitForFunction(() => !document.querySelector('#empty').innerText.includes('c2c start'), undefined, { timeout: 15000 });
      check('whoever has one is told what comes here', (await page.isVisible('#empty')) && (await page.innerText('#empty')).includes('No mail yet'));
      await page.setViewportSize({ width: 390, height: 844 });
      await picture(page, 'empty-phone');
      await page.end('empty');
    },
  };
};
