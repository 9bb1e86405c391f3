// A subscriber of roscpp that notes when its callbacks are called. It prints "ready" when it
// is registered. With SIGINT it waits until nothing has come for half a second, and prints
// for each message: number of the topic, sequence number, when it was due, and when its
// callback was called (CLOCK_MONOTONIC), both in nanoseconds.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <std_msgs/String.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

struct Arrival {
  int topic;
  uint32_t seq;
  uint64_t due;
  int64_t at;
};

static volatile sig_atomic_t ending = 0;
static void end(int) { ending = 1; }

static int64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "subscriber", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  std::vector<Arrival> all;
  all.reserve(1 << 20);
  std::vector<ros::Subscriber> subscribers;
  for (int i = 1; i < argc; i++) {
    const boost::function<void(const std_msgs::String::ConstPtr&)> note = [&all, i](const std_msgs::String::ConstPtr& m) {
      Arrival a{i - 1, 0, 0, now()};
      if (m->data.size() < 12) return;
      memcpy(&a.seq, m->data.data(), 4);
      memcpy(&a.due, m->data.data() + 4, 8);
      all.push_back(a);
    };
    subscribers.push_back(node.subscribe<std_msgs::String>(argv[i], 0, note));  // 0: a queue without limit
  }
  signal(SIGINT, end);
  puts("ready");
  fflush(stdout);
  int64_t quiet = now();
  for (size_t had = 0; !ending || now() - quiet < 500000000LL; had = all.size()) {
    ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.05));
    if (all.size() > had) quiet = now();
  }
  for (const Arrival& a : all) printf("%d %u %llu %lld\n", a.topic, a.seq, (unsigned long long)a.due, (long long)a.at);
  return 0;
}
