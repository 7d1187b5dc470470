// chromium.mjs - headless Chromium, driven by its own debugging protocol over a pipe: nothing beside it is needed.
import { spawn } from 'node:child_process';

// Opens a page; `folder` is for its profile.
export async function open(folder) {
        const chromium = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
                '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
                `--user-data-dir=${folder}/profile`, '--remote-debugging-pipe', 'about:blank'],
                { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
        const deadline = setTimeout(() => { chromium.kill('SIGKILL'); throw new Error('the browser does not answer'); }, 60_000);

        // The protocol: texts of JSON, each with a NUL behind it.

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

        const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
        const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
        const page = (method, params) => send(method, params, sessionId);

        await page('Page.enable');
        await page('DOM.enable');
        return {
                page,
                event,
                run: async (expression) =>
                        (await page('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })).result.value,
                visit: async (url) => {
                        await page('Page.navigate', { url });
                        await event('Page.loadEventFired');
                },
                close: async () => {
                        clearTimeout(deadline);
                        await send('Browser.close').catch(() => {});
                        chromium.kill();
                },
        };
}
