package testkit

import (
	"os"
	"testing"
)

// SkipWithoutROS skips a test that needs ROS, or something that it is compared with, where tests have to
// run as if ROS were not installed.
func SkipWithoutROS(t testing.TB) {
	t.Helper()
	if os.Getenv("GOROSBAG_WITHOUT_ROS") != "" {
		t.Skip("GOROSBAG_WITHOUT_ROS is set")
	}
}

// Missing skips a test that lacks ROS, or something that it is compared with, or fails it where ROS is
// required. what says what is missing, and how to install it.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		t.Fatal("GOROSBAG_REQUIRE_ROS is set, but " + what)
	}
	t.Skip(what)
}
