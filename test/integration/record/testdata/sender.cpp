// A roscpp node that publishes numbered std_msgs/String.
// Arguments: topic, bytes, messages (0: one latched message, then rest), Hz.
// It waits for a subscriber, and prints "done" when all are published. Then it goes on with
// twenty a second: what is lost of all before shows by what comes behind.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ros/ros.h>
#include <std_msgs/String.h>

int main(int argc, char **argv) {
  ros::init(argc, argv, "sender");
  ros::NodeHandle node;
  const size_t bytes = std::atol(argv[2]);
  const int messages = std::atoi(argv[3]);
  ros::Publisher pub = node.advertise<std_msgs::String>(argv[1], 10000, messages == 0);
  std_msgs::String msg;
  msg.data = std::string(bytes, 'x');
  if (messages == 0) {
    std::snprintf(&msg.data[0], 10, "%09d", 0);
    pub.publish(msg);
    ros::spin();
    return 0;
  }
  ros::AsyncSpinner spinner(1);
  spinner.start();
  while (ros::ok() && pub.getNumSubscribers() == 0) ros::Duration(0.01).sleep();
  ros::Rate rate(std::atof(argv[4]));
  for (int i = 0; ros::ok() && i < messages; i++) {
    std::snprintf(&msg.data[0], 10, "%09d", i);
    pub.publish(msg);
    rate.sleep();
  }
  std::puts("done");
  std::fflush(stdout);
  for (int i = messages; ros::ok(); i++) {
    ros::Duration(0.05).sleep();
    std::snprintf(&msg.data[0], 10, "%09d", i);
    pub.publish(msg);
  }
  return 0;
}
