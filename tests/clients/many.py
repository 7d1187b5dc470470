"""many.py - aiohttp against examples/upload: forms and bodies, many at once. many.py PORT"""

import asyncio
import os
import sys

import aiohttp

base = f"http://127.0.0.1:{sys.argv[1]}"
data = os.urandom(300_000)


async def pieces():
    for at in range(0, len(data), 9_999):
        yield data[at : at + 9_999]
        await asyncio.sleep(0)


async def form(session, n):
    body = aiohttp.FormData()
    body.add_field("title", f"Number {n}")
    body.add_field("photo", data, filename=f"{n}.bin", content_type="application/octet-stream")
    async with session.post(f"{base}/photos", data=body) as answer:
        told = await answer.json()
        assert answer.status == 201 and told["title"] == f"Number {n}", told
        assert told["photos"][0]["bytes"] == len(data), told


async def put(session, n):
    async with session.put(f"{base}/files/many-{n}", data=pieces()) as answer:
        assert answer.status == 201 and await answer.json() == {"bytes": len(data)}, answer


async def main():
    async with aiohttp.ClientSession() as session:
        jobs = [job(session, n) for n in range(40) for job in (form, put)]
        await asyncio.gather(*jobs)


asyncio.run(main())
