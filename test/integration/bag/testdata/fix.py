# Helps to test gobag fix with ROS's own tools: makes bags of old definitions, classes of wanted ones, and reads with these.
#
#   fix.py make BAG < ROWS      a bag with one message for each row: topic, type, definition, and Python that fills m
#   fix.py classes DIR          Python packages for the .msg files of DIR/src, in DIR/python
#   fix.py read BAG             the messages of a bag, by the classes of the packages
#   fix.py bare BAG             a bag with a message of each standard type that is installed, with none of its comments
#   fix.py check BAG            the types that stock's migration would do something to, each by itself
#   fix.py listen TOPIC TYPE... the first message that a node receives on each topic
import glob
import io
import json
import os
import re
import subprocess
import sys

import genpy
import genpy.dynamic
import rosbag
import rosbag.migration
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
    paths = [arg for p in packages for arg in ('-I', '%s:%s' % (p, os.path.join(src, p, 'msg')))]
    headers = os.path.join(where, 'std_msgs')
    os.makedirs(headers)
    with open(os.path.join(headers, 'Header.msg'), 'w') as f:
        f.write(roslib.message.get_message_class('std_msgs/Header')._full_text)
    paths += ['-I', 'std_msgs:' + headers]
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


def bare(path):
    types = []
    for package in ('actionlib_msgs', 'diagnostic_msgs', 'geometry_msgs', 'nav_msgs', 'rosgraph_msgs', 'sensor_msgs', 'std_msgs', 'tf2_msgs'):
        folder = os.path.dirname(__import__(package + '.msg').msg.__file__)
        types += [package + '/' + os.path.basename(f)[1:-3] for f in sorted(glob.glob(os.path.join(folder, '_[A-Z]*.py')))]
    with rosbag.Bag(path, 'w') as bag:
        for n, typ in enumerate(types):
            cls = roslib.message.get_message_class(typ)
            lines = [line if re.match(r'string\s+\w+\s*=', line) else line.split('#')[0].rstrip() for line in cls._full_text.splitlines()]
            text = ''.join(line + '\n' for line in lines)
            assert '#' not in text, text
            if n % 2:
                text = '# a comment that is gone\n' + text
            buff = io.BytesIO()
            cls().serialize(buff)
            bag.write('/t%d' % n, (typ, buff.getvalue(), cls._md5sum, type('Bare', (cls,), {'_full_text': text})), genpy.Time(100, n), raw=True)
    print(len(types))


def check(path):
    migrator = rosbag.migration.MessageMigrator()
    differ = []
    with rosbag.Bag(path) as bag:
        for c in bag._get_connections():
            cls = genpy.dynamic.generate_dynamic(c.datatype, c.msg_def)[c.datatype]
            try:
                differs = migrator.find_path(cls, migrator.find_target(cls)) != []
            except IndentationError:  # stock makes no rule for a part without fields
                differs = True
            if differs:
                differ.append(c.datatype)
    print(json.dumps(differ))


def listen(pairs):
    import rospy
    got = {}
    rospy.init_node('listener', anonymous=True, disable_signals=True)
    for topic, typ in pairs:
        rospy.Subscriber(topic, roslib.message.get_message_class(typ), lambda m, topic=topic: got.setdefault(topic, m))
    print('listening', flush=True)
    try:
        while len(got) < len(pairs):
            rospy.sleep(0.01)
    except KeyboardInterrupt:
        return
    print(json.dumps({topic: values(m) for topic, m in got.items()}), flush=True)
    rospy.signal_shutdown('done')


if sys.argv[1] == 'make':
    make(sys.argv[2])
elif sys.argv[1] == 'classes':
    classes(sys.argv[2])
elif sys.argv[1] == 'read':
    read(sys.argv[2])
elif sys.argv[1] == 'bare':
    bare(sys.argv[2])
elif sys.argv[1] == 'check':
    check(sys.argv[2])
else:
    listen(list(zip(sys.argv[2::2], sys.argv[3::2])))
