# Views topics with python3-websocket, and prints as JSON what came: view.py ws://host:port TOPIC...
import json
import struct
import sys

import websocket

url, wanted = sys.argv[1], sys.argv[2:]
ws = websocket.create_connection(url, subprotocols=["foxglove.websocket.v1", "foxglove.sdk.v1"], timeout=30)
topics, schemas, messages, pong, error = {}, {}, [], False, ""
ws.ping("hello")
ws.send("this is no JSON")
while not (pong and error and {m["topic"] for m in messages} >= set(wanted)):
    opcode, data = ws.recv_data(control_frame=True)
    if opcode == websocket.ABNF.OPCODE_PONG:
        pong = data == b"hello"
    elif opcode == websocket.ABNF.OPCODE_TEXT:
        said = json.loads(data)
        if said["op"] == "status":
            error = said["message"]
        for channel in said.get("channels", []):
            if channel["topic"] in wanted:
                number = 7 + channel["id"]
                topics[number] = channel["topic"]
                schemas[channel["topic"]] = channel["schemaName"] + " " + channel["schema"]
                ws.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": number, "channelId": channel["id"]}]}))
    elif opcode == websocket.ABNF.OPCODE_BINARY and data[0] == 1:
        number, at, length = struct.unpack_from("<xIQI", data)
        text = data[17:].decode()
        assert len(text) == length
        messages.append({"topic": topics[number], "at": at, "text": text})
    elif opcode != websocket.ABNF.OPCODE_PING:
        raise RuntimeError("opcode %d, %r" % (opcode, data[:50]))
ws.close()
print(json.dumps({"protocol": ws.subprotocol, "schemas": schemas, "messages": messages, "pong": pong, "error": error}))
