package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// root is the checkout, as seen from each package below test/integration.
const root = "../../.."

// Main builds the programs and runs the tests of a package; no program outlives them. The
// functions of after run after the last test.
func Main(m *testing.M, after ...func()) int {
	if socket := os.Getenv(serverVar); socket != "" {
		return runPython(socket)
	}
	return testkit.Main(func() int {
		dir, err := os.MkdirTemp("", "gorosbag-")
		if err == nil {
			testkit.AfterDeath("rm", "-rf", dir)
			defer os.RemoveAll(dir)
			runDir, err = dir, errors.Join(os.Setenv("TMPDIR", dir), build(), selectLong(".", "../harness"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, f := range after {
			defer f()
		}
		defer stopIdleRoscores()
		return m.Run()
	})
}

var runDir string

// RunDir returns a directory that the tests of a package share. All their temporary directories
// are in it.
func RunDir() string { return runDir }

// Bin returns the directory of the built programs.
func Bin() string {
	dir, err := filepath.Abs(filepath.Join(root, "bin", "test"))
	if err != nil {
		panic("harness: " + err.Error()) // there is no working directory
	}
	return dir
}

// build builds the four programs like releases. All packages share them: the first one of a run of
// the go command builds them. It names programs after their packages, so Bin has links with the
// names that users know.
func build() error {
	packages := []string{"./cmd/record", "./cmd/play", "./cmd/bag", "./cmd/master"}
	built := filepath.Join(Bin(), "cmd")
	if err := os.MkdirAll(built, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(Bin(), "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // and unlock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	run := goCommand()
	if last, err := io.ReadAll(lock); err != nil {
		return err
	} else if run != "" && run == string(last) {
		return nil
	}
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", built + string(filepath.Separator)}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	for _, path := range packages {
		name := filepath.Base(path)
		link, target := filepath.Join(Bin(), "go"+name), filepath.Join("cmd", name)
		if is, err := os.Readlink(link); err == nil && is == target {
			continue // other packages may be using it
		}
		if err := os.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt([]byte(run), 0)
	return err
}

// goCommand identifies the go command that runs the tests: its process number and start time. It is
// empty where another program runs them, or /proc does not tell.
func goCommand() string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	name, rest, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if err != nil || !ok || !strings.HasSuffix(name, "(go") || len(fields) < 20 {
		return ""
	}
	return name + " " + fields[19]
}

// statSources stats the source files of the programs and of the packages. The go command caches
// test results until a file changes that the test itself has accessed: it does not know which
// files the programs are built from.
var statSources = sync.OnceValue(func() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "demo-out"):
			return filepath.SkipDir
		case !d.IsDir():
			_, err = os.Stat(path)
		}
		return err
	})
})
