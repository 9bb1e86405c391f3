"""Prints the numbers in the messages on /kill of bags as rosbag's Python API reads them: JSON."""
import json
import struct
import sys

import rosbag

print(json.dumps({path: [struct.unpack_from('<I', raw[1], 4)[0] for _, raw, _ in rosbag.Bag(path).read_messages(topics=['/kill'], raw=True)]
                  for path in sys.argv[1:]}))
