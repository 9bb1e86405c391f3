"""Prints a bag as rosbag's Python API sees it: JSON, one entry a connection."""
import hashlib
import json
import sys

import rosbag

bag = rosbag.Bag(sys.argv[1])
conns = {}
for topic, raw, stamp, header in bag.read_messages(raw=True, return_connection_header=True):
    header = {k: v.decode('utf-8', 'replace') if isinstance(v, bytes) else v for k, v in header.items()}
    key = topic + ' ' + header.get('callerid', '')
    c = conns.setdefault(key, {'topic': topic, 'header': header, 'messages': []})
    c['messages'].append({'t': stamp.to_nsec(), 'data': hashlib.md5(raw[1]).hexdigest()})
json.dump(conns, sys.stdout)
