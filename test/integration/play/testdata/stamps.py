"""Writes a bag of stamped messages, or writes down the stamps of what it receives.

write FILE: a second of a robot, with tf, and with data that are stamped before they are received.

watch: a rospy node with a tf2 listener. Prints "ready" when all is subscribed, and then JSON lines: for each message
{"topic":, "now":, "stamps": []}, and for each pose what becomes of the transform that it needs, and of the present one:
{"lookup": "stamp" or "now", "tries": of a second of the node's time, "error":}. Times are in ns; now is the time of the node when the message has arrived.
"""
import json
import queue
import sys
import threading

import rospy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Path
from tf2_msgs.msg import TFMessage

MS = 1000000
FRAMES = ('map', 'odom', 'base', 'sensor')


def write(path):
    import rosbag
    begin = 1500000000 * 1000 * MS

    def at(ns):
        return rospy.Time(0, begin + ns)

    def stamped(message, ns, frame):
        message.header.stamp, message.header.frame_id = at(ns), frame
        return message

    def transform(ns, child):
        t = stamped(TransformStamped(), ns, FRAMES[FRAMES.index(child) - 1])
        t.child_frame_id, t.transform.rotation.w = child, 1
        return t

    with rosbag.Bag(path, 'w') as bag:
        latched = {'topic': '/tf_static', 'type': TFMessage._type, 'md5sum': TFMessage._md5sum,
                   'message_definition': TFMessage._full_text, 'callerid': '/static', 'latching': '1'}
        bag.write('/tf_static', TFMessage([transform(-3600 * 1000 * MS, 'sensor')]), at(0), connection_header=latched)
        for i in range(60):
            ns = i * 10 * MS
            if i % 2 == 0:
                bag.write('/tf', TFMessage([transform(ns + 100 * MS, 'odom'), transform(ns, 'base')]), at(ns))
            if i % 10 == 1:
                status = DiagnosticStatus(name='disk', values=[KeyValue('used', '5 %'), KeyValue('', '')])
                bag.write('/diagnostics', stamped(DiagnosticArray(status=[status] * 2), ns - MS, ''), at(ns))
            if i % 10 == 3:
                poses = [stamped(PoseStamped(), ns - 10 * MS - k * 20 * MS, 'map') for k in range(5)]
                bag.write('/path', stamped(Path(poses=poses), ns - 10 * MS, 'map'), at(ns))
            if i >= 20 and i % 5 == 4:
                bag.write('/pose', stamped(PoseStamped(), ns - 45 * MS, 'sensor'), at(ns))


def stamps(message):
    if isinstance(message, TFMessage):
        all_of = message.transforms
    elif isinstance(message, Path):
        all_of = [message] + message.poses
    else:
        all_of = [message]
    return [m.header.stamp.to_nsec() for m in all_of]


def watch():
    import tf2_ros
    lock = threading.Lock()

    def tell(what):
        with lock:  # each link has its own thread, and print writes text and line feed apart
            sys.stdout.write(json.dumps(what) + '\n')
            sys.stdout.flush()

    rospy.init_node('watcher')
    wanted = queue.Queue()
    transforms = tf2_ros.Buffer(rospy.Duration(3600))
    tf2_ros.TransformListener(transforms)

    def received(message, topic):
        tell({'topic': topic, 'now': rospy.Time.now().to_nsec(), 'stamps': stamps(message)})
        if topic == '/pose':
            wanted.put(message.header.stamp)

    def look_up():
        while True:
            stamp = wanted.get()
            for what in 'stamp', 'now':
                time = stamp if what == 'stamp' else rospy.Time.now()
                for tries in range(1, 41):  # the player or this node may have stood still
                    error = None
                    try:
                        transforms.lookup_transform('map', 'sensor', time, rospy.Duration(1))
                        break
                    except tf2_ros.TransformException as e:
                        error = '%s: %s' % (type(e).__name__, e)
                tell({'lookup': what, 'tries': tries, 'error': error})

    threading.Thread(target=look_up, daemon=True).start()
    for topic, kind in ('/tf', TFMessage), ('/tf_static', TFMessage), ('/pose', PoseStamped), ('/path', Path), ('/diagnostics', DiagnosticArray):
        rospy.Subscriber(topic, kind, received, callback_args=topic)
    print('ready', flush=True)
    rospy.spin()


if sys.argv[1] == 'write':
    write(sys.argv[2])
else:
    watch()
