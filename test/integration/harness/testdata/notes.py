"""Prints the notes and marks of bags as JSON, one list for each bag: what bag-database and
rosbag_metadata make of /metadata, the marks with their times, and how often the time of a
message is before that of the one before."""
import json
import sys

import rosbag
import yaml

out = []
for path in sys.argv[1:]:
    tags, first, marks, types, last, back = {}, None, [], set(), None, 0
    with rosbag.Bag(path) as bag:
        for topic, msg, t in bag.read_messages(topics=["/metadata", "/gorecord/marks"]):
            types.add(msg._type)
            back += last is not None and t < last
            last = t
            if topic == "/gorecord/marks":
                marks.append([t.to_nsec(), msg.data])
                continue
            if first is None:
                try:
                    first = yaml.safe_load(msg.data)
                except yaml.YAMLError:
                    first = {}
            for line in msg.data.split("\n"):
                if line:
                    key, value = line.split(":", 1)
                    tags[key.strip()] = value.strip()
    out.append({"tags": tags, "yaml": first, "marks": marks, "types": sorted(types), "back": back})
print(json.dumps(out))
