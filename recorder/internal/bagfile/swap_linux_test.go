package bagfile

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// TestSwappedSymlink: whoever may write to the directory and puts symlinks where the next
// bag is about to be does not make us write, or rename, over what they lead to.
func TestSwappedSymlink(t *testing.T) {
	t.Parallel()
	const races = 2000
	dir, elsewhere := t.TempDir(), t.TempDir()
	victims := []string{filepath.Join(dir, "victim"), filepath.Join(elsewhere, "victim")}
	for _, victim := range victims {
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			link := filepath.Join(dir, []string{"x.bag", "x.bag.active"}[n%2])
			os.Symlink([]string{"victim", victims[1]}[n/2%2], link)
			if st, err := os.Lstat(link); err == nil && st.Mode()&os.ModeSymlink != 0 {
				os.Remove(link)
			}
		}
	})
	created, kept, tried := 0, 0, 0
	// A busy machine may let one side run alone for a while.
	for start := time.Now(); tried < races || (created == 0 || created == tried) && time.Since(start) < time.Minute; tried++ {
		b, err := createBag(bagname.Output{Name: filepath.Join(dir, "x")}, SyncNone, time.Now())
		if err != nil {
			continue
		}
		created++
		if b.Finish() == nil {
			kept++
		}
		os.Remove(filepath.Join(dir, "x.bag.active"))
		os.Remove(filepath.Join(dir, "x.bag"))
	}
	for _, victim := range victims {
		if got, err := os.ReadFile(victim); err != nil || string(got) != "precious" {
			t.Errorf("what the symlinks lead to holds %.20q, %v", got, err)
		}
	}
	t.Logf("%d of %d bags were created, %d got their name", created, tried, kept)
	if created == 0 || created == tried {
		t.Errorf("there was no race: %d of %d bags were created", created, tried)
	}
}
