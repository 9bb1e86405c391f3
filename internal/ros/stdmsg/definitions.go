package stdmsg

// The definitions of messages that our programs publish are the texts of ROS's own packages with
// their comments: rosbag check compares the texts, and demands a migration where they differ.

// definitionRule is the line between the definitions of a message and of the messages in it.
const definitionRule = "================================================================================\n"

// headerDefinition is the definition of std_msgs/Header.
const headerDefinition = "# Standard metadata for higher-level stamped data types.\n" +
	"# This is generally used to communicate timestamped data \n" +
	"# in a particular coordinate frame.\n" +
	"# \n" +
	"# sequence ID: consecutively increasing ID \n" +
	"uint32 seq\n" +
	"#Two-integer timestamp that is expressed as:\n" +
	"# * stamp.sec: seconds (stamp_secs) since epoch (in Python the variable is called 'secs')\n" +
	"# * stamp.nsec: nanoseconds since stamp_secs (in Python the variable is called 'nsecs')\n" +
	"# time-handling sugar is provided by the client library\n" +
	"time stamp\n" +
	"#Frame this data is associated with\n" +
	"string frame_id\n"

// ClockDefinition is the definition of rosgraph_msgs/Clock.
const ClockDefinition = "# roslib/Clock is used for publishing simulated time in ROS. \n" +
	"# This message simply communicates the current time.\n" +
	"# For more information, see http://www.ros.org/wiki/Clock\n" +
	"time clock\n"
