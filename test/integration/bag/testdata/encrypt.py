"""Copies a bag as rosbag's Python API encrypts it: source, target, GPG key user."""
import sys

import rosbag

with rosbag.Bag(sys.argv[1]) as source, rosbag.Bag(sys.argv[2], 'w', chunk_threshold=100000) as target:
    target.set_encryptor('rosbag/AesCbcEncryptor', sys.argv[3])
    for topic, raw, stamp, header in source.read_messages(raw=True, return_connection_header=True):
        target.write(topic, raw, stamp, raw=True, connection_header=header)
