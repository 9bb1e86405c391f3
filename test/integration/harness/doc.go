// Package harness runs the built programs as a user does: against the embedded master
// always, against real ROS where it is installed. With GOROSBAG_REQUIRE_ROS=1 a missing
// ROS is a failure; with GOROSBAG_WITHOUT_ROS=1 it is taken to be missing.
//
// make test runs the main path of each feature, against the embedded master, and a few tests with
// real ROS for each direction: record nodes in C++ and Python, play to them, open our bags with
// stock. make test-full runs the rest, which Long and LongCase name: each fault, each comparison
// with stock, each variant, and what needs Chromium, Docker, systemd or an installed package.
//
// It owns what runs: graphs, masters, programs, ports, and what a test needs of the machine. Packages
// below it own the rest: bags what is recorded and played, peers the nodes in the process of the tests,
// s3 the servers of uploads, terminal the screens.
//
// Only the tests below test/integration import them.
package harness
