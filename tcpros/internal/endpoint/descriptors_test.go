package endpoint

import "testing"

// TestLinksOf: links leave descriptors to the rest of the process, whatever the limit is, and use nearly all of a
// large one.
func TestLinksOf(t *testing.T) {
	t.Parallel()
	for files, want := range map[int]int{0: 0, 1: 1, 64: 32, 256: 160, 512: 384, 1024: 768, 4096: 3072, 20_000: 15_904, 1 << 20: 1<<20 - 4096} {
		if got := linksOf(files); got != want {
			t.Errorf("%d files: %d links, want %d", files, got, want)
		}
	}
	if all := ProcessLinks(); all.Most < 0 || all != ProcessLinks() {
		t.Errorf("this process may have %d links, and counts them together: %v", all.Most, all == ProcessLinks())
	}
}
