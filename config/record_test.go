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
		{"-a --split-at 10m --max-bytes 5G --name-template x_%Y_{split}", ""},
		{"-a --max-rate /image=10 --max-rate /b=2.5 --every /c=3 --count /d=9", ""},
		{"-a --lz4 --adaptive", ""},
		{"-a --adaptive", "give one of them"},
		{"-a --max-rate /image=0", "positive"},
		{"-a --every /image=x", "--every"},
		{"-a --split-at 0.1", "at least 1s"},
		{"-a --name-template x -O y", "--name-template stands in place of --output-prefix and --output-name"},
		{"-a --split --size 100 --max-splits 3", ""},
		{"-a --split --duration 1h --max-bytes 20G --max-age 10h --keep-free 500M", ""},
		{"-a --split=1024 --repeat-latched -L 100000G", ""},
		{"--split 1024 /t", ""},
		{"-a --split", ""},
		{"-a --no-repeat-latched", ""},
		{"-a --size 0", "--size 0: Split size must be positive"},
		{"-a --split=-5", "--split -5: Split size must be positive"},
		{"-a --split=x", "want true, false or a number of MiB"},
		{"-a --min-space lots", "want a number of bytes"},
		{"-a --min-space 99999999999G", "too large"},
		{"-a --max-age 1h", "they need --split"},
		{"-a --paused --stopped", "exclude each other"},
		{"-a --max-splits -1", "Number of splits"},
		{"", "No topics specified"},
		{"-a -l 3", "Specifying a count is not valid with automatic topic subscription."},
		{"-a -j --lz4", "Can only use one type of compression"},
		{"-a -b -1", "Buffer size must be 0 or positive"},
		{"-a --chunksize -1", "Chunk size must be 0 or positive"},
		{"-a -b x", "--buffsize \"x\": want a whole number of MiB"},
		{"-a -b 0x10 --size 1", "--buffsize"},
		{"-a --size 0x10", "--size"},
		{"-a -b 010", ""},
		{"-a --duration 5x", "Duration unit must be s, m, or h"},
		{"-a --bogus", "unrecognised option '--bogus'"},
		{"-a -O", "the required argument for option '-O' is missing"},
		{"-a -O x -o y", "Can't set both prefix and name."},
		{"-a --overflow maybe", "--overflow"},
		{"-a --snapshot --pre-roll 30 --post-roll 1m --snapshot-bytes 100M", ""},
		{"-a --snapshot-beside --split --size 100 -b 0 --snapshot-bytes 1G", ""},
		{"-a --snapshot --snapshot-beside", "exclude each other"},
		{"-a --snapshot --split", "--snapshot-beside"},
		{"/t --snapshot -l 3", "--snapshot-beside"},
		{"-a --pre-roll 30", "need --snapshot"},
		{"-a --snapshot -b 0", "--snapshot-bytes"},
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

func TestOldSplit(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"--split 7 /t", "--split=7 /t", "/t --split 7", "/t --split --size 7", "-e /t --split 7", "--topic /t --split 7"} {
		var r config.Record
		if err := config.Parse("gorecord", config.RecordHelp, "test", strings.Fields(in), &r); err != nil {
			t.Fatal(err)
		}
		if !r.Split.On || r.SizeBytes() != 7<<20 || len(r.Topics) != 1 || r.Topics[0] != "/t" {
			t.Errorf("%q: split %+v, size %d, topics %q", in, r.Split, r.SizeBytes(), r.Topics)
		}
	}
}

// TestSplitValue: digits are a size also where they look like a switch.
func TestSplitValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]config.Split{
		"--split": {On: true}, "--split=1": {On: true, MiB: 1}, "--split=0": {On: true}, "--split=true": {On: true}, "--split=false": {},
	} {
		var r config.Record
		if err := config.Parse("gorecord", config.RecordHelp, "test", []string{in, "-a"}, &r); err != nil || r.Split != want {
			t.Errorf("%s: %+v, %v; want %+v", in, r.Split, err, want)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]config.Size{"0": 0, "1": 1, "5k": 5 << 10, "3M": 3 << 20, "1G": 1 << 30, "1g": 1 << 30} {
		var s config.Size
		if err := s.UnmarshalText([]byte(in)); err != nil || s != want {
			t.Errorf("%q: %d, %v", in, s, err)
		}
	}
	if got := config.Size(100000 << 30).String(); got != "100000G" {
		t.Errorf("got %s", got)
	}
}
