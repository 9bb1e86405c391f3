# Helps to test gobag fix with ROS's own tools: makes bags of old definitions, classes of wanted ones, and reads with these.
#
#   fix.py make BAG < ROWS      a bag with one message for each row: topic, type, definition, and Python that fills m
#   fix.py classes DIR          Python packages for the .msg files of DIR/src, in DIR/python
#   fix.py read BAG             the messages of a bag, by the classes of the packages
#   fix.py listen N TOPIC TYPE  the first N messages that a node receives
import json
import os
import subprocess
import sys

import genpy
import genpy.dynamic
import rosbag
import roslib.message


def values(m):
    if isinstance(m, genpy.Message):
        return {name: values(getattr(m, name)) for name in m.__slots__}
    if isinstance(m, genpy.TVal):
        return [m.secs, m.nsecs]
    if isinstance(m, bytes):
        return list(m)
    if isinstance(m, (list, tuple)):
        return [values(e) for e in m]
    return m


def make(path):
    with rosbag.Bag(path, 'w') as bag:
        for n, row in enumerate(json.load(sys.stdin)):
            classes = genpy.dynamic.generate_dynamic(row['type'], row['text'])
            m = classes[row['type']]()
            exec(row['fill'], {'m': m, **{name.split('/')[-1]: c for name, c in classes.items()}})
            bag.write(row['topic'], m, genpy.Time(100, n * 10000000))
    print('{}')


def classes(where):
    src, python = os.path.join(where, 'src'), os.path.join(where, 'python')
    packages = sorted(os.listdir(src))
    paths = [arg for p in packages for arg in ('-I', '%s:%s' % (p, os.path.join(src, p, 'msg')))] + ['-I', 'std_msgs:/usr/share/std_msgs/msg']
    for p in packages:
        out = os.path.join(python, p, 'msg')
        os.makedirs(out)
        open(os.path.join(python, p, '__init__.py'), 'w').close()
        for name in sorted(os.listdir(os.path.join(src, p, 'msg'))):
            subprocess.check_call([sys.executable, '/usr/lib/genpy/genmsg_py.py', '-p', p] + paths + ['-o', out, os.path.join(src, p, 'msg', name)])
        subprocess.check_call([sys.executable, '/usr/lib/genpy/genmsg_py.py', '--initpy', '-p', p, '-o', out])
    print('{}')


def read(path):
    all = []
    with rosbag.Bag(path) as bag:
        for topic, (typ, data, md5sum, _, _), t in bag.read_messages(raw=True):
            cls = roslib.message.get_message_class(typ)
            assert cls._md5sum == md5sum, '%s has the md5sum %s, not %s' % (typ, md5sum, cls._md5sum)
            m = cls()
            m.deserialize(data)
            all.append({'topic': topic, 'type': typ, 'values': values(m)})
    print(json.dumps(all))


def listen(count, topic, typ):
    import rospy
    got = []
    rospy.init_node('listener', anonymous=True, disable_signals=True)
    rospy.Subscriber(topic, roslib.message.get_message_class(typ), got.append)
    print('listening', flush=True)
    try:
        while len(got) < count:
            rospy.sleep(0.01)
    except KeyboardInterrupt:
        return
    print(json.dumps([values(m) for m in got]), flush=True)
    rospy.signal_shutdown('done')


if sys.argv[1] == 'make':
    make(sys.argv[2])
elif sys.argv[1] == 'classes':
    classes(sys.argv[2])
elif sys.argv[1] == 'read':
    read(sys.argv[2])
else:
    listen(int(sys.argv[2]), sys.argv[3], sys.argv[4])
