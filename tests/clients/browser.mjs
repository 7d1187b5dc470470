// browser.mjs - headless Chromium sends the form of examples/upload: browser.mjs PORT FOLDER
//
// It is driven by its own debugging protocol over a pipe, so nothing beside it is needed.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const [port, folder] = process.argv.slice(2);
const base = `http://127.0.0.1:${port}`;
const chromium = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
        '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
        `--user-data-dir=${folder}/profile`, '--remote-debugging-pipe', 'about:blank'],
        { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const deadline = setTimeout(() => { chromium.kill('SIGKILL'); throw new Error('the browser does not answer'); }, 60_000);

// ---- The protocol: texts of JSON, each with a NUL behind it. ----

const answers = new Map();
const events = [];
let waiting = () => {}, text = '', last = 0;

chromium.stdio[4].on('data', (bytes) => {
        text += bytes;
        for (let end; (end = text.indexOf('\0')) >= 0; text = text.slice(end + 1)) {
                const message = JSON.parse(text.slice(0, end));
                if (message.id) answers.get(message.id)(message);
                else { events.push(message.method); waiting(); }
        }
});

const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
        answers.set(++last, (message) => message.error ? reject(new Error(message.error.message)) : resolve(message.result));
        chromium.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
});

const event = async (method) => {
        while (!events.includes(method)) await new Promise((resolve) => { waiting = resolve; });
        events.splice(events.indexOf(method), 1);
};

// ---- A page. ----

const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
const page = (method, params) => send(method, params, sessionId);
const run = async (expression) => (await page('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })).result.value;

await page('Page.enable');
await page('DOM.enable');
await page('Page.navigate', { url: `${base}/` });
await event('Page.loadEventFired');
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

clearTimeout(deadline);
await send('Browser.close').catch(() => {});
chromium.kill();
