package main

import (
	"strings"
	"testing"
	"time"
)

// TestOptions: which command lines are accepted, and why others are not.
func TestOptions(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, wantErr string }{
		{"-a", ""},
		{"-ajOname --duration 1.5m", ""},
		{"/a /b -l 3 --lz4 -b 0 --chunksize 0", ""},
		{"-x /ros.*", ""},
		{"--node /n", ""},
		{"-a --split-at 10m --max-bytes 5G --name-template x_%Y_{split}", ""},
		{"-a --max-rate /image=10 --max-rate /b=2.5 --every /c=3 --count /d=9", ""},
		{"-a --expect /imu=100 --expect /camera/**=10..40 --expect /map=0", ""},
		{"-a --expect /imu", "--expect: \"/imu\": want TOPIC=HZ with the least rate"},
		{"-a --expect /imu=fast", "--expect: \"/imu=fast\""},
		{"-a --expect /imu=5..1", "--expect"},
		{"-a --expect /im[u=5", "the ] of"},
		{"--expect /imu=100 --expect /camera/**=10..40", ""},
		{"-e --expect /imu=100", "No topics specified"},
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
		{"-a --size 0", "--size: \"0\": Split size must be positive"},
		{"-a --split=-5", "--split: \"-5\": Split size must be positive"},
		{"-a --split=x", "want true, false or a number of MiB"},
		{"-a --min-space lots", "want a number of bytes"},
		{"-a --min-space 99999999999G", "too large"},
		{"-a --max-age 1h", "they need --split"},
		{"-a --paused --stopped", "leave out --paused or --stopped"},
		{"-a --max-splits -1", "Number of splits"},
		{"", "No topics specified"},
		{"-a -l 3", "Specifying a count is not valid with automatic topic subscription."},
		{"-a -j --lz4", "Can only use one type of compression"},
		{"-a -b -1", "Buffer size must be 0 or positive"},
		{"-a --chunksize -1", "Chunk size must be 0 or positive"},
		{"-a -b x", "--buffsize: \"x\": want a whole number of MiB"},
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
		{"-a --snapshot --snapshot-beside", "leave out --snapshot or --snapshot-beside"},
		{"-a --snapshot --split", "--snapshot-beside"},
		{"/t --snapshot -l 3", "--snapshot-beside"},
		{"-a --pre-roll 30", "need --snapshot"},
		{"-a --snapshot -b 0", "--snapshot-bytes"},
		{"-a --flush-interval 0.5 --upload-wait 3", ""},
		{"-a --flush-interval 20ms --upload-wait 1m30s", ""},
		{"-a --flush-interval 0.0001", "want at least 1ms"},
		{"-a --upload-wait -1", "must be 0 or positive"},
		{"-a --duration 1e-10", `--duration: "1e-10": Duration is shorter than a nanosecond`},
		{"-a --split --size 5 --max-age 1e-10", `--max-age: "1e-10": Duration is shorter than a nanosecond`},
		{"-a --repeat-latched=false", ""},
		{"-a --repeat-latched --no-repeat-latched", "leave out --repeat-latched or --no-repeat-latched"},
		{"-a --ros-ip 10.0.0.5", ""},
		{"-a --ros-ip ::1", ""},
		{"-a --ros-ip NaN", `--ros-ip: "NaN": not an IP address: write --ros-hostname=NaN for a name`},
		{"-a --ros-hostname robot7", ""},
	}
	for _, tc := range tests {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			_, err := parse(strings.Fields(tc.in))
			switch {
			case tc.wantErr == "" && err != nil:
				t.Error(err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Errorf("got %v, want an error with %q", err, tc.wantErr)
			}
		})
	}
}

// TestRepeatLatchedOff: the switch can be switched off, and not only by its opposite.
func TestRepeatLatchedOff(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{"": false, "--repeat-latched": false, "--repeat-latched=false": true, "--no-repeat-latched": true, "--no-repeat-latched=false": false} {
		s, err := parse(strings.Fields("-a " + arg))
		if err != nil || s.record.NoRepeatLatched != want {
			t.Errorf("%q: %v, %v", arg, s.record.NoRepeatLatched, err)
		}
	}
}

func TestOldSplit(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"--split 7 /t", "--split=7 /t", "/t --split 7", "/t --split --size 7", "-e /t --split 7", "--topic /t --split 7"} {
		s, err := parse(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		if o := &s.record; !o.Split || o.MaxBytes != 7<<20 || len(o.Select.Topics) != 1 || o.Select.Topics[0] != "/t" {
			t.Errorf("%q: split %v, size %d, topics %q", in, o.Split, o.MaxBytes, o.Select.Topics)
		}
	}
}

// TestSplitValue: digits are a size also where they look like a switch.
func TestSplitValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]split{
		"--split": {on: true}, "--split=1": {on: true, mib: 1}, "--split=0": {on: true}, "--split=true": {on: true}, "--split=false": {},
	} {
		if s, err := parse([]string{in, "-a"}); err != nil || s.files.split != want {
			t.Errorf("%s: %+v, %v; want %+v", in, s.files.split, err, want)
		}
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	const url = "file:///bags/x?create_dir=true" // each build can write there, also one without drivers of clouds
	s, err := parse([]string{"-a", "--upload", url, "--upload-rate=5M", "--upload-delete", "--upload-wait=0s"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (uploadSettings{to: url, rate: 5 << 20, remove: true}); s.upload != want {
		t.Errorf("%+v, want %+v", s.upload, want)
	}
	if plain, err := parse([]string{"-a"}); err != nil || plain.upload.wait != 5*time.Second {
		t.Errorf("%+v, %v", plain.upload, err)
	}
	for want, args := range map[string][]string{
		"need --upload":          {"--upload-rate=1M"},
		"must be 0 or positive":  {"--upload=" + url, "--upload-wait=-1s"},
		"--upload-delete need":   {"--upload-delete"},
		"a number of bytes, or ": {"--upload=" + url, "--upload-rate=fast"},
	} {
		if _, err := parse(append(args, "-a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
