"""Prints what rosbag's Python API reads from a bag: JSON, by topic a list of [time, hash]."""
import hashlib
import json
import sys

import rosbag
import rosbag.bag

# The API makes a class of each type before it hands out raw payloads. It cannot for
# the type "*", which recorders of 2008 stored where they did not know it.
known = rosbag.bag._get_message_type
rosbag.bag._get_message_type = lambda info: None if info.datatype == '*' else known(info)

sys.stdout, out = sys.stderr, sys.stdout  # it prints warnings about missing definitions
topics = {}
for topic, raw, stamp in rosbag.Bag(sys.argv[1]).read_messages(raw=True):
    topics.setdefault(topic, []).append([stamp.to_nsec(), hashlib.sha256(raw[1]).hexdigest()])
json.dump(topics, out)
