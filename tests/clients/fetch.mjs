// fetch.mjs - node's own fetch() and http against examples/upload: fetch.mjs PORT
import assert from 'node:assert';
import http from 'node:http';
import { Readable } from 'node:stream';

const base = `http://127.0.0.1:${process.argv[2]}`;
const data = new Uint8Array(1_500_000).map((_, at) => at * 7);

const form = new FormData();
form.set('title', 'From node: "ü"');
form.append('photo', new Blob([data], { type: 'image/webp' }), 'a "b".webp');
form.append('photo', new Blob([]), '');
let answer = await fetch(`${base}/photos`, { method: 'POST', body: form });
assert.equal(answer.status, 201);
let told = await answer.json();
assert.equal(told.title, 'From node: "ü"');
assert.deepEqual(told.photos.map((photo) => [photo.was, photo.bytes]), [['a "b".webp', data.length]]);

answer = await fetch(`${base}/files/by-node`, {
        method: 'PUT', duplex: 'half', body: Readable.toWeb(Readable.from([data.slice(0, 100), data.slice(100)])),
});
assert.equal(answer.status, 201);
assert.deepEqual(await answer.json(), { bytes: data.length });

// One connection for all: it is kept, whether an upload was taken or refused.
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const sockets = new Set();
const put = (path, body) => new Promise((resolve, reject) => {
        const request = http.request(`${base}${path}`, { method: 'PUT', agent }, (response) => {
                sockets.add(response.socket);
                response.resume().on('end', () => resolve(response.statusCode));
        });
        request.on('error', reject).end(body);
});
const statuses = [];
for (const path of ['/files/kept', '/files/kept', '/files/..%2F', '/files/kept-2']) {
        statuses.push(await put(path, data.slice(0, 30_000)));
}
assert.deepEqual(statuses, [201, 409, 400, 201]);
assert.equal(sockets.size, 1);
agent.destroy();
