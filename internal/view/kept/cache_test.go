package kept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/view/kept"
)

// TestBounded: all that an answer takes counts, also of one with a long request and nothing to say.
func TestBounded(t *testing.T) {
	t.Parallel()
	c := kept.New(100_000)
	long := strings.Repeat("x", 1000)
	for n := range 1000 {
		c.Put(kept.Answer{Key: fmt.Sprint(n, long), Body: []byte("{}")})
	}
	held := 0
	for n := range 1000 {
		if _, ok := c.Get(fmt.Sprint(n, long)); ok {
			held++
		}
	}
	if held < 10 || held > 100 {
		t.Errorf("%d answers of 1 kB in 100 kB", held)
	}
	c.Put(kept.Answer{Key: "large", Body: make([]byte, 60_000)})
	if _, ok := c.Get("large"); ok {
		t.Error("one answer takes more than a quarter")
	}
	for range 2 {
		c.Put(kept.Answer{Key: "last", Body: []byte("{}"), Note: 7})
	}
	if a, ok := c.Get("last"); !ok || a.Note != 7 {
		t.Errorf("%+v, %t", a, ok)
	}
}
