package rosmsg

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestCache: connections of one definition share a type; a bag with endless definitions fills no memory.
func TestCache(t *testing.T) {
	t.Parallel()
	var c Cache
	a, err := c.Type("a/B", "int32 x")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Type("a/B", strings.Clone("int32 x")); a != b || err != nil {
		t.Errorf("parsed twice: %p, %p, %v", a, b, err)
	}
	if b, err := c.Type("a/B", "int32 y"); a == b || err != nil {
		t.Errorf("another definition: %p, %v", b, err)
	}
	if b, err := c.Type("a/C", "int32 x"); a == b || err != nil || b.Name() != "a/C" {
		t.Errorf("another name: %p, %v", b, err)
	}
	for range 2 {
		if b, err := c.Type("a/B", "int32"); b != nil || !errors.Is(err, ErrDefinition) {
			t.Errorf("unreadable: %v, %v", b, err)
		}
	}
	for i := range 4 * maxCachedTypes {
		_, _ = c.Type(fmt.Sprint("a/", i), "#"+strings.Repeat("x", 100_000)) // some are in the cache
		if len(c.types) > maxCachedTypes || c.bytes > maxCachedBytes {
			t.Fatalf("%d types of %d bytes", len(c.types), c.bytes)
		}
	}
}
