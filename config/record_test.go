package config_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, wantErr string }{
		{"-a", ""},
		{"-ajOname --duration 1.5m", ""},
		{"/a /b -l 3 --lz4 -b 0 --chunksize 0", ""},
		{"-x /ros.*", ""},
		{"--node /n", ""},
		{"", "No topics specified"},
		{"-a -l 3", "Specifying a count is not valid with automatic topic subscription."},
		{"-a -j --lz4", "Can only use one type of compression"},
		{"-a -b -1", "Buffer size must be 0 or positive"},
		{"-a --chunksize -1", "Chunk size must be 0 or positive"},
		{"-a -b x", "--buffsize"},
		{"-a --duration 5x", "Duration unit must be s, m, or h"},
		{"-a --bogus", "unrecognised option '--bogus'"},
		{"-a -O", "the required argument for option '-O' is missing"},
		{"-a -O x -o y", "Can't set both prefix and name."},
		{"-a --overflow maybe", "--overflow"},
	}
	for _, tc := range tests {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			var r config.Record
			err := config.Parse("gorecord", config.RecordHelp, "test", strings.Fields(tc.in), &r)
			switch {
			case tc.wantErr == "" && err != nil:
				t.Error(err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Errorf("got %v, want an error with %q", err, tc.wantErr)
			}
		})
	}
}
