// sse.mjs - the npm package eventsource against examples/events: events, lines, ids, and coming back. sse.mjs PORT
import assert from 'node:assert';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url); // which heeds NODE_PATH
const EventSource = require('eventsource');
const base = `http://127.0.0.1:${process.argv[2]}`;
const say = async (body) => assert.equal((await fetch(`${base}/events`, { method: 'POST', body })).status, 200);

const heard = [];
let wake = () => {};
const until = async (condition) => { while (!condition()) await new Promise((resolve) => { wake = resolve; }); };
const listen = (headers) => {
        const source = new EventSource(`${base}/events`, { headers });
        source.onmessage = (event) => { heard.push([event.lastEventId, event.data]); wake(); };
        return new Promise((resolve) => { source.onopen = () => resolve(source); });
};

let source = await listen({});
await say('one');
await say('two\nlines\r\nof text');
await until(() => heard.length === 2);
source.close();
const [first] = heard.map(([id]) => Number(id));
assert.deepEqual(heard, [[`${first}`, 'one'], [`${first + 1}`, 'two\nlines\nof text']]);

await say('missed');
source = await listen({ 'Last-Event-ID': `${first + 1}` });
await say('live');
await until(() => heard.length === 4);
assert.deepEqual(heard.slice(2), [[`${first + 2}`, 'missed'], [`${first + 3}`, 'live']]);
source.close();

const ticks = new EventSource(`${base}/ticks`);
const [one, two] = await new Promise((resolve) => {
        const got = [];
        ticks.addEventListener('tick', (event) => { got.push(Number(event.data)); if (got.length === 2) resolve(got); });
});
assert.deepEqual([one, two], [1, 2]);
ticks.close();
