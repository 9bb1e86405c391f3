"""Makes random messages of ROS 1 with genpy.

The input has a JSON object per line: type, definition, and seed. The output has one per
line: the type's md5sum as genpy computes it, and payloads in hexadecimal.
"""
import json
import random
import sys
import io

import genpy
import genpy.dynamic

NUMBERS = {
    "int8": (-128, 127), "byte": (-128, 127), "uint8": (0, 255), "char": (0, 255), "int16": (-2**15, 2**15 - 1),
    "uint16": (0, 2**16 - 1), "int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-2**63, 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


def scalar(r, base, classes):
    if base in NUMBERS:
        return r.randint(*NUMBERS[base])
    if base == "bool":
        return r.random() < 0.5
    if base in ("float32", "float64"):
        return r.choice([0.0, 1.5, -2.25, float("inf"), float("nan"), float(r.randint(-1000, 1000))])
    if base == "string":
        return "".join(r.choice("abcä\0 ") for _ in range(r.randint(0, 8)))
    if base == "time":
        return genpy.Time(r.randint(0, 2**31 - 1), r.randint(0, 10**9 - 1))
    if base == "duration":
        return genpy.Duration(r.randint(-2**31, 2**31 - 1), r.randint(0, 10**9 - 1))
    return message(r, classes[base], classes)


def message(r, cls, classes):
    m = cls()
    for name, typ in zip(m.__slots__, m._slot_types):
        base, bracket, length = typ.partition("[")
        if not bracket:
            value = scalar(r, base, classes)
        elif length == "]":
            value = [scalar(r, base, classes) for _ in range(r.choice([0, 1, 2, 3]))]
        else:
            value = [scalar(r, base, classes) for _ in range(int(length[:-1]))]
        if bracket and base in ("uint8", "char"):
            value = bytes(value)
        setattr(m, name, value)
    # What ROS 2 has no field for is empty.
    if cls._type == "std_msgs/Header":
        m.seq = 0
    if cls._type == "rosgraph_msgs/Log":
        m.header.frame_id, m.topics, m.level = "", [], r.choice([1, 2, 4, 8, 16])
    return m


for line in sys.stdin:
    asked = json.loads(line)
    r = random.Random(asked["seed"])
    classes = genpy.dynamic.generate_dynamic(asked["type"], asked["definition"])
    payloads = []
    for _ in range(5):
        out = io.BytesIO()
        message(r, classes[asked["type"]], classes).serialize(out)
        payloads.append(out.getvalue().hex())
    print(json.dumps({"md5sum": classes[asked["type"]]._md5sum, "payloads": payloads}))
