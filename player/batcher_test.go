package player

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// TestBatches: messages that come thickly share wake-ups and are hardly late for it,
// others are on time.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const thick, sparse = 900, 20
		var due []time.Duration
		for i := range thick {
			due = append(due, time.Duration(i)*100*time.Microsecond)
		}
		for i := range sparse {
			due = append(due, due[thick-1]+time.Duration(i+1)*time.Millisecond)
		}
		g := newRig(transport.Schedule{}, 0)
		g.load(t.Context(), due...)
		g.run(t.Context(), nil)
		if len(g.events) != len(due) {
			t.Fatalf("%d messages of %d", len(g.events), len(due))
		}
		times := map[string]bool{}
		for i, event := range g.events {
			var text string
			if _, err := fmt.Sscanf(event, "%s message", &text); err != nil {
				t.Fatal(err)
			}
			at, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			most := pacing.MaxBatchDelay
			if i < pacing.GapWindow || i >= thick {
				most = 0
			}
			if late := at - due[i]; late < 0 || late > most {
				t.Errorf("message %d is %v late", i, late)
			}
			if i >= thick-200 && i < thick {
				times[text] = true
			}
		}
		if len(times) > 101 {
			t.Errorf("%d wake-ups for 200 messages", len(times))
		}
	})
}
