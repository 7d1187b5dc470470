// room.mjs - two pages of headless Chromium in examples/events: what is said in one is seen in both. room.mjs PORT FOLDER
import assert from 'node:assert';
import { open } from './chromium.mjs';

const [port, folder] = process.argv.slice(2);
const pages = [await open(`${folder}/1`), await open(`${folder}/2`)];

// Resolves in the page, once `condition` holds there.
const until = (page, condition) => page.run(`new Promise((resolve) => {
        const look = () => (${condition}) ? resolve(true) : setTimeout(look, 5);
        look();
})`);
const said = `[...document.querySelectorAll('#said li')].map((item) => item.textContent)`;

for (const page of pages) {
        await page.visit(`http://127.0.0.1:${port}/`);
        await until(page, `Number(document.querySelector('#tick').textContent) >= 1`);
}
for (const [n, page] of pages.entries()) {
        await page.run(`document.querySelector('#text').value = 'from page ${n}: ü "<b>"';
                document.forms[0].requestSubmit()`);
        for (const other of pages) await until(other, `(${said})[0] === 'from page ${n}: ü "<b>"'`);
}
for (const page of pages) {
        assert.deepEqual(await page.run(said), ['from page 1: ü "<b>"', 'from page 0: ü "<b>"']);
        await page.close();
}
