package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testproc"
)

// root is the checkout, as seen from each package below test/integration.
const root = "../../.."

// Main builds the programs and runs the tests of a package, so that no program outlives
// them. What is given to it runs after the last test.
func Main(m *testing.M, after ...func()) int {
	if socket := os.Getenv(serverVar); socket != "" {
		return runPython(socket)
	}
	return testproc.Main(func() int {
		dir, err := os.MkdirTemp("", "gorosbag-")
		if err == nil {
			testproc.AfterDeath("rm", "-rf", dir)
			defer os.RemoveAll(dir)
			runDir, err = dir, errors.Join(os.Setenv("TMPDIR", dir), build())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, f := range after {
			defer f()
		}
		defer dropRoscores()
		return m.Run()
	})
}

var runDir string

// RunDir is for what tests of a package share while they run, and holds all their temporary
// directories.
func RunDir() string { return runDir }

// Bin is where the built programs are.
func Bin() string {
	dir, err := filepath.Abs(filepath.Join(root, "bin", "test"))
	if err != nil {
		panic("harness: " + err.Error()) // there is no working directory
	}
	return dir
}

// build builds the four programs as users have them. All packages share them: the first
// one that is here builds them, the go command finds that nothing is to do for the others.
func build() error {
	if err := os.MkdirAll(Bin(), 0o755); err != nil {
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
	for _, program := range []string{"record", "play", "bag", "master"} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(Bin(), "go"+program), "./cmd/"+program)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build go%s: %w\n%s", program, err, out)
		}
	}
	return nil
}

// lookAtSources looks at the files that the programs are built from, and at what is packed
// with them. The go command keeps results of tests as long as what the tests themselves have
// looked at, once they run, is unchanged: it knows nothing of what they make others build.
var lookAtSources = sync.OnceValue(func() error {
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
