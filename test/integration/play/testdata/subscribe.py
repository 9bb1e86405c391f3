"""A rospy node that writes down what it receives: callerid, topic, md5 of the bytes.

Arguments: node name, then topics. Prints "ready" when all are subscribed; prints
everything as JSON lines as it comes: {"topic":, "callerid":, "latching":, "data":}.
"""
import hashlib
import json
import sys
import threading

import rospy

lock = threading.Lock()
rospy.init_node(sys.argv[1])


def received(msg, topic):
    header = msg._connection_header
    line = json.dumps({'topic': topic, 'callerid': header.get('callerid'), 'latching': header.get('latching'),
                       'data': hashlib.md5(msg._buff).hexdigest()})
    with lock:  # each link has its own thread, and print writes text and line feed apart
        sys.stdout.write(line + '\n')


for topic in sys.argv[2:]:
    rospy.Subscriber(topic, rospy.AnyMsg, received, callback_args=topic)
print('ready', flush=True)
rospy.spin()
