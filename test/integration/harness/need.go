package harness

import (
	"os"
	"os/exec"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// NeedROS skips the test where real ROS is not installed, or fails it where ROS is required.
func NeedROS(t *testing.T) {
	t.Helper()
	const install = "real ROS is not installed (Debian 12: apt-get install ros-core python3-sensor-msgs python3-tf2-msgs python3-nav-msgs python3-diagnostic-msgs)"
	if ROSMissing() {
		testkit.Missing(t, install)
	}
}

// NeedTF2 skips the test where the Python of tf2_ros is not installed, or fails it where ROS is
// required.
func NeedTF2(t *testing.T) {
	t.Helper()
	const install = "the Python of tf2_ros is not installed (Debian 12: apt-get install python3-tf2-ros)"
	if _, err := os.Stat("/usr/lib/python3/dist-packages/tf2_ros"); err == nil {
		return
	}
	testkit.Missing(t, install)
}

// Need skips the test where a tool does not work, such as strace in a container that forbids
// tracing. With GOROSBAG_REQUIRE_ROS=1, as in CI, the test fails instead.
func Need(t *testing.T, tool string, args ...string) {
	t.Helper()
	out, err := testkit.CombinedOutput(exec.Command(tool, args...))
	switch {
	case err == nil:
	case os.Getenv("GOROSBAG_REQUIRE_ROS") != "":
		t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
	default:
		t.Skipf("%s %v: %v\n%s", tool, args, err, out)
	}
}

// NeedChromium returns the path of a browser. It skips the test where none is installed, or fails
// it with GOROSBAG_REQUIRE_CHROMIUM=1.
func NeedChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const install = "no browser to look with: Chromium is not installed (Debian 12: apt-get install --no-install-recommends chromium)"
	if os.Getenv("GOROSBAG_REQUIRE_CHROMIUM") != "" {
		t.Fatal("GOROSBAG_REQUIRE_CHROMIUM is set, but " + install)
	}
	t.Skip(install)
	return ""
}

// ROSMissing reports whether real ROS is not installed, or tests have to run as if it were not.
func ROSMissing() bool {
	if os.Getenv("GOROSBAG_WITHOUT_ROS") != "" {
		return true
	}
	for _, path := range []string{"/usr/lib/rosbag/record", "/usr/lib/python3/dist-packages/sensor_msgs"} {
		if _, err := os.Stat(path); err != nil {
			return true
		}
	}
	return false
}
