package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// TestInterruptedReading: a command that only reads has nothing to remove, and does not say so.
func TestInterruptedReading(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range []string{"check", "diff " + demoBag} {
		var out bytes.Buffer
		code := run(ctx, append(strings.Fields(command), demoBag), job.NewOutput(strings.NewReader(""), &out, &out))
		if text := out.String(); code != 1 || !strings.HasPrefix(text, "gobag: interrupted") || strings.Contains(text, "removed") {
			t.Errorf("%s: code %d, %s", command, code, text)
		}
	}
}
