"""Prints what ROS's Python tools make of messages, one line of JSON for each.

stock.py bag FILE    every message of a bag, read with rosbag
stock.py made        messages made up: lines of {"type", "definition", "data" (hex)}
"""

import binascii
import contextlib
import io
import json
import re
import struct
import sys

import genpy.dynamic
import rosbag
import rostopic


def canonical(value):
    """Returns the value such that JSON keeps it exactly."""
    if isinstance(value, genpy.Message):
        # Names that Python reserves have got a "_"; no others end in it here.
        return [[n.rstrip("_"), canonical(getattr(value, n))] for n in value.__slots__]
    if isinstance(value, genpy.rostime.TVal):
        return "t:%d.%d" % (value.secs, value.nsecs)
    if isinstance(value, bool):
        return "b:%d" % value
    if isinstance(value, int):
        return "i:%d" % value
    if isinstance(value, float):
        return "d:nan" if value != value else "d:" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "s:" + re.sub("\ufffd+", "\ufffd", value)
    return [canonical(v) for v in value]


def echo(msg, time, **options):
    """Returns what rostopic echo -b prints for a message."""
    nostr, noarr = options.pop("nostr", False), options.pop("noarr", False)
    plot = options.get("plot", False)
    callback = rostopic.CallbackEcho(
        "/topic", None,
        field_filter_fn=rostopic.create_field_filter(nostr, noarr) if plot else None,
        value_transform_fn=None if plot else rostopic.create_value_transform(nostr, noarr), **options)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        callback.callback(msg, {"topic": "/topic"}, current_time=time)
    return out.getvalue()


def describe(msg, time, short):
    line = {
        "values": canonical(msg),
        "text": echo(msg, time),
        "csv": echo(msg, time, plot=True),
    }
    if short:
        line["noarr"] = echo(msg, time, noarr=True)
        line["nostr"] = echo(msg, time, nostr=True)
        line["csvshort"] = echo(msg, time, plot=True, noarr=True, nostr=True)
    return line


def messages(bag):
    """Reads a bag of any version that stock's code knows."""
    if bag.version == 102:
        # Bag.read_messages of rosbag 1.15 passes an argument that this reader does not take.
        return bag._reader.read_messages(None, None, None, None, False)
    return bag.read_messages()


def main():
    if sys.argv[1] == "bag":
        seen = {}
        with rosbag.Bag(sys.argv[2]) as bag:
            for topic, msg, time in messages(bag):
                seen[topic] = seen.get(topic, 0) + 1
                line = describe(msg, time, seen[topic] % 10 == 1)
                line.update(topic=topic, time=time.to_nsec())
                print(json.dumps(line))
        return
    for text in sys.stdin:
        made = json.loads(text)
        cls = genpy.dynamic.generate_dynamic(made["type"], made["definition"])[made["type"]]
        msg = cls()
        msg.deserialize(binascii.unhexlify(made["data"]))
        line = describe(msg, genpy.Time(1, 5), False)
        line["md5sum"] = cls._md5sum
        print(json.dumps(line))


main()
