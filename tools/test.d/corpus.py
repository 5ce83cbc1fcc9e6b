# SPDX-License-Identifier: BSD-3-Clause
"""The inputs that each fuzz target begins with: fuzz/corpus/NAME.json, a list of them in base64."""
import base64
import hashlib
import json


def unpack(kept, folder):
    """Writes each input of the file `kept` into the folder, as libFuzzer names them."""
    folder.mkdir(parents=True, exist_ok=True)
    for text in json.loads(kept.read_text()) if kept.exists() else []:
        data = base64.b64decode(text, validate=True)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder, kept):
    """Writes the inputs of a folder into the file `kept`, always in one order."""
    texts = sorted(base64.b64encode(path.read_bytes()).decode() for path in folder.iterdir())
    kept.write_text("[\n" + ",\n".join(json.dumps(text) for text in texts) + "\n]\n")
