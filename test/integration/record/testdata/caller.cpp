// A roscpp node that calls std_srvs/SetBool three times: over a persistent
// connection with true, with false, and over a new one with true.
#include <cstdio>

#include <ros/ros.h>
#include <std_srvs/SetBool.h>

static void call(ros::ServiceClient &client, bool value) {
  std_srvs::SetBool srv;
  srv.request.data = value;
  bool ok = client.call(srv);
  std::printf("%d %d %s\n", ok, srv.response.success, srv.response.message.c_str());
}

int main(int argc, char **argv) {
  ros::init(argc, argv, "caller");
  ros::NodeHandle node;
  ros::ServiceClient persistent = node.serviceClient<std_srvs::SetBool>(argv[1], true);
  call(persistent, true);
  call(persistent, false);
  ros::ServiceClient once = node.serviceClient<std_srvs::SetBool>(argv[1]);
  call(once, true);
  return 0;
}
