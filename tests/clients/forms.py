"""forms.py - python3-requests against examples/upload: forms, bodies in pieces, lines. forms.py PORT"""

import hashlib
import os
import sys

import requests

base = f"http://127.0.0.1:{sys.argv[1]}"
data = os.urandom(2_500_000)
session = requests.Session()


def chunks():
    for at in range(0, len(data), 70_001):
        yield data[at : at + 70_001]


answer = session.post(
    f"{base}/photos",
    data={"title": 'A "quoted" title\r\nof two lines, Übermaß'},
    files=[("photo", ("größe.png", data, "image/png")), ("photo", ("empty.png", b"", "image/png"))],
)
assert answer.status_code == 201, answer.text
told = answer.json()
assert told["title"] == 'A "quoted" title\r\nof two lines, Übermaß', told
assert [photo["bytes"] for photo in told["photos"]] == [len(data), 0], told
assert told["photos"][1]["was"] == "empty.png", told

assert session.post(f"{base}/photos", files={"photo": data}).status_code == 422
assert session.post(f"{base}/photos", data={"title": "x"}).status_code == 415

answer = session.put(f"{base}/files/by-requests", data=chunks())  # chunked
assert (answer.status_code, answer.json()) == (201, {"bytes": len(data)}), answer.text
answer = session.put(f"{base}/files/by-requests", data=data)
assert answer.status_code == 409, answer.text

lines = (f'{{"amount": {n}}}\n'.encode() for n in range(1000))
answer = session.post(f"{base}/events", data=lines, headers={"Content-Type": "application/x-ndjson"})
assert (answer.status_code, answer.json()) == (200, {"sum": 499500.0}), answer.text
print(hashlib.sha256(data).hexdigest())
