"""A rospy node with a queue of one message that publishes faster than it can send.

Arguments: node name, topic. It publishes ten messages at 50 Hz, a burst of a
thousand as fast as it can, and ten more. Prints "ready", waits for a subscriber, and
prints "done" at the end.
"""
import sys

import rospy
from sensor_msgs.msg import PointCloud2

rospy.init_node(sys.argv[1])
pub = rospy.Publisher(sys.argv[2], PointCloud2, queue_size=1)
print('ready', flush=True)
rate = rospy.Rate(50)
while not pub.get_num_connections() and not rospy.is_shutdown():
    rate.sleep()
cloud = PointCloud2(data=bytes(100000), width=100000, height=1, point_step=1, row_step=100000)
for count, paced in ((10, True), (1000, False), (10, True)):
    for _ in range(count):
        pub.publish(cloud)
        if paced:
            rate.sleep()
print('done', flush=True)
rospy.spin()
