"""A rospy node that publishes numbered messages until it is stopped.

Arguments: node name, then TOPIC,TYPE,HZ,LATCH,SIZE for each topic. HZ 0: once.
Prints "ready" when all are advertised.
"""
import struct
import sys
import threading

import rospy
from roslib.message import get_message_class

name = sys.argv[1]
rospy.init_node(name)


def message(cls, type_name, n, size):
    m = cls()
    if type_name == 'std_msgs/String':
        m.data = '%s %d %s' % (name, n, 'x' * size)
    elif type_name == 'sensor_msgs/PointCloud2':
        m.header.frame_id = name
        m.data = struct.pack('<I', n) + b'\x5a' * (size - 4)
        m.width, m.height, m.point_step, m.row_step = size, 1, 1, size
    elif type_name == 'geometry_msgs/PoseStamped':
        m.header.frame_id = name
        m.pose.position.x = n
    else:
        m.data = n
    return m


def run(topic, type_name, hz, latch, size):
    cls = get_message_class(type_name)
    pub = rospy.Publisher(topic, cls, latch=latch, queue_size=1000)
    ready.release()
    n = 0
    rate = rospy.Rate(hz) if hz else None
    while not rospy.is_shutdown():
        pub.publish(message(cls, type_name, n, size))
        n += 1
        if not rate:
            rospy.spin()
            return
        rate.sleep()


ready = threading.Semaphore(0)
threads = []
for spec in sys.argv[2:]:
    topic, type_name, hz, latch, size = spec.split(',')
    t = threading.Thread(target=run, args=(topic, type_name, float(hz), latch == '1', int(size)), daemon=True)
    t.start()
    threads.append(t)
for _ in threads:
    ready.acquire()
print('ready', flush=True)
rospy.spin()
