package testkit

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal returns both ends of a pseudo terminal, which are closed with the test.
func Terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	theirs, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	if err := unix.IoctlSetPointerInt(int(theirs.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(theirs.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	ours, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	return ours, theirs
}
