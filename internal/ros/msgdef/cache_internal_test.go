package msgdef

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestCacheIsBounded: a recording with endless definitions fills no memory.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c Cache
	for i := range 4 * maxCachedTypes {
		_, _ = c.Of(&rosbag.Connection{Header: rosbag.Header{ // some are in the cache
			{Key: rosbag.KeyType, Value: fmt.Sprint("a/", i)}, {Key: rosbag.KeyMessageDefinition, Value: "#" + strings.Repeat("x", 100_000)},
		}})
		if len(c.types) > maxCachedTypes || c.bytes > maxCachedBytes {
			t.Fatalf("%d types of %d bytes", len(c.types), c.bytes)
		}
	}
}
