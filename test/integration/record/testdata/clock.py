"""A rospy node that is the clock of a graph, and publishes numbered messages by it.

Arguments: node name, and how many subscribers to wait for, of each topic. For each step
of the clock it publishes /clock and then three messages on /chatter. The clock runs
from 100 s for 10 s, jumps back to 50 s, and then to 1000 s,
in steps of 0.1 s. Prints "ready", and "done" at the end.
"""
import sys
import time

import rospy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Int32

rospy.init_node(sys.argv[1])
clock = rospy.Publisher('/clock', Clock, queue_size=100)
chatter = rospy.Publisher('/chatter', Int32, queue_size=100)
print('ready', flush=True)
while min(clock.get_num_connections() - 1, chatter.get_num_connections()) < int(sys.argv[2]):  # itself listens to /clock
    time.sleep(0.01)
n = 0
for begin, steps in ((100, 100), (50, 20), (1000, 20)):
    for step in range(steps):
        clock.publish(Clock(rospy.Time(begin, 0) + rospy.Duration(0, 100000000) * step))
        time.sleep(0.02)
        for _ in range(3):
            chatter.publish(n)
            n += 1
        time.sleep(0.02)
print('done', flush=True)
rospy.spin()
