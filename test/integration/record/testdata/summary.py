"""Prints as JSON what a bag says of its own losses: a list of status messages.

Argument: the bag.
"""
import json
import sys

import rosbag

with rosbag.Bag(sys.argv[1]) as bag:
    found = []
    for topic, message, stamp in bag.read_messages(topics=['/gorecord/summary']):
        assert stamp.to_sec() <= bag.get_end_time()
        for s in message.status:
            found.append({'name': s.name, 'level': s.level if isinstance(s.level, int) else ord(s.level), 'message': s.message,
                          'values': {v.key: v.value for v in s.values}})
print(json.dumps(found))
