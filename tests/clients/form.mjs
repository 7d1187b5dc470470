// form.mjs - headless Chromium sends the form of examples/upload: form.mjs PORT FOLDER
import assert from 'node:assert';
import { writeFileSync } from 'node:fs';
import { open } from './chromium.mjs';

const [port, folder] = process.argv.slice(2);
const { page, event, run, visit, close } = await open(folder);

await visit(`http://127.0.0.1:${port}/`);
assert.equal(await run('document.title'), 'Photos');

const photo = `${folder}/from "chromium" ü.bin`;
writeFileSync(photo, new Uint8Array(1_234_567).map((_, at) => at));
const { root } = await page('DOM.getDocument');
const { nodeId } = await page('DOM.querySelector', { nodeId: root.nodeId, selector: 'input[type=file]' });
await page('DOM.setFileInputFiles', { nodeId, files: [photo] });
await run(`document.querySelector('[name=title]').value = 'a\\n"title" ü'`);
await run(`document.querySelector('form').submit()`);
await event('Page.loadEventFired');
const told = JSON.parse(await run('document.body.innerText'));
assert.equal(told.title, 'a"title" ü');
assert.deepEqual(told.photos.map(({ was, bytes }) => [was, bytes]), [['from "chromium" ü.bin', 1_234_567]]);
await close();
