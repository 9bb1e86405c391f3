"""A rospy node that drives a sensor in phases, and prints when each of them begins.

Arguments: node name, topic, then HZ,OFFSET,SECONDS for each phase: how old stamps are, and how long the
phase lasts; 0 for ever.
"""
import sys
import time

import rospy
from rosgraph_msgs.msg import Log

rospy.init_node(sys.argv[1], disable_signals=True)
pub = rospy.Publisher(sys.argv[2], Log, queue_size=10)
for n, phase in enumerate(sys.argv[3:]):
    hz, offset, seconds = [float(f) for f in phase.split(',')]
    begun = due = time.time()
    print('phase %d at %.3f' % (n, begun))
    sys.stdout.flush()
    while seconds == 0 or time.time() < begun + seconds:
        m = Log()
        m.header.stamp = rospy.Time.from_sec(time.time() - offset)
        pub.publish(m)
        due = max(due + 1 / hz, time.time())
        time.sleep(max(0, due - time.time()))
