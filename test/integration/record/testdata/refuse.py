"""A rospy node with a service that refuses every call."""
import rospy
from roscpp.srv import Empty


def refuse(_):
    raise rospy.ServiceException('not from python')


rospy.init_node('refuser')
rospy.Service('refuse', Empty, refuse)
print('ready', flush=True)
rospy.spin()
