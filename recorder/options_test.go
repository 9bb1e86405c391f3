package recorder

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// TestOptionsRefused checks that an error of Run names the field of Options that is wrong.
func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	node := new(tcpros.Node)
	for field, o := range map[string]Options{
		"Node":          {},
		"ChunkBytes":    {Node: node, ChunkBytes: -1},
		"PollInterval":  {Node: node, PollInterval: -1},
		"Limit":         {Node: node, Limit: -1},
		"Duration":      {Node: node, Duration: -time.Second},
		"MaxBytes":      {Node: node, MaxBytes: -1},
		"SplitAt":       {Node: node, SplitAt: -1},
		"FlushInterval": {Node: node, FlushInterval: time.Microsecond},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options."+field+" ") {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
