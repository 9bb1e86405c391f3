"""A rospy node that publishes diagnostics at 100 Hz until it is stopped.

Arguments: node name. Of each hundred messages the last ten have a status of level ERROR, beside one
that is OK. Prints "ready" when the topic is advertised.
"""
import sys

import rospy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

rospy.init_node(sys.argv[1])
pub = rospy.Publisher('/diagnostics', DiagnosticArray, queue_size=1000)
print('ready', flush=True)
rate = rospy.Rate(100)
n = 0
while not rospy.is_shutdown():
    level = DiagnosticStatus.ERROR if n % 100 >= 90 else DiagnosticStatus.OK
    pub.publish(DiagnosticArray(status=[
        DiagnosticStatus(level=DiagnosticStatus.OK, name='motor'),
        DiagnosticStatus(level=level, name='lidar'),
    ]))
    n += 1
    rate.sleep()
