package table_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
)

// TestCacheBounds: four chunks of 768 bytes and what an entry costs fit into 4 KiB. Each letter asks for a chunk: a capital
// for one of more than a quarter of the cache, x for one that cannot be unpacked.
func TestCacheBounds(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"aa":       "a",
		"abcdabcd": "abcd",
		"abcdaeab": "abcdeb", // b was not used for longest
		"abAabA":   "abAA",
		"axax":     "axx",
	} {
		c := table.NewCache(4096, 0)
		var unpacked string
		for _, name := range asked {
			data, err := c.Chunk(table.Key{Pos: int64(name)}, func() ([]byte, error) {
				unpacked += string(name)
				switch {
				case name == 'x':
					return nil, errors.New("damaged")
				case name < 'a':
					return make([]byte, 1025), nil
				}
				return append(make([]byte, 767), byte(name)), nil
			})
			if (err != nil) != (name == 'x') || name >= 'a' && name != 'x' && data[767] != byte(name) {
				t.Errorf("%s: chunk %c: %v, %d bytes", asked, name, err, len(data))
			}
		}
		if unpacked != want {
			t.Errorf("%s: unpacked %s, want %s", asked, unpacked, want)
		}
	}
}

// TestCacheFrames: the cache has copies of messages, of a quarter of its size at most.
func TestCacheFrames(t *testing.T) {
	t.Parallel()
	c, frame := table.NewCache(0, 4096), make([]byte, 1025)
	c.Keep(table.Key{Offset: 1}, frame[:1024])
	c.Keep(table.Key{Offset: 2}, frame)
	frame[0] = 'x'
	if got := c.Frame(table.Key{Offset: 1}); len(got) != 1024 || got[0] != 0 || c.Frame(table.Key{Offset: 2}) != nil || (*table.Cache)(nil).Frame(table.Key{}) != nil {
		t.Errorf("%q", got)
	}
}
