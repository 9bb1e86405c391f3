// Package harness runs the built programs as a user does: against the embedded master
// always, against real ROS where it is installed. With GOROSBAG_REQUIRE_ROS=1 a missing
// ROS is a failure; with GOROSBAG_WITHOUT_ROS=1 it is taken to be missing.
//
// Only the tests below test/integration import it.
package harness
